//! The test runners: how they are called, and what their output means.
//!
//! Owns: the arguments, leaving out the tests that need a real server, and reading the summary lines of nextest and
//! of cargo's own runner. Never: runs anything.

use crate::rules;

/// Who runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// `cargo nextest`.
    Nextest,
    /// `cargo test`.
    Cargo,
}

impl Runner {
    /// The arguments of a run; `without_server` leaves out the tests that need a real one.
    #[must_use]
    pub fn run_args(self, without_server: bool) -> Vec<String> {
        let fixed: &[&str] = match self {
            Self::Nextest => &[
                "nextest",
                "run",
                "--workspace",
                "--no-fail-fast",
                "--status-level",
                "fail",
                "--final-status-level",
                "fail",
            ],
            Self::Cargo => &["test", "--workspace", "--all-targets", "--no-fail-fast"],
        };
        let mut args: Vec<String> = fixed.iter().map(|arg| (*arg).to_owned()).collect();
        match self {
            _ if !without_server => {}
            Self::Nextest => {
                let modules = rules::REAL_SERVER_MODULES.join("|");
                args.extend(["-E".to_owned(), format!("not test(/(^|::)({modules})::/)")]);
            }
            Self::Cargo => {
                args.push("--".to_owned());
                for module in rules::REAL_SERVER_MODULES {
                    args.extend(["--skip".to_owned(), format!("{module}::")]);
                }
            }
        }
        args
    }

    /// The arguments that name every test.
    #[must_use]
    pub fn list_args(self) -> Vec<&'static str> {
        match self {
            Self::Nextest => vec!["nextest", "list", "--workspace", "--message-format", "oneline"],
            Self::Cargo => vec!["test", "--quiet", "--workspace", "--all-targets", "--", "--list"],
        }
    }
}

/// The tests that need a real server, from the list of all.
#[must_use]
pub fn real_server_tests(listed: &str) -> Vec<String> {
    let tests = listed
        .lines()
        .filter_map(|line| match line.strip_suffix(": test") {
            Some(test) => Some(test),
            None => line.split_once(' ').map(|(_, test)| test),
        });
    tests
        .filter(|test| !test.contains(' '))
        .filter(|test| {
            let modules = test.rsplit_once("::").map_or("", |(modules, _)| modules);
            modules
                .split("::")
                .any(|module| rules::REAL_SERVER_MODULES.contains(&module))
        })
        .map(str::to_owned)
        .collect()
}

/// How many tests ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ended well.
    pub passed: u64,
    /// Did not.
    pub failed: u64,
    /// Were not run.
    pub skipped: u64,
}

impl Tally {
    /// Adds up every summary line in the output; none when there is no such line.
    #[must_use]
    pub fn read(output: &str) -> Option<Self> {
        let mut found = None;
        for line in output.lines() {
            let counts = line
                .trim_start()
                .strip_prefix("test result: ")
                .or_else(|| line.trim_start().starts_with("Summary [").then_some(line));
            if let Some(counts) = counts {
                found.get_or_insert_with(Self::default).add(counts);
            }
        }
        found
    }

    fn add(&mut self, line: &str) {
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        for pair in words.windows(2) {
            let [number, word] = pair else { continue };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match *word {
                "passed" => self.passed += number,
                "failed" | "exec" | "timed" => self.failed += number,
                "skipped" | "ignored" | "filtered" => self.skipped += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_need_a_real_server_are_left_out_and_named() {
        let plain = ["-E", "--skip"];
        for runner in [Runner::Nextest, Runner::Cargo] {
            let with_server = runner.run_args(false);
            assert!(with_server.iter().all(|arg| !plain.contains(&arg.as_str())));
        }
        let nextest = Runner::Nextest.run_args(true);
        assert_eq!(
            nextest.last().map(String::as_str),
            Some("not test(/(^|::)(llama|real)::/)")
        );
        let cargo = Runner::Cargo.run_args(true);
        assert!(cargo.ends_with(&["--", "--skip", "llama::", "--skip", "real::"].map(str::to_owned)));

        let nextest = "agentos::it llama::a_task_lands\nagentos::it apply::llama\n\
            agentos-llamacpp adapter::real::an_answer\nagentos-llamacpp adapter::surreal::x\n";
        assert_eq!(
            real_server_tests(nextest),
            ["llama::a_task_lands", "adapter::real::an_answer"]
        );
        let cargo = "llama::tests::it_starts: test\nother::x: test\n\n2 tests, 0 benchmarks\n";
        assert_eq!(real_server_tests(cargo), ["llama::tests::it_starts"]);
    }

    #[test]
    fn both_runners_are_understood() {
        let cases = [
            (
                "     Summary [   0.200s] 7 tests run: 7 passed, 0 skipped",
                Some((7, 0, 0)),
            ),
            (
                "     Summary [   1.2s] 9 tests run: 6 passed (1 slow), 2 failed, 1 timed out, 4 skipped",
                Some((6, 3, 4)),
            ),
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                 test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
                Some((5, 1, 1)),
            ),
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
                Some((3, 0, 3)),
            ),
            ("error: could not compile", None),
        ];
        for (output, expected) in cases {
            let expected = expected.map(|(passed, failed, skipped)| Tally {
                passed,
                failed,
                skipped,
            });
            assert_eq!(Tally::read(output), expected, "{output}");
        }
    }
}
