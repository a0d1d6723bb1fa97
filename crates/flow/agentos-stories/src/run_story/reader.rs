//! Facts of a story, read from the records of a run and their blobs.
//!
//! Owns: where in a record each fact is. Never: relies on a record's shape; a missing fact is left out.

use std::collections::BTreeMap;

use agentos_api::{NextStep, normalize_code};
use agentos_engine::ports::{EffectError, RecordReader as _};
use agentos_engine::recorded::read_body;
use agentos_evidence::{Record, RecordKind, Store};
use agentos_landing::LandingReport;
use agentos_tool::{ToolTask, prompt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    RunOutput, RunStory, RunText, StoryAttempt, StoryCheck, StoryConsent, StoryDecision, StoryFile,
    StoryRefusal, StoryRule,
};
use crate::evidence::newest_run;
use crate::run_log::{LoggedRun, log_run};
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::error::usage_error;
use agentos_ground::run_ref::find_summary;
use agentos_ground::tape::open_store;
use agentos_ground::tape::{TapeReader, evidence_error};

/// The records of one run and its blobs.
pub(super) struct StoryReader {
    pub(super) tape: TapeReader<Box<Store>>,
    run: LoggedRun,
    records: Vec<(Record, Value)>,
}

impl StoryReader {
    pub(super) fn open(ground: &Ground, reference: Option<&str>) -> Result<Self, EffectError> {
        let store = open_store(ground)?;
        let summary = match reference {
            Some(reference) => find_summary(&store, reference, None)?,
            None => newest_run(&store)?,
        };
        let run = summary.run.clone();
        let records = store.run(&run).map_err(|error| evidence_error(&error))?;
        let tape = TapeReader(Box::new(store));
        // A body over the limit of a line is a blob, so every body is read through `read_body`.
        let mut whole = Vec::with_capacity(records.len());
        for record in records {
            let body = read_body(&tape, &record)?;
            whole.push((record, body));
        }
        Ok(Self {
            tape,
            run: log_run(&summary, &clock::now()),
            records: whole,
        })
    }

    /// Returns the body of the last record of a kind. `None` if there is none.
    pub(super) fn last_body(&self, kind: RecordKind) -> Option<&Value> {
        let mut found = self.records.iter().rev();
        found
            .find(|(record, _)| record.kind == kind)
            .map(|(_, body)| body)
    }

    /// Returns the bodies of the records of a kind, the oldest first.
    pub(super) fn bodies(&self, kind: RecordKind) -> impl Iterator<Item = &Value> {
        let found = self.records.iter().filter(move |(record, _)| record.kind == kind);
        found.map(|(_, body)| body)
    }

    pub(super) fn tell_story(&self) -> Result<RunStory, EffectError> {
        let task = self.last_body(RecordKind::Task);
        let ended = self.records.last().map(|(record, _)| record.ts.clone());
        let mut attempts: BTreeMap<u32, StoryAttempt> = BTreeMap::new();
        // The branch can move while an attempt lands, and then it has several landing records. The last one counts.
        for (record, body) in &self.records {
            let Some(number) = attempt_of(record.kind, body) else {
                continue;
            };
            let attempt = attempts.entry(number).or_default();
            attempt.attempt = number;
            self.add_station(attempt, record.kind, body)?;
        }
        Ok(RunStory {
            version: 1,
            run: self.run.clone(),
            ended: ended.unwrap_or_default(),
            task: task.and_then(|body| text_at(body, "/instruction")),
            execution_mode: task.and_then(|body| text_at(body, "/execution_mode")),
            base_commit: task.and_then(|body| text_at(body, "/target/base_commit")),
            follows: task.and_then(|body| parse_at(body, "/follows")),
            answer_of: task.and_then(|body| text_at(body, "/source/run")),
            attempts: attempts.into_values().collect(),
            decision: self.last_body(RecordKind::Decision).map(read_decision),
            consent: self.last_body(RecordKind::Consent).map(read_consent),
            commit_subject: None,
            refusal: self
                .last_body(RecordKind::Refusal)
                // A retry of a run leaves the refusal of its first attempt on the tape, although the second landed.
                .filter(|_| self.run.result.commit.is_none())
                .map(read_refusal),
        })
    }

