//! Every gate but that of the source tree, by its name: `gate NAME --agentos PATH`.
//!
//! Owns: naming the program. Never: judges; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos_gates::main()
}
