//! The program `gate`, which runs one gate: `gate NAME --agentos PATH`. `cargo xtask gates` runs `boundary` itself.
//!
//! Owns: the program's name. Never: judges; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos_gates::main()
}