    /// Adds the facts of a record to the story of its attempt.
    fn add_station(
        &self,
        attempt: &mut StoryAttempt,
        kind: RecordKind,
        body: &Value,
    ) -> Result<(), EffectError> {
        match kind {
            RecordKind::Attempt => {
                attempt.shown = parse_at(body, "/context").unwrap_or_default();
                let withheld = body.pointer("/withheld").and_then(Value::as_array);
                let paths = withheld.into_iter().flatten();
                attempt.withheld = paths.filter_map(|one| text_at(one, "/path")).collect();
            }
            RecordKind::Answer => attempt.answer_bytes = number_at(body, "/bytes"),
            RecordKind::ToolResult => {
                attempt.model = text_at(body, "/result/model_id");
                attempt.latency_ms = number_at(body, "/result/latency_ms");
                attempt.input_tokens = number_at(body, "/result/usage/input_tokens");
                attempt.output_tokens = number_at(body, "/result/usage/output_tokens");
                attempt.cost_micro_usd = number_at(body, "/result/cost_micro_usd");
                attempt.error = text_at(body, "/result/error_message");
                // An answer whose check failed was never landed, and the verdict alone names its files.
                let touched: Vec<String> = parse_at(body, "/result/files_touched").unwrap_or_default();
                attempt.files = touched.into_iter().map(file_without_place).collect();
            }
            RecordKind::Landing => {
                let report: Option<LandingReport> = parse_at(body, "/report");
                let diff = match text_at(body, "/diff_blob_sha256") {
                    Some(id) => self.tape.load_blob(&id)?,
                    None => Vec::new(),
                };
                attempt.refused = report.as_ref().and_then(|report| {
                    let refusal = report.refusal.as_ref()?;
                    Some(format!("{} [{}]", refusal.message, refusal.code))
                });
                attempt.files = report
                    .map(|report| read_files(&report, &diff))
                    .unwrap_or_default();
            }
            RecordKind::Check if text_at(body, "/diff_sha256").is_none() => {
                // The check of the base follows the one that failed.
                if let Some(check) = &mut attempt.check {
                    check.passes_without = body.pointer("/passed").and_then(Value::as_bool);
                }
            }
            RecordKind::Check => {
                let check = StoryCheck {
                    command: text_at(body, "/command").unwrap_or_default(),
                    passed: body.pointer("/passed").and_then(Value::as_bool) == Some(true),
                    code: number_at(body, "/code"),
                    elapsed_ms: number_at(body, "/elapsed_ms").unwrap_or(0),
                    passes_without: None,
                };
                match text_at(body, "/hook") {
                    Some(_) => attempt.hooks.push(check),
                    None => attempt.check = Some(check),
                }
            }
            RecordKind::Task
            | RecordKind::Boundary
            | RecordKind::Decision
            | RecordKind::Consent
            | RecordKind::Intent
            | RecordKind::Receipt
            | RecordKind::Refusal
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed
            | RecordKind::Checkpoint => {}
        }
        Ok(())
    }

    pub(super) fn read_text(&self, wanted: RunText) -> Result<Vec<u8>, EffectError> {
        let (kind, name, what) = match wanted {
            RunText::Answer => (RecordKind::Answer, "/answer_sha256", "no answer"),
            RunText::Prompt => (RecordKind::Attempt, "/prompt_sha256", "no prompt"),
            RunText::Diff => (RecordKind::Landing, "/diff_blob_sha256", "no diff"),
        };
        // A later attempt can have failed where an earlier one has a text.
        let mut bodies = self.records.iter().rev();
        let id = bodies.find_map(|(record, body)| text_at(body, name).filter(|_| record.kind == kind));
        let id = id.ok_or_else(|| self.lacks_text(what))?;
        let bytes = self.tape.load_blob(&id)?;
        Ok(match wanted {
            RunText::Answer | RunText::Diff => bytes,
            RunText::Prompt => self.format_prompt(bytes),
        })
    }

