//! What a record or a commit changes: for each path the file before and after.
//!
//! Owns: reading a recorded change, and following files from change to change. Never: reads content.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::bounds::MemoryBudget;
use crate::line_view::LineView;
use crate::runs::{TapeLines, fact_of};
use crate::{EvidenceError, RecordKind, Store};

/// Content and mode of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileVersion {
    /// Id of the blob in the repository, in hexadecimal.
    pub oid: String,
    /// Mode as git prints it, as in `100644`.
    pub mode: String,
}

/// File that a change creates, deletes or changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileChange {
    /// Path of the file.
    pub path: String,
    /// File before the change. `None` if there was none.
    pub old: Option<FileVersion>,
    /// File after the change. `None` if it was deleted.
    pub new: Option<FileVersion>,
}

/// Change that an intent or a receipt states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RecordedChange {
    /// Files of the change, sorted.
    pub files: Vec<FileChange>,
    /// Blob of the tape with the canonical diff. `None` if the record names none.
    pub diff: Option<String>,
    /// Commit that it was made on. `None` if the record names none.
    pub parent: Option<String>,
}

impl RecordedChange {
    /// Reads the change from the body of an intent or a receipt. `None` if it names no files, or not in the known form.
    pub fn from_body(body: &Value) -> Option<Self> {
        let parts = [Some(body), body.get("plan"), body.get("receipt")];
        let named = parts
            .into_iter()
            .flatten()
            .find_map(|part| part.get("files")?.as_array())?;
        let mut files = named.iter().map(read_file).collect::<Option<Vec<_>>>()?;
        files.sort();
        let diff = fact_of(body, "diff_sha256").map(|hex| format!("sha256:{hex}"));
        let parent = fact_of(body, "parent");
        (!files.is_empty()).then_some(Self { files, diff, parent })
    }

    /// Returns the bytes of memory that are counted for the change.
    pub fn cost(&self) -> usize {
        self.files.iter().map(|file| file.path.len() + 300).sum::<usize>() + 200
    }
}

fn read_file(file: &Value) -> Option<FileChange> {
    let version = |name: &str| -> Option<Option<FileVersion>> {
        let Some(version) = file.get(name).filter(|version| !version.is_null()) else {
            return Some(None);
        };
        let mode = match version.get("mode")?.as_str()? {
            "regular" => "100644",
            "executable" => "100755",
            "symlink" => "120000",
            _ => return None,
        };
        Some(Some(FileVersion {
            oid: version.get("oid")?.as_str()?.to_owned(),
            mode: mode.to_owned(),
        }))
    };
    Some(FileChange {
        path: file.get("path")?.as_str()?.to_owned(),
        old: version("old")?,
        new: version("new")?,
    })
}

/// Recorded changes of some paths, to follow a file from change to change.
#[derive(Debug, Default)]
pub(super) struct ChangeSteps(BTreeMap<(String, Option<FileVersion>), Vec<Option<FileVersion>>>);

impl ChangeSteps {
    /// Adds the steps of some paths from the receipts of a tape that name a commit, up to a line.
    ///
    /// # Errors
    /// When the tape cannot be read, or has too many such steps.
    pub fn read(&mut self, store: &Store, until: u64, paths: &BTreeSet<String>) -> Result<(), EvidenceError> {
        let mut budget = MemoryBudget::new("changes of the same files");
        let Some(mut lines) = TapeLines::open(store)? else {
            return Ok(());
        };
        let mut at = 0;
        while let Some(line) = lines.next()?.filter(|_| at < until) {
            at += 1;
            let Some(record) = LineView::parse_line(line.text()) else {
                continue;
            };
            if record.kind != RecordKind::Receipt {
                continue;
            }
            let body = record.parse_body()?;
            let change = RecordedChange::from_body(&body).filter(|_| fact_of(&body, "commit").is_some());
            for file in change.into_iter().flat_map(|change| change.files) {
                if paths.contains(&file.path) {
                    budget.take(file.path.len() + 300)?;
                    self.add(&file);
                }
            }
        }
        Ok(())
    }

    /// Adds what a change did to one file.
    pub fn add(&mut self, file: &FileChange) {
        let key = (file.path.clone(), file.old.clone());
        self.0.entry(key).or_default().push(file.new.clone());
    }

    /// Returns whether recorded changes lead from one version of a file to another. No change at all is needed if they are
    /// equal.
    pub fn lead<'a>(&'a self, path: &str, from: &'a Option<FileVersion>, to: &Option<FileVersion>) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            let next = self.0.get(&(path.to_owned(), at.clone()));
            for version in next.into_iter().flatten() {
                if seen.insert(version) {
                    open.push(version);
                }
            }
        }
        false
    }
}
