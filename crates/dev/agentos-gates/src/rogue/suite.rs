//! The rogue's files in `scripts/rogue`, and the table of its attempts.
//!
//! Owns: copying the files into a repository, and reading the table. Never: makes an attempt.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::basics::run_quietly;
use crate::child::FinishedCall;
use crate::error::GateError;

/// Folder of the rogue's files. The gates run in the source tree in which they were built.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/rogue");

/// Script of the process outside that holds shared memory and messages.
pub(super) const NEIGHBOUR: &str = include_str!("../../../../../scripts/rogue/neighbour.py");
/// Script of a tool that speaks the tool protocol and answers with patches to paths outside.
pub(super) const SPEAKER: &str = include_str!("../../../../../scripts/rogue/speaker.py");

/// A row of the table: an attempt that is made in one of the scenes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AttemptRow {
    /// Name of the attempt, unique in the table.
    pub(super) attempt: String,
    /// Class that it belongs to.
    pub(super) kind: String,
    /// Description of the attempt.
    pub(super) what: String,
    /// The reason why it may fail without a sandbox; `None` if it must succeed there.
    pub(super) needs: Option<String>,
    /// `outside` if the gate can see the effect itself, `result` if only the call's result shows it.
    pub(super) judged: String,
    /// The scene in which it is made.
    pub(super) scene: String,
}

/// Copies the files that the tool needs into a folder.
pub(super) fn copy_files(folder: &Path) -> Result<(), GateError> {
    // By `cp` and not from compiled-in texts, so that a new file of attempts needs no change here.
    let copy = "cp by_path.sh reports.py rogue.py runs.py whole.py \"$0\" && cp -R attempts \"$0\"";
    run_quietly(
        Command::new("sh")
            .args(["-c", copy])
            .arg(folder)
            .current_dir(FOLDER),
    )
}

/// Copies the files of the toolbox, and of the model that calls it, into a folder.
pub(super) fn copy_toolbox(folder: &Path) -> Result<(), GateError> {
    let copy = "cp toolbox.py model.py \"$0\"";
    run_quietly(
        Command::new("sh")
            .args(["-c", copy])
            .arg(folder)
            .current_dir(FOLDER),
    )
}

/// Copies the program that looks for the user's files into a folder.
pub(super) fn copy_looking(folder: &Path) -> Result<(), GateError> {
    let copy = "cp look.py \"$0\"";
    run_quietly(
        Command::new("sh")
            .args(["-c", copy])
            .arg(folder)
            .current_dir(FOLDER),
    )
}

/// Reads the table from the rogue in `folder`; with `--list` it makes no attempt.
pub(super) fn read_table(python: &Path, folder: &Path) -> Result<Vec<AttemptRow>, GateError> {
    let mut list = Command::new(python);
    list.args(["rogue.py", "--list"]).current_dir(folder);
    let ended = FinishedCall::run(&mut list, "", None)?;
    let rows: Result<Vec<AttemptRow>, _> = ended.stdout.lines().map(serde_json::from_str).collect();
    match rows {
        Ok(rows) if ended.code == Some(0) && !rows.is_empty() => Ok(rows),
        Ok(_) | Err(_) => Err(GateError::Usage(format!(
            "the rogue does not list its attempts: {}",
            ended.stderr.trim_end()
        ))),
    }
}
