//! The newest runs, found without parsing the bodies of the others.
//!
//! Owns: which lines of the tape belong to them. Never: shows a record whose hash it did not check.
//!
//! A list of runs shows the last twenty, and a tape has thousands. The first pass over the tape looks only at the end of each
//! line, where canonical JSON has the kind and the run. The second pass parses and checks the lines of the runs that are shown.
//! Nothing is kept between calls: an index on the disk could disagree with the tape.

use std::collections::HashSet;

use crate::line_view::LineView;
use crate::run_summary::{SummaryFold, is_summarised};
use crate::runs::TapeLines;
use crate::{EvidenceError, RunSummary, Store};

/// The newest runs of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestRuns {
    /// The runs, in the order in which they began.
    pub runs: Vec<RunSummary>,
    /// Number of all runs on the tape.
    pub all: usize,
}

/// Longest end of a line in which the members after the body are: kind, hash of the record before, run, number and time. Each has
/// at most 64 characters or the length of a hash.
const LONGEST_END: usize = 512;

impl Store {
    /// Summarises the runs that began last, at most so many. A fault in an older record is not reported; the verification finds it.
    ///
    /// # Errors
    /// When the tape cannot be read, or a record of these runs is damaged.
    pub fn newest_runs(&self, most: usize) -> Result<NewestRuns, EvidenceError> {
        let begins = self.find_begins()?;
        let all = begins.len();
        let newest = begins.get(all.saturating_sub(most)..).unwrap_or_default();
        let Some(first) = newest.iter().map(|begin| begin.line).min() else {
            return Ok(NewestRuns {
                runs: Vec::new(),
                all,
            });
        };
        let mut fold = SummaryFold::default();
        let wanted: HashSet<&str> = newest.iter().map(|begin| begin.run.as_str()).collect();
        let Some(mut lines) = TapeLines::open(self)? else {
            return Ok(NewestRuns {
                runs: Vec::new(),
                all,
            });
        };
        let mut count = 0;
        while let Some(line) = lines.next_written()? {
            count += 1;
            // Runs that answered a request began after it, so they are among the newest as well.
            if count < first || !read_run(line.text()).is_some_and(|run| wanted.contains(run)) {
                continue;
            }
            let view = LineView::parse_line(line.text()).filter(|_| line.is_whole());
            let view = view.ok_or(EvidenceError::BrokenRecord { line: count })?;
            let record = match is_summarised(view.kind) {
                true => view.build_record()?,
                false => view.build_header(),
            };
            fold.add_record(&record);
        }
        Ok(NewestRuns {
            runs: fold.into_summaries(),
            all,
        })
    }

    /// Finds every run and the line on which it begins, in order.
    fn find_begins(&self) -> Result<Vec<RunBegin>, EvidenceError> {
        let mut found: Vec<RunBegin> = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        let Some(mut lines) = TapeLines::open(self)? else {
            return Ok(found);
        };
        let mut count = 0;
        while let Some(line) = lines.next_written()? {
            count += 1;
            let run = read_run(line.text()).filter(|_| line.is_whole());
            let run = run.ok_or(EvidenceError::BrokenRecord { line: count })?;
            // Most records continue the run of the line before.
            let is_last = found.last().is_some_and(|last| last.run == run);
            if !is_last && !known.contains(run) {
                known.insert(run.to_owned());
                found.push(RunBegin {
                    run: run.to_owned(),
                    line: count,
                });
            }
        }
        Ok(found)
    }
}

/// The beginning of a run on the tape.
struct RunBegin {
    run: String,
    /// Number of its first line, from 1.
    line: u64,
}

/// Reads the run from the end of a line. `None` if the line does not end as a record does.
fn read_run(line: &[u8]) -> Option<&str> {
    let end = line.get(line.len().saturating_sub(LONGEST_END)..)?;
    // The end of a line may begin inside a character of the body.
    let start = (0..4).find(|start| {
        end.get(*start..)
            .is_some_and(|text| std::str::from_utf8(text).is_ok())
    })?;
    let text = std::str::from_utf8(end.get(start..)?).ok()?;
    // The last one: a body may contain the same words, but the members after it have no quotation marks inside.
    let (_, rest) = text.rsplit_once("\",\"run\":\"")?;
    let (run, rest) = rest.split_once("\",\"seq\":")?;
    rest.ends_with('}').then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_is_read_from_the_end_of_a_line() {
        let line = |body: &str, run: &str| {
            format!(
                "{{\"body\":{body},\"hash\":\"h\",\"kind\":\"task\",\"prev\":\"p\",\"run\":\"{run}\",\"seq\":1,\"ts\":\"t\",\"v\":2}}"
            )
        };
        let quoted = "{\"x\":\"\\\",\\\"run\\\":\\\"no\\\",\\\"seq\\\":\"}";
        for body in [
            "{}",
            quoted,
            &format!("\"{}\"", "é".repeat(700)),
            &format!("\"x{}\"", "é".repeat(700)),
        ] {
            assert_eq!(read_run(line(body, "r-1").as_bytes()), Some("r-1"), "{body}");
        }
        for bad in ["", "{}", "\",\"run\":\"x", &line("{}", "r").replace('}', "]")] {
            assert_eq!(read_run(bad.as_bytes()), None, "{bad}");
        }
    }
}
