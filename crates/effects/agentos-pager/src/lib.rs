//! Shows a long text in the pager that the user chose.
//!
//! Owns: the choice of the program, and starting it. Never: takes a program from a repository's configuration, looks one
//! up by another rule than that of `agentos-lookup`, or runs a shell. The caller must have removed control characters
//! from the text. Start at [`PagerProgram::find_chosen`].

mod error;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentos_lookup::{ProgramSearch, split_words};

pub use error::PagerError;

/// Pager that is started if the user has chosen none.
const DEFAULT_PAGER: &str = "less";
/// Value of `LESS` if the user has set none: `F` ends `less` if the text fits on one screen, `R` shows colours, `X` leaves
/// the text on the screen. git sets the same variable to the same value.
const LESS_FLAGS: &str = "FRX";
/// Name that switches paging off if it is chosen as the pager.
const NO_PAGER: &str = "cat";

/// Parts of the user's environment that select the pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagerEnvironment<'a> {
    /// Value of `AGENTOS_PAGER`; an empty value switches paging off. `None` if it is not set.
    pub agentos_pager: Option<&'a str>,
    /// Value of `PAGER`; an empty value switches paging off. `None` if it is not set.
    pub pager: Option<&'a str>,
    /// Value of `LESS`. `None` if it is not set.
    pub less: Option<&'a str>,
    /// Value of `PATH`.
    pub path: &'a str,
    /// The user's home folder, for `~/`. `None` if it is not known.
    pub home: Option<&'a Path>,
    /// Folder of the repository's working tree, whose programs are not started. `None` if there is no repository; then,
    /// and for a folder outside every repository, no program is excluded.
    pub repository: Option<&'a Path>,
}

/// Program that shows text one screen at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagerProgram {
    program: PathBuf,
    args: Vec<String>,
    /// Value to set `LESS` to. `None` if the user has set it.
    less: Option<&'static str>,
}

impl PagerProgram {
    /// Finds the pager that the user chose, else `less`. `None` if paging is switched off, or nothing is chosen and `less`
    /// is not installed.
    ///
    /// # Errors
    /// When the chosen pager does not exist, or its command line cannot be parsed.
    pub fn find_chosen(around: &PagerEnvironment<'_>) -> Result<Option<Self>, PagerError> {
        let search = ProgramSearch::in_variable(around.path)
            .with_home(around.home)
            .outside_repository(around.repository);
        // Flags in the variable also reach a `less` that the user named without flags.
        let less = around.less.is_none().then_some(LESS_FLAGS);
        let Some(line) = around.agentos_pager.or(around.pager) else {
            // Nobody chose `less`, so a system without it is no error: the text is printed as it is.
            let found = search.find_program(DEFAULT_PAGER).ok();
            return Ok(found.map(|program| Self {
                program,
                args: Vec::new(),
                less,
            }));
        };
        // No shell splits the line: a shell would also expand variables and run further commands in it.
        let words = split_words(line).ok_or_else(|| PagerError::Quotes(line.to_owned()))?;
        let Some((name, args)) = words.split_first().filter(|(name, _)| *name != NO_PAGER) else {
            return Ok(None);
        };
        Ok(Some(Self {
            program: search.find_program(name).map_err(PagerError::Program)?,
            args: args.to_vec(),
            less,
        }))
    }

    /// Shows the text and waits until the user leaves the pager.
    ///
    /// # Errors
    /// When the program cannot be started, written to or waited for. Leaving it before the end of the text is no error.
    pub fn show_text(&self, text: &[u8]) -> Result<(), PagerError> {
        let failed = |source: io::Error| PagerError::Start {
            program: self.program.clone(),
            source,
        };
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::piped());
        if let Some(flags) = self.less {
            command.env("LESS", flags);
        }
        let mut child = command.spawn().map_err(failed)?;
        let written = match child.stdin.take() {
            Some(mut pipe) => pipe.write_all(text),
            None => Ok(()),
        };
        // Wait even if writing failed: the pager still owns the terminal.
        child.wait().map_err(failed)?;
        match written {
            // The user left before the end of the text.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_pager(own: Option<&str>, usual: Option<&str>, path: &str) -> String {
        let around = PagerEnvironment {
            agentos_pager: own,
            pager: usual,
            less: None,
            path,
            home: Some(Path::new("/bin/..")),
            repository: Some(Path::new("/usr/repo")),
        };
        match PagerProgram::find_chosen(&around) {
            Ok(None) => "none".to_owned(),
            Ok(Some(pager)) => format!("{} {:?}", pager.program.display(), pager.args),
            Err(error) => error.to_string(),
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_first_that_is_set_decides_and_an_empty_one_or_cat_means_none() {
        let cases = [
            (Some("sh -R"), Some("more"), "/bin", "/bin/sh [\"-R\"]"),
            (None, Some("sh 'a b'"), "/bin", "/bin/sh [\"a b\"]"),
            (None, Some("/bin/sh"), "", "/bin/sh []"),
            (Some("~/bin/sh"), None, "", "/bin/../bin/sh []"),
            (Some(""), Some("sh"), "/bin", "none"),
            (None, Some(""), "/bin", "none"),
            (None, Some("cat"), "/bin", "none"),
            (None, None, "/nowhere", "none"),
            (None, None, "bin:.", "none"),
            (
                None,
                Some("no-such-pager"),
                "/bin",
                "the pager `no-such-pager` was not found",
            ),
            (None, Some("sh"), "bin:.", "the pager `sh` was not found"),
            (None, Some("./sh"), "/bin", "the pager `./sh` is a relative path"),
            (
                None,
                Some("sh 'a"),
                "/bin",
                "the pager's command line `sh 'a` has a quote that is not closed",
            ),
        ];
        for (own, usual, path, expected) in cases {
            assert_eq!(
                choose_pager(own, usual, path),
                expected,
                "{own:?} {usual:?} {path}"
            );
        }
    }

    #[test]
    fn the_flags_of_less_are_the_users_own_where_they_set_any() {
        let around = |less| PagerEnvironment {
            agentos_pager: None,
            pager: Some(if cfg!(windows) { "cmd" } else { "/bin/sh" }),
            less,
            path: "",
            home: None,
            repository: None,
        };
        if cfg!(unix) {
            let flags = |less| PagerProgram::find_chosen(&around(less)).unwrap().unwrap().less;
            assert_eq!(flags(None), Some(LESS_FLAGS));
            assert_eq!(flags(Some("-S")), None);
        }
    }
}
