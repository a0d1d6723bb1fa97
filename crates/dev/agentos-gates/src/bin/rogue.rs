//! The gate `rogue`: does a confined program get out of its sandbox by any of some 700 ways?
//!
//! Owns: naming the gate. Never: judges; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos_gates::rogue::main(std::env::args_os().skip(1))
}
