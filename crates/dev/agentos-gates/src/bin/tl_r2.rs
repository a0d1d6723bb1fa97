//! The connectivity gates of the other providers, each by its name: `tl_r2 tl_r2_ollama --agentos PATH`.
//!
//! Owns: naming the program. Never: judges; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos_gates::main_of_others(std::env::args_os().skip(1))
}
