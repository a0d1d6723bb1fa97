//! The rogue's own files, as they lie in `scripts/rogue`, and the table of what they attempt.
//!
//! Owns: which files belong to the suite, reading the table. Never: makes an attempt.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::ground::put;
use crate::error::GateError;

macro_rules! suite_file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../../scripts/rogue/", $name)),
        )
    };
}

/// Every file of the rogue by its name in the copy.
const FILES: &[(&str, &str)] = &[
    suite_file!("beside.sh"),
    suite_file!("rogue.py"),
    suite_file!("runs.py"),
    suite_file!("whole.py"),
    suite_file!("attempts/__init__.py"),
    suite_file!("attempts/architecture.py"),
    suite_file!("attempts/base.py"),
    suite_file!("attempts/descriptors.py"),
    suite_file!("attempts/files.py"),
    suite_file!("attempts/history.py"),
    suite_file!("attempts/identity.py"),
    suite_file!("attempts/interfaces.py"),
    suite_file!("attempts/kernel.py"),
    suite_file!("attempts/messages.py"),
    suite_file!("attempts/modes.py"),
    suite_file!("attempts/mounts.py"),
    suite_file!("attempts/network.py"),
    suite_file!("attempts/processes.py"),
    suite_file!("attempts/proxy.py"),
    suite_file!("attempts/reads.py"),
    suite_file!("attempts/repository.py"),
    suite_file!("attempts/scheduling.py"),
    suite_file!("attempts/shares.py"),
];

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

/// Writes the rogue's files into a folder.
pub(super) fn write_files(folder: &Path) -> Result<(), GateError> {
    let attempts = folder.join("attempts");
    std::fs::create_dir_all(&attempts).map_err(GateError::file(&attempts))?;
    for (name, text) in FILES {
        put(&folder.join(name), text)?;
    }
    Ok(())
}

/// Reads the table from the rogue in `folder`, which makes no attempt when it lists them.
pub(super) fn read_table(python: &Path, folder: &Path) -> Result<Vec<AttemptRow>, GateError> {
    let failed = |source| GateError::Start {
        program: python.to_owned(),
        source,
    };
    let output = Command::new(python)
        .args(["rogue.py", "--list"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Result<Vec<AttemptRow>, _> = text.lines().map(serde_json::from_str).collect();
    match rows {
        Ok(rows) if output.status.success() && !rows.is_empty() => Ok(rows),
        Ok(_) | Err(_) => Err(GateError::Usage(format!(
            "the rogue does not list its attempts: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        ))),
    }
}
