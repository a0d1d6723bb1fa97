//! Text that a new process gets: its arguments as one line, its environment as one block.
//!
//! Owns: the two forms. Never: leaves out what it cannot express; that is an error.

use std::path::Path;
use std::time::Duration;

use crate::WinboxError;

/// Process to be started.
#[derive(Debug, Clone, Copy)]
pub struct ProcessStart<'a> {
    /// Absolute path of the program.
    pub program: &'a Path,
    /// Arguments of the program.
    pub args: &'a [String],
    /// Complete environment of the program.
    pub env: &'a [(String, String)],
    /// Working directory.
    pub cwd: &'a Path,
    /// Limits on resources.
    pub limits: JobLimits,
}

/// Limits on resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// Processor time of one process.
    pub cpu: Duration,
    /// Bytes that one process may commit.
    pub memory_bytes: u64,
    /// Processes at one time.
    pub processes: u32,
}

/// Builds the command line that a program splits into its arguments, in the form that Microsoft's C runtime reads
/// ("Parsing C command-line arguments").
///
/// # Errors
/// If the program is a batch file, or a text has a character that would change what Windows reads.
pub fn command_line(program: &Path, args: &[String]) -> Result<String, WinboxError> {
    let unusable = WinboxError::UnusableText("the program's path");
    let name = program
        .to_str()
        .filter(|name| !name.contains(['\0', '"']))
        .ok_or(unusable)?;
    // Windows ignores dots and blanks at the end of a name, so `a.bat.` is a batch file too.
    let plain = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    if plain.ends_with(".bat") || plain.ends_with(".cmd") {
        return Err(WinboxError::BatchFile(name.to_owned()));
    }
    // In the first word a backslash has no special meaning.
    let mut line = format!("\"{name}\"");
    for arg in args {
        if arg.contains('\0') {
            return Err(WinboxError::UnusableText("an argument"));
        }
        line.push(' ');
        // An argument that needs no quotes gets none: some programs read the line itself.
        if arg.is_empty() || arg.contains([' ', '\t', '\n', '\u{b}', '"']) {
            push_quoted(arg, &mut line);
        } else {
            line.push_str(arg);
        }
    }
    Ok(line)
}

/// Appends an argument in quotes. A backslash is special only before a quote, and is doubled there.
fn push_quoted(arg: &str, line: &mut String) {
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

/// Builds the block from which a process takes its environment: `NAME=value` and a NUL for each variable, sorted as
/// Windows sorts them, and one more NUL.
///
/// # Errors
/// If a name or value would change other variables.
pub fn environment_block(env: &[(String, String)]) -> Result<String, WinboxError> {
    let mut sorted: Vec<&(String, String)> = env.iter().collect();
    sorted.sort_by_key(|(name, _)| name.to_uppercase());
    let mut block = String::new();
    for (name, value) in sorted {
        if name.is_empty() || name.contains(['\0', '=']) || value.contains('\0') {
            return Err(WinboxError::UnusableText("a variable"));
        }
        block.extend([name.as_str(), "=", value.as_str(), "\0"]);
    }
    if block.is_empty() {
        block.push('\0');
    }
    block.push('\0');
    Ok(block)
}
