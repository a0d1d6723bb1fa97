//! What a process is told as text: its arguments as one line, its environment as one block.
//!
//! Owns: the two forms. Never: leaves something out that it cannot say; that is an error.

use std::path::Path;
use std::time::Duration;

use crate::WinboxError;

/// One process.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The program, by its absolute path.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [String],
    /// Its whole environment.
    pub env: &'a [(String, String)],
    /// Where it starts.
    pub cwd: &'a Path,
    /// What it may use up.
    pub limits: Limits,
}

/// What a process may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processor time of one process.
    pub cpu: Duration,
    /// Bytes that one process may commit.
    pub memory_bytes: u64,
    /// Processes at one time.
    pub processes: u32,
}

/// The line that a program takes its arguments from, in the form that Microsoft's C run-time reads ("Parsing C command-line
/// arguments").
///
/// # Errors
/// For a batch file, and for what Windows would cut.
pub fn command_line(program: &Path, args: &[String]) -> Result<String, WinboxError> {
    let unspeakable = WinboxError::Unspeakable("the program's path");
    let name = program
        .to_str()
        .filter(|name| !name.contains(['\0', '"']))
        .ok_or(unspeakable)?;
    // Windows looks at a name without the dots and blanks at its end.
    let plain = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    if plain.ends_with(".bat") || plain.ends_with(".cmd") {
        return Err(WinboxError::Batch(name.to_owned()));
    }
    // In the first word a backslash is only itself.
    let mut line = format!("\"{name}\"");
    for arg in args {
        if arg.contains('\0') {
            return Err(WinboxError::Unspeakable("an argument"));
        }
        line.push(' ');
        // One that needs no quotes gets none: some programs look at the line itself.
        if arg.is_empty() || arg.contains([' ', '\t', '\n', '\u{b}', '"']) {
            quoted(arg, &mut line);
        } else {
            line.push_str(arg);
        }
    }
    Ok(line)
}

/// Backslashes are doubled before a quote only.
fn quoted(arg: &str, line: &mut String) {
    let mut before = 0;
    line.push('"');
    for character in arg.chars() {
        if character == '"' {
            line.extend(std::iter::repeat_n('\\', before + 1));
        }
        before = if character == '\\' { before + 1 } else { 0 };
        line.push(character);
    }
    line.extend(std::iter::repeat_n('\\', before));
    line.push('"');
}

/// The block that a process takes its environment from: `NAME=value` and a NUL for each, sorted as Windows sorts them, and
/// one more NUL.
///
/// # Errors
/// For what would change the names or values of others.
pub fn environment(env: &[(String, String)]) -> Result<String, WinboxError> {
    let mut sorted: Vec<&(String, String)> = env.iter().collect();
    sorted.sort_by_key(|(name, _)| name.to_uppercase());
    let mut block = String::new();
    for (name, value) in sorted {
        if name.is_empty() || name.contains(['\0', '=']) || value.contains('\0') {
            return Err(WinboxError::Unspeakable("a variable"));
        }
        block.extend([name.as_str(), "=", value.as_str(), "\0"]);
    }
    if block.is_empty() {
        block.push('\0');
    }
    block.push('\0');
    Ok(block)
}
