//! The gates that need no server, each by its name: `kernel NAME --agentos PATH`.
//!
//! Owns: naming the program. Never: judges; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos_gates::kernel::main(std::env::args_os().skip(1))
}