    /// Returns a recorded task in the words in which the tool was given it.
    fn format_prompt(&self, bytes: Vec<u8>) -> Vec<u8> {
        let Ok(task) = serde_json::from_slice::<ToolTask>(&bytes) else {
            return bytes;
        };
        // A program works in a copy of the files and is given the instruction alone. A call of a server names its address.
        let called = self.last_body(RecordKind::ToolResult);
        let is_server = called.is_some_and(|body| text_at(body, "/result/endpoint").is_some());
        let text = if is_server || !task.context.is_empty() || !task.outline.is_empty() {
            prompt::system_and_user(&task)
        } else {
            format!("{}\n", prompt::instruction(&task))
        };
        text.into_bytes()
    }

    pub(super) fn read_output(&self) -> Result<Vec<RunOutput>, EffectError> {
        let mut found = Vec::new();
        for (record, body) in &self.records {
            let name = match record.kind {
                RecordKind::ToolResult => "/transcript_sha256",
                RecordKind::Check => "/output_sha256",
                _ => continue,
            };
            let Some(id) = text_at(body, name) else { continue };
            found.push(RunOutput {
                attempt: attempt_of(record.kind, body).unwrap_or(1),
                check: text_at(body, "/command").filter(|_| record.kind == RecordKind::Check),
                text: self.tape.load_blob(&id)?,
            });
        }
        if found.is_empty() {
            return Err(self.lacks_text("no output of a program or a check"));
        }
        Ok(found)
    }

    /// Returns the report of the last landing. `None` if nothing was placed.
    pub(super) fn read_landing(&self) -> Option<LandingReport> {
        parse_at(self.last_body(RecordKind::Landing)?, "/report")
    }

    pub(super) fn lacks_text(&self, what: &str) -> EffectError {
        usage_error(format!("run `{}` recorded {what}", self.run.run)).suggest_steps([NextStep::ShowRun {
            run: self.run.run.clone(),
        }])
    }
}

/// Returns the number of the attempt that a record belongs to. `None` if it belongs to the whole run.
fn attempt_of(kind: RecordKind, body: &Value) -> Option<u32> {
    // Records of runs without a tool have the number too: a brought answer is attempt 1.
    let is_station = matches!(
        kind,
        RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::ToolResult
            | RecordKind::Landing
            | RecordKind::Check
    );
    let number = number_at(body, "/attempt").and_then(|number| u32::try_from(number).ok());
    is_station.then_some(number.unwrap_or(1))
}

fn read_files(report: &LandingReport, diff: &[u8]) -> Vec<StoryFile> {
    let counts = count_lines(&String::from_utf8_lossy(diff));
    let file = |file: &agentos_landing::FileReport| {
        let mut placed: Vec<String> = Vec::new();
        for rung in file.hunks.iter().filter_map(|hunk| hunk.rung) {
            let word = serde_json::to_value(rung).ok();
            let word = word.and_then(|word| word.as_str().map(str::to_owned));
            placed.extend(word.filter(|word| !placed.contains(word)));
        }
        let refusals = file.refusal.iter();
        let mut refusals = refusals.chain(file.hunks.iter().filter_map(|hunk| hunk.refusal.as_ref()));
        let (added, removed) = counts.get(&file.path).copied().unwrap_or_default();
        StoryFile {
            path: file.path.clone(),
            added,
            removed,
            placed,
            refused: refusals
                .next()
                .map(|refusal| format!("{} [{}]", refusal.message, refusal.code)),
        }
    };
    report.files.iter().map(file).collect()
}

