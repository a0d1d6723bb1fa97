//! The test runners: their arguments and their output.
//!
//! Owns: the arguments, excluding the tests that need a real server, and parsing the summary lines of nextest and of
//! cargo's own runner. Never: runs anything.

use crate::rules::RULES;

/// A program that runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestRunner {
    /// `cargo nextest`.
    Nextest,
    /// `cargo test`.
    Cargo,
}

impl TestRunner {
    /// Returns the arguments of a run; `without_server` excludes the tests that need a real server.
    pub fn run_args(self, without_server: bool) -> Vec<String> {
        let (fixed, left_out) = match self {
            Self::Nextest => (
                "nextest run --workspace --no-fail-fast --status-level pass --final-status-level fail",
                vec!["-E".to_owned(), format!("not {}", real_server_filter())],
            ),
            Self::Cargo => {
                // cargo's own runner matches a part of the test's path, so the module's name needs its `::`.
                let skip = |module: &&str| ["--skip".to_owned(), format!("{module}::")];
                let skips = RULES.real_server_modules.iter().flat_map(skip);
                let left_out = std::iter::once("--".to_owned()).chain(skips).collect();
                ("test --workspace --all-targets --no-fail-fast", left_out)
            }
        };
        let fixed = fixed.split(' ').map(str::to_owned);
        fixed
            .chain(left_out.into_iter().filter(|_| without_server))
            .collect()
    }

    /// Returns the arguments that list the tests which need a real server.
    pub fn list_args(self) -> Vec<String> {
        let (fixed, named) = match self {
            Self::Nextest => (
                "nextest list --workspace --message-format oneline -E",
                vec![real_server_filter()],
            ),
            Self::Cargo => (
                "test --quiet --workspace --all-targets -- --list",
                RULES
                    .real_server_modules
                    .iter()
                    .map(|module| format!("{module}::"))
                    .collect(),
            ),
        };
        fixed.split(' ').map(str::to_owned).chain(named).collect()
    }

    /// Returns the names of the tests in a runner's list.
    pub fn parse_list(self, output: &str) -> Vec<&str> {
        let name = |line| match self {
            Self::Nextest => str::split_once(line, ' ').map(|(_, name)| name),
            Self::Cargo => str::strip_suffix(line, ": test"),
        };
        output
            .lines()
            .filter_map(name)
            // The last line of a list is a summary such as `1 test, 0 benchmarks`.
            .filter(|name| !name.contains(' '))
            .collect()
    }
}

/// Returns nextest's filter for the tests that need a real server: those with one of the modules in their path.
fn real_server_filter() -> String {
    format!("test(/(^|::)({})::/)", RULES.real_server_modules.join("|"))
}

/// The number of tests for each result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TestTally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed, timed out or could not be started.
    pub failed: u64,
    /// Tests that were not run.
    pub skipped: u64,
}

impl TestTally {
    /// Reads nextest's summary, or else adds up those of cargo's runner; `None` if there is no such line.
    pub fn read(output: &str) -> Option<Self> {
        let lines = || output.lines().map(str::trim_start);
        let nextest: Vec<&str> = lines().filter(|line| line.starts_with("Summary [")).collect();
        // nextest shows the output of a failed test, with the summary of the test program, which counts this test again.
        // cargo's runner prints one summary for each test program.
        let summaries = match nextest.is_empty() {
            false => nextest,
            true => lines().filter(|line| line.starts_with("test result: ")).collect(),
        };
        let mut found: Option<Self> = None;
        for line in summaries {
            found.get_or_insert_default().add_line(line);
        }
        found
    }

    /// Adds the numbers of one summary line, such as `7 passed, 0 skipped`.
    fn add_line(&mut self, line: &str) {
        let split = line.split(|c: char| !c.is_alphanumeric());
        let words: Vec<&str> = split.filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            if let [number, word] = pair
                && let Ok(number) = number.parse::<u64>()
            {
                match *word {
                    // The words of both runners; nextest writes `exec failed` and `timed out`.
                    "passed" => self.passed += number,
                    "failed" | "exec" | "timed" => self.failed += number,
                    "skipped" | "ignored" | "filtered" => self.skipped += number,
                    _ => {}
                }
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
        for runner in [TestRunner::Nextest, TestRunner::Cargo] {
            let with_server = runner.run_args(false);
            assert!(with_server.iter().all(|arg| !plain.contains(&arg.as_str())));
        }
        let nextest = TestRunner::Nextest.run_args(true);
        assert_eq!(
            nextest.last().map(String::as_str),
            Some("not test(/(^|::)(llama|real)::/)")
        );
        let cargo = TestRunner::Cargo.run_args(true);
        assert!(cargo.ends_with(&["--", "--skip", "llama::", "--skip", "real::"].map(str::to_owned)));

        assert!(
            TestRunner::Nextest
                .list_args()
                .ends_with(&["-E".to_owned(), "test(/(^|::)(llama|real)::/)".to_owned()])
        );
        let nextest = "agentos::it llama::a_task_lands\nagentos-llamacpp adapter::real::an_answer\n";
        assert_eq!(
            TestRunner::Nextest.parse_list(nextest),
            ["llama::a_task_lands", "adapter::real::an_answer"]
        );
        assert!(
            TestRunner::Cargo
                .list_args()
                .ends_with(&["--list", "llama::", "real::"].map(str::to_owned))
        );
        let cargo = "llama::tests::it_starts: test\n\n1 test, 0 benchmarks\n";
        assert_eq!(TestRunner::Cargo.parse_list(cargo), ["llama::tests::it_starts"]);
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
            (
                "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 263 filtered out\n\
                      Summary [   1.2s] 9 tests run: 8 passed, 1 failed, 0 skipped",
                Some((8, 1, 0)),
            ),
            ("error: could not compile", None),
        ];
        for (output, expected) in cases {
            let expected = expected.map(|(passed, failed, skipped)| TestTally {
                passed,
                failed,
                skipped,
            });
            assert_eq!(TestTally::read(output), expected, "{output}");
        }
    }
}
