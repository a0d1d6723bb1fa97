//! `cargo xtask bench`: the product measured beside its peers.
//!
//! Owns: which measurements there are and what may be said to them. Never: fails because something was slow or a
//! peer is not there; it only reports.

mod clock;
mod evidence;
mod executor;
mod landing;
mod peers;
mod report;

use std::path::{Path, PathBuf};

/// Which peers are measured along.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Peers {
    /// All that can be had; what is missing is installed below `target/bench-peers`.
    All,
    /// Those that are there.
    #[default]
    Installed,
    /// None: the product alone.
    None,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Verifying and appending evidence.
    Evidence,
    /// Writing a change, beside git.
    Executor,
    /// Placing a change, beside other tools.
    Landing,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What.
    pub which: Which,
    /// Which peers.
    pub peers: Peers,
    /// Where the report goes, from the top of the repository.
    pub out: PathBuf,
}

impl Options {
    /// Reads the arguments after `bench`.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(args: &[&str]) -> Result<Self, String> {
        let (which, out, rest) = match args {
            ["evidence", rest @ ..] => (Which::Evidence, "outputs/bench/evidence", rest),
            ["landing", rest @ ..] => (Which::Landing, "outputs/bench/landing", rest),
            ["executor", rest @ ..] => (Which::Executor, "outputs/bench/executor", rest),
            _ => {
                let names = "there are `evidence`, `executor` and `landing`";
                return Err(format!("`bench` needs the name of a benchmark; {names}"));
            }
        };
        let mut options = Self {
            which,
            peers: Peers::default(),
            out: PathBuf::from(out),
        };
        let mut rest = rest.iter();
        while let Some(arg) = rest.next() {
            match (*arg, rest.next().copied()) {
                ("--peers", _) if which != Which::Landing => {
                    return Err("`--peers` belongs to `landing`; the others' peers are there".to_owned());
                }
                ("--peers", Some("all")) => options.peers = Peers::All,
                ("--peers", Some("installed")) => options.peers = Peers::Installed,
                ("--peers", Some("none")) => options.peers = Peers::None,
                ("--peers", _) => return Err("`--peers` is one of `all`, `installed`, `none`".to_owned()),
                ("--out", Some(folder)) => options.out = PathBuf::from(folder),
                ("--out", None) => return Err("`--out` needs a folder".to_owned()),
                (other, _) => return Err(format!("`{other}` is not understood here")),
            }
        }
        Ok(options)
    }
}

/// Runs the benchmark that was asked for.
///
/// # Errors
/// When nothing could be measured.
pub fn run(root: &Path, options: &Options) -> Result<bool, String> {
    match options.which {
        Which::Evidence => evidence::run(root, &options.out),
        Which::Executor => executor::run(root, &options.out),
        Which::Landing => landing::run(root, options),
    }
    .map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let asked = Options::parse(&["landing", "--peers", "all", "--out", "x"]);
        let expected = Options {
            which: Which::Landing,
            peers: Peers::All,
            out: PathBuf::from("x"),
        };
        assert_eq!(asked, Ok(expected));
        let plain = Options::parse(&["landing"]).expect("options");
        assert_eq!(plain.peers, Peers::Installed);
        assert_eq!(plain.out, PathBuf::from("outputs/bench/landing"));
        let executor = Options::parse(&["executor"]).expect("options");
        assert_eq!(executor.which, Which::Executor);
        assert_eq!(executor.out, PathBuf::from("outputs/bench/executor"));
        let evidence = Options::parse(&["evidence"]).expect("options");
        assert_eq!(evidence.which, Which::Evidence);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let cases: [(&[&str], &str); 6] = [
            (&[], "needs the name of a benchmark"),
            (&["speed"], "needs the name of a benchmark"),
            (&["landing", "--peers", "some"], "is one of"),
            (&["executor", "--peers", "all"], "belongs to `landing`"),
            (&["landing", "--out"], "needs a folder"),
            (&["landing", "--fast"], "`--fast` is not understood"),
        ];
        for (args, expected) in cases {
            let problem = Options::parse(args).expect_err("a problem");
            assert!(problem.contains(expected), "{args:?}: {problem}");
        }
    }
}
