//! Counts tests from what the test runner printed.
//!
//! Owns: reading the summary lines of nextest and of cargo's own runner. Never: runs anything.

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
                "skipped" | "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
