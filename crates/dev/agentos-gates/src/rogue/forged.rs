//! Copies that somebody forged below the repository's git directory, as an unpacked archive may bring them (finding 11).
//!
//! Owns: forging them where earlier versions kept copies and where copies lie if no cache is safe, and what must come of it.
//! Never: leaves one behind.

use std::path::PathBuf;
use std::process::Command;

use super::basics::{put, run_quietly};
use super::caches::{Kept, LOOK, LOOKED};
use super::ground::{TOOL_USER, give_below, make_folders, make_link, remove_below, set_mode, starter};
use super::runs::{HARMLESS, Program, Seen, seen};
use super::whole::{entries, is_named, listed, mode};
use crate::error::GateError;

impl Program<'_> {
    /// Forges each kind and runs a tool.
    pub(super) fn forged_copies(&self) -> Result<Vec<Seen>, GateError> {
        let mut all = vec![
            self.forged_base()?,
            self.forged_run()?,
            self.forged_folder()?,
            self.forged_passing()?,
        ];
        // Only root can give a folder to somebody else.
        if starter()? == 0 {
            all.push(self.foreign_copies()?);
        }
        remove_below(&self.old_copies());
        Ok(all)
    }

    fn old_copies(&self) -> PathBuf {
        self.ground.repository().join(".git/agentos/copies")
    }

    /// Makes the folder in which earlier versions kept copies: with a base of the right name whose files are a link to the
    /// user's own.
    fn forge_copies(&self) -> Result<PathBuf, GateError> {
        let copies = self.old_copies();
        remove_below(&copies);
        make_folders(&copies)?;
        for base in Kept::find(&self.cache).iter().flat_map(Kept::bases) {
            let forged = copies.join(base.file_name().unwrap_or_default());
            run_quietly(Command::new("cp").arg("-a").arg(&base).arg(&forged))?;
            remove_below(&forged.join("files"));
            make_link(&self.ground.outside().join("private"), &forged.join("files"))?;
        }
        give_below(&copies, self.ground.owner()?)?;
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

    /// The files of a base are a link to the user's own.
    fn forged_base(&self) -> Result<Seen, GateError> {
        let forged = entries(&self.forge_copies()?).len();
        let before = self.listed_outside()?;
        let ended = self.tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        let held = ended.added() == LOOKED && ended.code == Some(0) && same && forged > 0;
        let said = format!("{forged} forged, outside as before: {same}, {}", ended.summary());
        Ok(seen("forged-base", held, said))
    }

    /// The folder of a run that is over is a link to the user's own: its clean-up must not follow it.
    fn forged_run(&self) -> Result<Seen, GateError> {
        let copies = self.forge_copies()?;
        let tree = self.ground.outside().join("tree");
        let look =
            || -> Result<(u32, String), GateError> { Ok((mode(&tree.join("a/b"))?, self.listed_outside()?)) };
        let before = look()?;
        make_link(&tree, &copies.join("run-forged"))?;
        put(&copies.join("run-forged.lock"), "")?;
        set_mode(&copies.join("run-forged.lock"), 0o666)?;
        give_below(&copies, self.ground.owner()?)?;
        // An ordinary user who may not delete the link is led through it.
        set_mode(&copies, 0o555)?;
        let runs = [self.tool(&[], &HARMLESS)?, self.tool(&[], &HARMLESS)?];
        let after = look()?;
        let held = before == after && runs.iter().all(|ended| ended.code == Some(0));
        let summaries = runs.map(|ended| ended.summary()).join(", ");
        let said = format!("mode {:o} and then {:o}, {summaries}", before.0, after.0);
        Ok(seen("forged-run", held, said))
    }

    /// The folder of all copies is a link: nothing may be written where it leads, and the link stays.
    fn forged_folder(&self) -> Result<Seen, GateError> {
        let (copies, elsewhere) = self.forge_elsewhere()?;
        make_link(&elsewhere, &copies)?;
        let before = self.listed_outside()?;
        let ended = self.tool(&[], &LOOK)?;
        let (same, stays) = (before == self.listed_outside()?, copies.is_symlink());
        remove_below(&elsewhere);
        let said = format!(
            "outside as before: {same}, the link is there: {stays}, {}",
            ended.summary()
        );
        Ok(seen(
            "forged-copies-folder",
            same && stays && ended.added() == LOOKED,
            said,
        ))
    }

    /// The folder belongs to somebody else: it stays as it is, and nothing of it is shown.
    fn foreign_copies(&self) -> Result<Seen, GateError> {
        let copies = self.forge_copies()?;
        give_below(&copies, TOOL_USER)?;
        let before = (self.listed_outside()?, listed(&copies)?);
        let ended = self.tool(&[], &LOOK)?;
        let same = before == (self.listed_outside()?, listed(&copies)?);
        let held = same && ended.added() == LOOKED && ended.code == Some(0);
        let said = format!("all as before: {same}, {}", ended.summary());
        Ok(seen("forged-foreign-copies", held, said))
    }

    /// The names that a process takes for its own copies, where no cache is safe, are taken: by links, by somebody's file, and
    /// by a folder whose lock is a link.
    fn forged_passing(&self) -> Result<Seen, GateError> {
        let (_, elsewhere) = self.forge_elsewhere()?;
        let state = self.ground.repository().join(".git/agentos");
        let forged = [0, 1, 2, 3].map(|number| state.join(format!("copies.{number}")));
        let [linked, file, locked, made] = &forged;
        make_folders(locked)?;
        make_link(&elsewhere.join("made"), &locked.join("lock"))?;
        make_link(&self.ground.outside().join("tree"), &locked.join("files"))?;
        give_below(locked, self.ground.owner()?)?;
        make_link(&elsewhere, linked)?;
        put(file, "mine\n")?;
        make_link(&elsewhere.join("made"), made)?;
        let before = self.listed_outside()?;
        let cache = self.ground.make_cache("open-for-passing")?;
        // Anybody could put something into this one.
        set_mode(&cache, 0o777)?;
        let ended = self.with_cache(cache).tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        let mut left = entries(&state);
        left.retain(|place| is_named(place, "copies.") && !forged.contains(place));
        forged.iter().for_each(|place| remove_below(place));
        remove_below(&elsewhere);
        let held = same && left.is_empty() && ended.added() == LOOKED && ended.code == Some(0);
        let said = format!(
            "outside as before: {same}, {} folders left, {}",
            left.len(),
            ended.summary()
        );
        Ok(seen("forged-passing-folder", held, said))
    }

    /// Lists everything outside that a followed link would change.
    pub(super) fn listed_outside(&self) -> Result<String, GateError> {
        let folders = ["private", "tree", "elsewhere"].map(|name| self.ground.outside().join(name));
        folders
            .iter()
            .filter(|folder| folder.is_dir())
            .map(|folder| listed(folder))
            .collect()
    }
}
