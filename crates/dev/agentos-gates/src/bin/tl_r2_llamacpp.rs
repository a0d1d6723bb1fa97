//! The gate `tl_r2_llamacpp`: does the built program really work with a running llama.cpp server?
//!
//! Owns: naming the gate. Never: judges; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos_gates::main(&agentos_gates::LLAMACPP, std::env::args_os().skip(1))
}
