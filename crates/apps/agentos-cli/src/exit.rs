//! Exit codes of the command line, as its help shows them.
//!
//! Owns: the layout of the table. Never: the numbers and their meanings; all front ends share those of `agentos-api`.

pub use agentos_api::ExitStatus as Exit;

/// Returns the table of exit codes for the end of the help text.
pub fn exit_table() -> String {
    let rows = Exit::ALL
        .iter()
        .map(|exit| format!("  {:>3}  {}\n", *exit as u8, exit.meaning()));
    format!("Exit codes:\n{}", rows.collect::<String>())
}
