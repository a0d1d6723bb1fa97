//! Quotes a program's output in an error message, and reads from it what the program lacked.
//!
//! Owns: which line, how much of it, and the phrases of a lack. Never: passes on a control character.

/// Maximum characters of a line that an error quotes.
const LONGEST_QUOTE: usize = 200;

/// Returns the last line that is not blank, shortened. Empty if there is none.
pub(crate) fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    // Control characters could move the cursor or change colours in the user's terminal.
    let kept = line.unwrap_or_default().chars().filter(|c| !c.is_control());
    kept.take(LONGEST_QUOTE).collect()
}

/// Returns the last lines that are not blank, each shortened, in one line. Empty if there are none.
pub(crate) fn last_lines(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = lines.get(lines.len().saturating_sub(most)..).unwrap_or_default();
    let kept: Vec<String> = kept.iter().map(|line| last_line(line.as_bytes())).collect();
    kept.join(" / ")
}

/// Thing of this machine that a failed program was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramLack {
    /// A file or a program outside its copy.
    File,
    /// The network.
    Network,
}

/// Phrases of C libraries, Python, Node, Go, Rust and curl for a host that cannot be reached.
const NETWORK_PHRASES: [&str; 12] = [
    "could not resolve host",
    "name resolution",
    "name or service not known",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "enetunreach",
    "network is unreachable",
    "failed to lookup address",
    "dns error",
    "no such host",
    "waiting for network",
];
/// Phrases for a file that is missing or must not be read, and of a shell for a missing program.
const FILE_PHRASES: [&str; 8] = [
    "no such file or directory",
    "permission denied",
    "command not found",
    ": not found",
    "enoent",
    "eacces",
    "modulenotfounderror",
    "cannot find module",
];

/// Guesses from the end of a failed program's output what it lacked. `None` if the output does not say.
///
/// A hint that fits every failure helps with none: "API Error: 400" has nothing to do with files.
pub(crate) fn guess_lack(tail: &[u8], code: u8) -> Option<ProgramLack> {
    // Lower case: curl writes "Could not resolve host", while Go writes "no such host".
    let text = String::from_utf8_lossy(tail).to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    // First: a download that failed often ends in a second error, about the file that is missing then.
    if says(&NETWORK_PHRASES) {
        return Some(ProgramLack::Network);
    }
    // 126 and 127: a shell could not execute the program, or did not find it (POSIX, Shell Command Language, 2.8.2).
    (matches!(code, 126 | 127) || says(&FILE_PHRASES)).then_some(ProgramLack::File)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_what_the_program_lacked_and_nothing_else() {
        use ProgramLack::{File, Network};
        for (tail, code, lack) in [
            ("", 1, None),
            ("API Error: 400 request exceeds the context", 1, None),
            ("the model was not found", 1, None),
            ("", 127, Some(File)),
            (
                "pyenv: /root/.pyenv/version: No such file or directory",
                1,
                Some(File),
            ),
            ("sh: 1: cargo: not found", 2, Some(File)),
            ("curl: (6) Could not resolve host: example.com", 6, Some(Network)),
            (
                "Error: getaddrinfo EAI_AGAIN registry.npmjs.org",
                1,
                Some(Network),
            ),
        ] {
            assert_eq!(guess_lack(tail.as_bytes(), code), lack, "{tail}");
        }
    }

    #[test]
    fn an_error_quotes_the_last_line_that_says_anything() {
        let cases = [
            ("", ""),
            ("one\ntwo\n\n  \n", "two"),
            ("a\x1b[31mred\n", "a[31mred"),
        ];
        for (text, line) in cases {
            assert_eq!(last_line(text.as_bytes()), line);
        }
    }
}
