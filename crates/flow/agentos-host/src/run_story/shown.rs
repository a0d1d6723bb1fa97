//! The context of an earlier run: what its tool was shown, from its records alone.
//!
//! Owns: the report about it, in the shape in which a planned context is reported. Never: reads the repository, which has
//! changed since.

use std::collections::BTreeMap;

use agentos_api::{ContextFileReport, ContextReport, WithheldFile};
use agentos_engine::ports::{EffectError, RecordReader as _};
use agentos_evidence::RecordKind;
use agentos_tool::{FilePart, ToolTask};
use serde::Deserialize;

use super::reader::StoryReader;
use crate::host::Host;

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

impl Host {
    /// Returns what the tool of a run was shown at its last attempt, from the records alone.
    ///
    /// # Errors
    /// If there is no such run, its records cannot be read, or no tool was asked.
    pub fn run_context(&self, reference: Option<&str>) -> Result<ContextReport, EffectError> {
        StoryReader::open(self, reference)?.read_context()
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
            ranges: parts
                .iter()
                .map(|part| (part.first_line, part.last_line))
                .collect(),
            lines: parts.first().map_or(size.lines, |part| part.total_lines),
            tokens: chosen.map_or(0, |file| file.tokens),
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
