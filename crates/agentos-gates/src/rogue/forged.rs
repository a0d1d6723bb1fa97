//! Copies of the base that somebody forged in the repository's own folder, as an unpacked archive may bring them (finding 11).
//!
//! Owns: forging them and what must come of it. Never: leaves one behind.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::answers::Seen;
use super::ground::{make_link, put, set_mode};
use super::runs::{HARMLESS, Program};
use crate::error::GateError;

impl Program<'_> {
    /// Forges each kind and runs a tool.
    pub(super) fn forged_copies(&self) -> Result<Vec<Seen>, GateError> {
        let copies = self.ground.repository().join(".git/agentos/copies");
        std::fs::create_dir_all(&copies).map_err(GateError::file(&copies))?;
        Ok(vec![
            self.forged_base(&copies)?,
            self.forged_run(&copies)?,
            self.forged_folder(&copies)?,
        ])
    }

    /// The files of a kept base are a link to the user's own.
    fn forged_base(&self, copies: &Path) -> Result<Seen, GateError> {
        let private = self.ground.outside().join("private");
        let mut forged = Vec::new();
        for entry in std::fs::read_dir(copies)
            .map_err(GateError::file(copies))?
            .flatten()
        {
            let files: PathBuf = entry.path().join("files");
            if files.is_dir() && entry.file_name().to_string_lossy().starts_with("base-") {
                std::fs::rename(&files, entry.path().join("files-before"))
                    .map_err(GateError::file(&files))?;
                make_link(&private, &files)?;
                forged.push(files);
            }
        }
        let ended = self.tool(
            &[],
            &[
                "sh",
                "-c",
                "cat notes.txt >found.txt 2>/dev/null; echo looked >>found.txt",
            ],
        )?;
        for files in &forged {
            // What follows must be judged for itself. The product may have thrown the forged copy away.
            let _ = std::fs::remove_file(files);
            let _ = std::fs::rename(files.with_file_name("files-before"), files);
        }
        let held = !ended.stdout.contains(&self.ground.marker);
        Ok((
            "forged-base",
            held,
            format!("{} forged, {}", forged.len(), ended.summary()),
        ))
    }

    /// The folder of a run that is over is a link to the user's own: its clean-up must not follow it.
    fn forged_run(&self, copies: &Path) -> Result<Seen, GateError> {
        let tree = self.ground.outside().join("tree");
        let leaf = tree.join("a/b");
        let before = permissions(&leaf)?;
        make_link(&tree, &copies.join("run-forged"))?;
        put(&copies.join("run-forged.lock"), "")?;
        set_mode(&copies.join("run-forged.lock"), 0o666)?;
        // An ordinary user who may not delete the link is led through it.
        set_mode(copies, 0o555)?;
        let ended = self.tool(&[], &HARMLESS)?;
        set_mode(copies, 0o755)?;
        let again = self.tool(&[], &HARMLESS)?;
        let after = permissions(&leaf)?;
        let held = before == after && leaf.is_dir();
        let said = format!(
            "mode {before:o} and then {after:o}, {}, {}",
            ended.summary(),
            again.summary()
        );
        Ok(("forged-run", held, said))
    }

    /// The folder of all copies is a link: nothing may be written where it leads.
    fn forged_folder(&self, copies: &Path) -> Result<Seen, GateError> {
        let elsewhere = self.ground.outside().join("elsewhere");
        std::fs::create_dir_all(&elsewhere).map_err(GateError::file(&elsewhere))?;
        set_mode(&elsewhere, 0o777)?;
        let before = copies.with_extension("before");
        std::fs::rename(copies, &before).map_err(GateError::file(copies))?;
        make_link(&elsewhere, copies)?;
        let shown = self.ground.shown().display().to_string();
        let ended = self.tool(&["--read", &shown], &HARMLESS)?;
        let entries = std::fs::read_dir(&elsewhere).map_err(GateError::file(&elsewhere))?;
        let count = entries.count();
        std::fs::remove_file(copies).map_err(GateError::file(copies))?;
        std::fs::rename(&before, copies).map_err(GateError::file(copies))?;
        let said = format!("{count} entries elsewhere, {}", ended.summary());
        Ok(("forged-copies-folder", count == 0, said))
    }
}

fn permissions(place: &Path) -> Result<u32, GateError> {
    let about = std::fs::metadata(place).map_err(GateError::file(place))?;
    Ok(about.permissions().mode() & 0o7777)
}
