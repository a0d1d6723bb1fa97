//! Copies that somebody forged below the repository's git directory, as an unpacked archive may bring them (finding 11).
//!
//! Owns: forging them where earlier versions kept copies and where copies lie if no cache is safe, and what must come of it.
//! Never: leaves one behind.

use std::path::{Path, PathBuf};

use super::answers::Seen;
use super::caches::{Kept, LOOK};
use super::ground::{TOOL_USER, give_below, make_link, put, remove_below, run_quietly, set_mode, starter};
use super::runs::{HARMLESS, Program};
use super::whole::{entries, is_named, mode};
use crate::error::GateError;

impl Program<'_> {
    /// Forges each kind and runs a tool.
    pub(super) fn forged_copies(&self) -> Result<Vec<Seen>, GateError> {
        let mut seen = vec![
            self.forged_base()?,
            self.forged_run()?,
            self.forged_folder()?,
            self.forged_passing()?,
        ];
        // Only root can give a folder to somebody else.
        if starter()? == 0 {
            seen.push(self.foreign_copies()?);
        }
        remove_below(&self.old_copies());
        Ok(seen)
    }

    fn old_copies(&self) -> PathBuf {
        self.ground.repository().join(".git/agentos/copies")
    }

    /// Makes the folder in which earlier versions kept copies: with a base of the right name whose files are a link to the
    /// user's own.
    fn forge_copies(&self) -> Result<PathBuf, GateError> {
        let copies = self.old_copies();
        remove_below(&copies);
        std::fs::create_dir_all(&copies).map_err(GateError::file(&copies))?;
        for base in Kept::find(&self.cache).iter().flat_map(Kept::bases) {
            let forged = copies.join(base.file_name().unwrap_or_default());
            run_quietly(std::process::Command::new("cp").arg("-a").arg(&base).arg(&forged))?;
            remove_below(&forged.join("files"));
            make_link(&self.ground.outside().join("private"), &forged.join("files"))?;
        }
        give_below(&copies, self.ground.owner()?)?;
        Ok(copies)
    }

    /// The files of a base are a link to the user's own.
    fn forged_base(&self) -> Result<Seen, GateError> {
        let copies = self.forge_copies()?;
        let forged = entries(&copies).len();
        let before = self.listed_outside()?;
        let ended = self.tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        let held = ended.added() == ["looked"] && ended.code == Some(0) && same && forged > 0;
        let said = format!("{forged} forged, outside as before: {same}, {}", ended.summary());
        Ok(("forged-base", held, said))
    }

    /// The folder of a run that is over is a link to the user's own: its clean-up must not follow it.
    fn forged_run(&self) -> Result<Seen, GateError> {
        let copies = self.forge_copies()?;
        let tree = self.ground.outside().join("tree");
        let leaf = tree.join("a/b");
        let before = (mode(&leaf)?, self.listed_outside()?);
        make_link(&tree, &copies.join("run-forged"))?;
        put(&copies.join("run-forged.lock"), "")?;
        set_mode(&copies.join("run-forged.lock"), 0o666)?;
        give_below(&copies, self.ground.owner()?)?;
        // An ordinary user who may not delete the link is led through it.
        set_mode(&copies, 0o555)?;
        let ended = self.tool(&[], &HARMLESS)?;
        let again = self.tool(&[], &HARMLESS)?;
        let after = (mode(&leaf)?, self.listed_outside()?);
        let held = before == after && (ended.code, again.code) == (Some(0), Some(0));
        let said = format!(
            "mode {:o} and then {:o}, {}, {}",
            before.0,
            after.0,
            ended.summary(),
            again.summary()
        );
        Ok(("forged-run", held, said))
    }

    /// The folder of all copies is a link: nothing may be written where it leads, and the link stays.
    fn forged_folder(&self) -> Result<Seen, GateError> {
        let copies = self.forge_copies()?;
        let elsewhere = self.ground.outside().join("elsewhere");
        remove_below(&elsewhere);
        std::fs::rename(&copies, &elsewhere).map_err(GateError::file(&copies))?;
        make_link(&elsewhere, &copies)?;
        let before = self.listed_outside()?;
        let ended = self.tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        let stays = copies.is_symlink();
        remove_below(&elsewhere);
        let held = same && stays && ended.added() == ["looked"];
        let said = format!(
            "outside as before: {same}, the link is there: {stays}, {}",
            ended.summary()
        );
        Ok(("forged-copies-folder", held, said))
    }

    /// The folder belongs to somebody else: it stays as it is, and nothing of it is shown.
    fn foreign_copies(&self) -> Result<Seen, GateError> {
        let copies = self.forge_copies()?;
        give_below(&copies, TOOL_USER)?;
        let before = (self.listed_outside()?, listed(&copies)?);
        let ended = self.tool(&[], &LOOK)?;
        let same = before == (self.listed_outside()?, listed(&copies)?);
        let held = same && ended.added() == ["looked"] && ended.code == Some(0);
        let said = format!("all as before: {same}, {}", ended.summary());
        Ok(("forged-foreign-copies", held, said))
    }

    /// The names that a process takes for its own copies, where no cache is safe, are taken: by links, by somebody's file, and
    /// by a folder whose lock is a link.
    fn forged_passing(&self) -> Result<Seen, GateError> {
        let copies = self.forge_copies()?;
        let state = self.ground.repository().join(".git/agentos");
        let elsewhere = self.ground.outside().join("elsewhere");
        remove_below(&elsewhere);
        std::fs::rename(&copies, &elsewhere).map_err(GateError::file(&copies))?;
        let locked = state.join("copies.2");
        std::fs::create_dir_all(&locked).map_err(GateError::file(&locked))?;
        make_link(&elsewhere.join("made"), &locked.join("lock"))?;
        make_link(&self.ground.outside().join("tree"), &locked.join("files"))?;
        give_below(&locked, self.ground.owner()?)?;
        make_link(&elsewhere, &state.join("copies.0"))?;
        put(&state.join("copies.1"), "mine\n")?;
        make_link(&elsewhere.join("made"), &state.join("copies.3"))?;
        let before = self.listed_outside()?;
        let cache = self.ground.make_cache("open-for-passing")?;
        // Anybody could put something into this one.
        set_mode(&cache, 0o777)?;
        let ended = self.with_cache(cache).tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        let forged: Vec<PathBuf> = (0..4)
            .map(|number| state.join(format!("copies.{number}")))
            .collect();
        let own = entries(&state);
        let left = own
            .iter()
            .filter(|place| is_named(place, "copies.") && !forged.contains(place));
        let left = left.count();
        forged.iter().for_each(|place| remove_below(place));
        remove_below(&elsewhere);
        let held = same && left == 0 && ended.added() == ["looked"] && ended.code == Some(0);
        let said = format!(
            "outside as before: {same}, {left} folders left, {}",
            ended.summary()
        );
        Ok(("forged-passing-folder", held, said))
    }

    /// Lists everything outside that a followed link would change.
    pub(super) fn listed_outside(&self) -> Result<String, GateError> {
        let mut all = String::new();
        for name in ["private", "tree", "elsewhere"] {
            let folder = self.ground.outside().join(name);
            if folder.is_dir() {
                all.push_str(&listed(&folder)?);
            }
        }
        Ok(all)
    }
}

/// Lists a folder and everything in it, with modes, owners and what the files hold.
pub(super) fn listed(folder: &Path) -> Result<String, GateError> {
    use std::os::unix::fs::MetadataExt;
    let mut found = std::collections::BTreeMap::new();
    crate::witness::list(folder, folder, &|_| false, &mut found)?;
    found.insert(PathBuf::new(), format!("mode {:o}", mode(folder)?));
    let mut lines = String::new();
    for (path, seen) in found {
        let place = folder.join(&path);
        let about = place.symlink_metadata().map_err(GateError::file(&place))?;
        lines.push_str(&format!("{}: {seen}, user {}\n", path.display(), about.uid()));
    }
    Ok(lines)
}
