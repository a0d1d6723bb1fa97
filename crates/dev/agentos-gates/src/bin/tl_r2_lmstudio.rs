//! The gate `tl_r2_lmstudio`: does the built program really work with a running LM Studio server?
//!
//! Owns: naming the gate. Never: judges; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos_gates::main(&agentos_gates::LMSTUDIO, std::env::args_os().skip(1))
}
