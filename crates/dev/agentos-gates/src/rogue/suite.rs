//! The rogue's own files, as they lie in `scripts/rogue`, and the table of what they attempt.
//!
//! Owns: putting them into a repository, reading the table. Never: makes an attempt.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::basics::run_quietly;
use crate::child::Ended;
use crate::error::GateError;

/// Where the rogue's files lie: the gates are run from the tree that they were built in.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/rogue");

/// The processes outside that hold shared memory and messages.
pub(super) const NEIGHBOUR: &str = include_str!("../../../../../scripts/rogue/neighbour.py");
/// A tool of the line protocol that answers with patches to the outside.
pub(super) const SPEAKER: &str = include_str!("../../../../../scripts/rogue/speaker.py");

/// One row of the table: an attempt that is made in one of the scenes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AttemptRow {
    /// Name of the attempt, unique in the table.
    pub(super) attempt: String,
    /// Class that it belongs to.
    pub(super) kind: String,
    /// What it tries, in words.
    pub(super) what: String,
    /// Why it may fail where nothing confines it; `None` if it must succeed there.
    pub(super) needs: Option<String>,
    /// `outside` if the gate sees the effect itself, `result` if the call's result tells.
    pub(super) judged: String,
    /// Run in which it is made.
    pub(super) scene: String,
}

/// Copies what the tool is shown of the rogue into a folder.
pub(super) fn copy_files(folder: &Path) -> Result<(), GateError> {
    let copy = "cp by_path.sh rogue.py runs.py whole.py \"$0\" && cp -R attempts \"$0\"";
    run_quietly(
        Command::new("sh")
            .args(["-c", copy])
            .arg(folder)
            .current_dir(FOLDER),
    )
}

/// Reads the table from the rogue in `folder`, which makes no attempt when it lists them.
pub(super) fn read_table(python: &Path, folder: &Path) -> Result<Vec<AttemptRow>, GateError> {
    let mut list = Command::new(python);
    list.args(["rogue.py", "--list"]).current_dir(folder);
    let ended = Ended::run(&mut list, "", None)?;
    let rows: Result<Vec<AttemptRow>, _> = ended.stdout.lines().map(serde_json::from_str).collect();
    match rows {
        Ok(rows) if ended.code == Some(0) && !rows.is_empty() => Ok(rows),
        Ok(_) | Err(_) => Err(GateError::Usage(format!(
            "the rogue does not list its attempts: {}",
            ended.stderr.trim_end()
        ))),
    }
}
