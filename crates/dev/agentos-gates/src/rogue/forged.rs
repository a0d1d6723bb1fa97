//! Forged copies below the repository's git directory, as an unpacked archive may contain them (finding 11).
//!
//! Owns: forging them in the places of earlier versions and in those that are used if no cache is safe, and the expected
//! effect. Never: leaves one behind.

use std::path::PathBuf;
use std::process::Command;

use super::basics::{run_quietly, write_file};
use super::caches::{KeptCopies, LOOK, LOOKED};
use super::ground::{
    TOOL_USER, change_owner_below, gate_user, make_folders, make_link, remove_below, set_mode,
};
use super::runs::{HARMLESS, ProductRunner, RunFinding, run_finding};
use super::whole::{is_named, list_entries, list_folder, permission_bits};
use crate::error::GateError;

impl ProductRunner<'_> {
    /// Forges each kind of copy and runs a tool with it.
    pub(super) fn forged_copies(&self) -> Result<Vec<RunFinding>, GateError> {
        let mut all = vec![
            self.forged_base()?,
            self.forged_run()?,
            self.forged_folder()?,
            self.forged_passing()?,
        ];
        // Only root can give a folder to another user.
        if gate_user()? == 0 {
            all.push(self.foreign_copies()?);
        }
        remove_below(&self.old_copies());
        Ok(all)
    }

    /// Returns the folder in which earlier versions kept copies.
    fn old_copies(&self) -> PathBuf {
        self.ground.repository().join(".git/agentos/copies")
    }

    /// Creates the folder in which earlier versions kept copies, with a base of the right name whose files are a link to the
    /// user's own files.
    fn forge_copies(&self) -> Result<PathBuf, GateError> {
        let copies = self.old_copies();
        remove_below(&copies);
        make_folders(&copies)?;
        for base in KeptCopies::find_kept(&self.cache)
            .iter()
            .flat_map(KeptCopies::list_bases)
        {
            let forged = copies.join(base.file_name().unwrap_or_default());
            run_quietly(Command::new("cp").arg("-a").arg(&base).arg(&forged))?;
            remove_below(&forged.join("files"));
            make_link(&self.ground.outside().join("private"), &forged.join("files"))?;
        }
        change_owner_below(&copies, self.ground.owner_id()?)?;
        Ok(copies)
    }

    /// Forges the copies and moves them outside.
    fn forge_elsewhere(&self) -> Result<(PathBuf, PathBuf), GateError> {
        let copies = self.forge_copies()?;
        let elsewhere = self.ground.outside().join("elsewhere");
        remove_below(&elsewhere);
        std::fs::rename(&copies, &elsewhere).map_err(GateError::file(&copies))?;
        Ok((copies, elsewhere))
    }

    /// Runs a tool with a forged base whose files are a link to the user's own files.
    fn forged_base(&self) -> Result<RunFinding, GateError> {
        let forged = list_entries(&self.forge_copies()?).len();
        let before = self.listed_outside()?;
        let ended = self.run_tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        let held = ended.added_lines() == LOOKED && ended.code == Some(0) && same && forged > 0;
        let said = format!(
            "{forged} forged, outside unchanged: {same}, {}",
            ended.summarize_end()
        );
        Ok(run_finding("forged-base", held, said))
    }

    /// Runs a tool next to a forged folder of an ended run, which is a link to the user's files. The clean-up must not
    /// follow it.
    fn forged_run(&self) -> Result<RunFinding, GateError> {
        let copies = self.forge_copies()?;
        let tree = self.ground.outside().join("tree");
        let look = || -> Result<(u32, String), GateError> {
            Ok((permission_bits(&tree.join("a/b"))?, self.listed_outside()?))
        };
        let before = look()?;
        make_link(&tree, &copies.join("run-forged"))?;
        write_file(&copies.join("run-forged.lock"), "")?;
        set_mode(&copies.join("run-forged.lock"), 0o666)?;
        change_owner_below(&copies, self.ground.owner_id()?)?;
        // If an ordinary user starts the product, it cannot delete the link, and a careless clean-up would go through it.
        set_mode(&copies, 0o555)?;
        let runs = [self.run_tool(&[], &HARMLESS)?, self.run_tool(&[], &HARMLESS)?];
        let after = look()?;
        let held = before == after && runs.iter().all(|ended| ended.code == Some(0));
        let summaries = runs.map(|ended| ended.summarize_end()).join(", ");
        let said = format!("mode {:o} and then {:o}, {summaries}", before.0, after.0);
        Ok(run_finding("forged-run", held, said))
    }

    /// Runs a tool while the folder of all copies is a link. Nothing may be written to its target, and the link must stay.
    fn forged_folder(&self) -> Result<RunFinding, GateError> {
        let (copies, elsewhere) = self.forge_elsewhere()?;
        make_link(&elsewhere, &copies)?;
        let before = self.listed_outside()?;
        let ended = self.run_tool(&[], &LOOK)?;
        let (same, stays) = (before == self.listed_outside()?, copies.is_symlink());
        remove_below(&elsewhere);
        let said = format!(
            "outside unchanged: {same}, the link is there: {stays}, {}",
            ended.summarize_end()
        );
        Ok(run_finding(
            "forged-copies-folder",
            same && stays && ended.added_lines() == LOOKED,
            said,
        ))
    }

    /// Runs a tool while the folder belongs to another user. It must stay unchanged, and nothing in it may be shown.
    fn foreign_copies(&self) -> Result<RunFinding, GateError> {
        let copies = self.forge_copies()?;
        change_owner_below(&copies, TOOL_USER)?;
        let before = (self.listed_outside()?, list_folder(&copies)?);
        let ended = self.run_tool(&[], &LOOK)?;
        let same = before == (self.listed_outside()?, list_folder(&copies)?);
        let held = same && ended.added_lines() == LOOKED && ended.code == Some(0);
        let said = format!("everything unchanged: {same}, {}", ended.summarize_end());
        Ok(run_finding("forged-foreign-copies", held, said))
    }

    /// Runs a tool while the names for a process's own copies, used if no cache is safe, exist already: as links, as a file,
    /// and as a folder whose lock is a link.
    fn forged_passing(&self) -> Result<RunFinding, GateError> {
        let (_, elsewhere) = self.forge_elsewhere()?;
        let state = self.ground.repository().join(".git/agentos");
        let forged = [0, 1, 2, 3].map(|number| state.join(format!("copies.{number}")));
        let [linked, file, locked, made] = &forged;
        make_folders(locked)?;
        make_link(&elsewhere.join("made"), &locked.join("lock"))?;
        make_link(&self.ground.outside().join("tree"), &locked.join("files"))?;
        change_owner_below(locked, self.ground.owner_id()?)?;
        make_link(&elsewhere, linked)?;
        write_file(file, "mine\n")?;
        make_link(&elsewhere.join("made"), made)?;
        let before = self.listed_outside()?;
        let cache = self.ground.make_cache("open-for-passing")?;
        // Open to every user, so that the product must not use it.
        set_mode(&cache, 0o777)?;
        let ended = self.with_cache(cache).run_tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        let mut left = list_entries(&state);
        left.retain(|place| is_named(place, "copies.") && !forged.contains(place));
        forged.iter().for_each(|place| remove_below(place));
        remove_below(&elsewhere);
        let held = same && left.is_empty() && ended.added_lines() == LOOKED && ended.code == Some(0);
        let said = format!(
            "outside unchanged: {same}, {} folders left, {}",
            left.len(),
            ended.summarize_end()
        );
        Ok(run_finding("forged-passing-folder", held, said))
    }

    /// Lists everything outside that a followed link would change.
    pub(super) fn listed_outside(&self) -> Result<String, GateError> {
        let folders = ["private", "tree", "elsewhere"].map(|name| self.ground.outside().join(name));
        folders
            .iter()
            .filter(|folder| folder.is_dir())
            .map(|folder| list_folder(folder))
            .collect()
    }
}
