//! The context of an earlier run: what its tool was shown, from its records alone.
//!
//! Owns: the report about it, in the shape in which a planned context is reported. Never: reads the repository, which has
//! changed since.

use std::collections::BTreeMap;

use agentos_api::{ContextFileReport, ContextReport, WithheldFile};
use agentos_engine::ports::{EffectError, RecordReader as _};
use agentos_evidence::RecordKind;
use agentos_tool::{FilePart, FileRead, ToolTask};
use serde::Deserialize;

use super::reader::StoryReader;

use crate::Stories;

/// Record of a task as a tool was given it, as far as the context needs it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ShownTask {
    prompt_sha256: String,
    context: Vec<String>,
    parts: Vec<ShownLines>,
    outlined: Vec<String>,
    withheld: Vec<WithheldFile>,
    choice: Option<ContextReport>,
}

/// Lines of a file that were shown.
#[derive(Debug, Deserialize)]
struct ShownLines {
    path: String,
    first_line: u64,
    last_line: u64,
    total_lines: u64,
}

/// Size of what was shown of a file.
#[derive(Debug, Clone, Copy, Default)]
struct ShownSize {
    bytes: u64,
    lines: u64,
}

impl Stories<'_> {
    /// Returns what the tool of a run was shown at its last attempt, from the records alone.
    ///
    /// # Errors
    /// If there is no such run, its records cannot be read, or no tool was asked.
    pub fn run_context(self, reference: Option<&str>) -> Result<ContextReport, EffectError> {
        StoryReader::open(self.ground, reference)?.read_context()
    }
}

impl StoryReader {
    fn read_context(&self) -> Result<ContextReport, EffectError> {
        let lacks = || self.lacks_text("no context, because no tool was asked");
        let body = self.last_body(RecordKind::Attempt).ok_or_else(lacks)?;
        let shown: ShownTask = serde_json::from_value(body.clone()).unwrap_or_default();
        // The texts are in the task. Without their blob the report has no sizes, but everything else.
        let task = self.tape.load_blob(&shown.prompt_sha256).ok();
        let task = task.and_then(|bytes| serde_json::from_slice::<ToolTask>(&bytes).ok());
        let sizes = task.as_ref().map(measure_files).unwrap_or_default();
        let mut report = shown.choice.clone().unwrap_or_default();
        report.version = 1;
        report.files = shown
            .context
            .iter()
            .map(|path| shown.report_file(path, sizes.get(path).copied().unwrap_or_default()))
            .collect();
        for read in self.list_reads() {
            report_read(&mut report.files, &read);
        }
        report.bytes = report.files.iter().map(|file| file.bytes).sum();
        report.outlined = shown.outlined;
        for file in shown.withheld {
            if !report.withheld.iter().any(|known| known.path == file.path) {
                report.withheld.push(file);
            }
        }
        Ok(report)
    }
}

impl StoryReader {
    /// Lists the texts that the tool called for, in all attempts.
    fn list_reads(&self) -> Vec<FileRead> {
        let calls = self.bodies(RecordKind::ToolResult);
        let reads = calls.filter_map(|body| Vec::<FileRead>::deserialize(body.get("reads")?).ok());
        reads.flatten().collect()
    }
}

/// Adds a text that the tool called for to the file that it belongs to.
fn report_read(files: &mut Vec<ContextFileReport>, read: &FileRead) {
    let known = files
        .iter_mut()
        .find(|file| file.path == read.path && file.commit == read.commit);
    let Some(known) = known else {
        files.push(ContextFileReport {
            path: read.path.clone(),
            bytes: read.bytes,
            named: false,
            words: Vec::new(),
            near: None,
            ranges: merge_ranges(read.lines.clone()),
            lines: 0,
            tokens: 0,
            read_by: vec![read.by.clone()],
            commit: read.commit.clone(),
        });
        return;
    };
    known.bytes = known.bytes.saturating_add(read.bytes);
    // A file without ranges was shown whole.
    if !known.ranges.is_empty() {
        known.ranges.extend(&read.lines);
        known.ranges = merge_ranges(std::mem::take(&mut known.ranges));
    }
    if !known.read_by.contains(&read.by) {
        known.read_by.push(read.by.clone());
    }
}

/// Joins ranges that touch or overlap.
fn merge_ranges(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            Some(_) | None => merged.push((first, last)),
        }
    }
    merged
}

impl ShownTask {
    /// Reports a file as it was shown, with the reason of the choice if there was one.
    fn report_file(&self, path: &str, size: ShownSize) -> ContextFileReport {
        let chosen = self.choice.iter().flat_map(|choice| &choice.files);
        let chosen = chosen.clone().find(|file| file.path == path);
        let parts: Vec<&ShownLines> = self.parts.iter().filter(|part| part.path == path).collect();
        ContextFileReport {
            path: path.to_owned(),
            bytes: size.bytes,
            // Nobody chose: the user named it.
            named: chosen.is_none_or(|file| file.named),
            words: chosen.map(|file| file.words.clone()).unwrap_or_default(),
            near: chosen.and_then(|file| file.near.clone()),
            ranges: parts
                .iter()
                .map(|part| (part.first_line, part.last_line))
                .collect(),
            lines: parts.first().map_or(size.lines, |part| part.total_lines),
            tokens: chosen.map_or(0, |file| file.tokens),
            read_by: Vec::new(),
            commit: None,
        }
    }
}

/// Measures the texts of a task.
fn measure_files(task: &ToolTask) -> BTreeMap<String, ShownSize> {
    let mut sizes: BTreeMap<String, ShownSize> = BTreeMap::new();
    for file in &task.context {
        let size = sizes.entry(file.path.clone()).or_default();
        size.bytes += file.content.len() as u64;
        let lines = file.content.lines().count() as u64;
        size.lines = file
            .part
            .as_ref()
            .map_or(lines, |part: &FilePart| part.total_lines);
    }
    sizes
}
