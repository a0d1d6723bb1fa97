//! Shows a long text in the pager that the user chose.
//!
//! Owns: which program that is, and starting it. Never: takes a program out of a repository's configuration, looks one
//! up by another rule than `agentos-lookup`'s, runs a shell, or shows a byte that the caller has not made inert. Start at
//! [`Pager::chosen`].

mod error;
mod words;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentos_lookup::ProgramSearch;

pub use error::PagerError;

/// Used where the user has chosen nothing: it goes away by itself where the text fits, shows colours, and leaves the text
/// on the screen.
const USUAL: &str = "less";
/// The same as flags in a variable, so that they reach a `less` that the user named without any, as git does it.
const USUAL_FLAGS: &str = "FRX";
/// Named as the pager, it switches paging off.
const NONE: &str = "cat";

/// What the user's environment says of pagers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings<'a> {
    /// `AGENTOS_PAGER`; an empty value is one.
    pub own: Option<&'a str>,
    /// `PAGER`; an empty value is one.
    pub usual: Option<&'a str>,
    /// `LESS`.
    pub less: Option<&'a str>,
    /// `PATH`.
    pub path: &'a str,
    /// The user's home folder, for `~/`.
    pub home: Option<&'a Path>,
    /// Folder of the repository's working tree, whose programs are not started. A folder outside of every repository, and
    /// `None`, keep nothing from being started.
    pub repository: Option<&'a Path>,
}

/// A program that shows text a screen at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pager {
    program: PathBuf,
    args: Vec<String>,
    /// What `LESS` is set to, where the user has not.
    less: Option<&'static str>,
}

impl Pager {
    /// The pager that the user chose, else `less`; none where paging is switched off or no pager is installed.
    ///
    /// # Errors
    /// When the one that was chosen is not there.
    pub fn chosen(around: &Surroundings<'_>) -> Result<Option<Self>, PagerError> {
        let search = ProgramSearch::in_variable(around.path)
            .with_home(around.home)
            .outside_repository(around.repository);
        let less = around.less.is_none().then_some(USUAL_FLAGS);
        let Some(line) = around.own.or(around.usual) else {
            let found = search.find_program(USUAL).ok();
            return Ok(found.map(|program| Self {
                program,
                args: Vec::new(),
                less,
            }));
        };
        let words = words::split(line).ok_or_else(|| PagerError::Quotes(line.to_owned()))?;
        let Some((name, args)) = words.split_first().filter(|(name, _)| *name != NONE) else {
            return Ok(None);
        };
        Ok(Some(Self {
            program: search.find_program(name).map_err(PagerError::Program)?,
            args: args.to_vec(),
            less,
        }))
    }

    /// Shows the text and waits until the user has seen enough of it.
    ///
    /// # Errors
    /// When the program cannot be started or waited for. Leaving it before the end of the text is none.
    pub fn show(&self, text: &[u8]) -> Result<(), PagerError> {
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
        child.wait().map_err(failed)?;
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(own: Option<&str>, usual: Option<&str>, path: &str) -> String {
        let around = Surroundings {
            own,
            usual,
            less: None,
            path,
            home: Some(Path::new("/bin/..")),
            repository: Some(Path::new("/usr/repo")),
        };
        match Pager::chosen(&around) {
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
                "the pager `no-such-pager` is not there",
            ),
            (None, Some("sh"), "bin:.", "the pager `sh` is not there"),
            (None, Some("./sh"), "/bin", "the pager `./sh` is a relative path"),
            (None, Some("sh 'a"), "/bin", "the quotes in `sh 'a` do not close"),
        ];
        for (own, usual, path, expected) in cases {
            assert_eq!(told(own, usual, path), expected, "{own:?} {usual:?} {path}");
        }
    }

    #[test]
    fn the_flags_of_less_are_the_users_own_where_they_set_any() {
        let around = |less| Surroundings {
            own: None,
            usual: Some(if cfg!(windows) { "cmd" } else { "/bin/sh" }),
            less,
            path: "",
            home: None,
            repository: None,
        };
        if cfg!(unix) {
            let flags = |less| Pager::chosen(&around(less)).unwrap().unwrap().less;
            assert_eq!(flags(None), Some(USUAL_FLAGS));
            assert_eq!(flags(Some("-S")), None);
        }
    }
}