fn file_without_place(path: String) -> StoryFile {
    StoryFile {
        path,
        added: 0,
        removed: 0,
        placed: Vec::new(),
        refused: None,
    }
}

/// Counts added and removed lines of a canonical diff, for each path.
fn count_lines(diff: &str) -> BTreeMap<String, (u64, u64)> {
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut path = String::new();
    // Lines that the current hunk still has, of the old and the new file: a removed line may read `-- a/x`, like a header.
    let (mut old, mut new) = (0_u64, 0_u64);
    for line in diff.lines() {
        if old > 0 || new > 0 {
            let count = counts.entry(path.clone()).or_default();
            match line.chars().next() {
                Some('+') => (count.0, new) = (count.0 + 1, new.saturating_sub(1)),
                Some('-') => (count.1, old) = (count.1 + 1, old.saturating_sub(1)),
                Some('\\') => {}
                Some(_) | None => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            }
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            (old, new) = hunk_lengths(rest).unwrap_or_default();
        } else if let Some(name) = line.strip_prefix("--- a/").or(line.strip_prefix("+++ b/")) {
            // The new name is last, and counts; a deleted file has only the old one.
            path = name.trim_end_matches('\t').to_owned();
        }
    }
    counts
}

/// Parses the lengths of `-1,2 +1,3 @@`. `None` if the text is no such header.
fn hunk_lengths(header: &str) -> Option<(u64, u64)> {
    let (old, rest) = header.split_once(' ')?;
    let (new, _) = rest.split_once(' ')?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(old)?, length(new)?))
}

fn read_decision(body: &Value) -> StoryDecision {
    let effect = text_at(body, "/decision/effect").unwrap_or_default();
    let mut rules: Vec<StoryRule> = Vec::new();
    let reasons = body.pointer("/decision/reasons").and_then(Value::as_array);
    for reason in reasons.into_iter().flatten() {
        let rule = StoryRule {
            rule: text_at(reason, "/rule").unwrap_or_default(),
            why: text_at(reason, "/why").unwrap_or_default(),
        };
        // Of all rules that matched, the strictest decide. The others would only hide them.
        if text_at(reason, "/effect").as_ref() == Some(&effect) && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    StoryDecision { effect, rules }
}

fn read_consent(body: &Value) -> StoryConsent {
    StoryConsent {
        given: body.pointer("/given").and_then(Value::as_bool) == Some(true),
        who: text_at(body, "/consent/who"),
        how: text_at(body, "/consent/how"),
        device: text_at(body, "/consent/proof/device"),
        until: text_at(body, "/request/expires"),
        comment: text_at(body, "/comment"),
    }
}

fn read_refusal(body: &Value) -> StoryRefusal {
    StoryRefusal {
        code: text_at(body, "/code").map(|code| normalize_code(&code).into_owned()),
        message: text_at(body, "/message").unwrap_or_default(),
        hint: text_at(body, "/hint"),
        // A step that this version does not know cannot be worded.
        next: parse_at(body, "/next").unwrap_or_default(),
    }
}

fn text_at(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)?.as_str().map(str::to_owned)
}

fn number_at(body: &Value, pointer: &str) -> Option<u64> {
    body.pointer(pointer)?.as_u64()
}

fn parse_at<T: DeserializeOwned>(body: &Value, pointer: &str) -> Option<T> {
    serde_json::from_value(body.pointer(pointer)?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_for_each_file_and_headers_are_not() {
        let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n x\n--- a/z\n+++ b/z\n y\n\
                    @@ -9 +9,0 @@\n-gone\n\\ No newline at end of file\n\
                    diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\n\
                    diff --git a/d b/d\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n";
        let counts = count_lines(diff);
        let shown: Vec<(&str, (u64, u64))> = counts
            .iter()
            .map(|(path, count)| (path.as_str(), *count))
            .collect();
        assert_eq!(shown, [("a", (1, 2)), ("d", (0, 1)), ("n", (2, 0))]);
    }
}
