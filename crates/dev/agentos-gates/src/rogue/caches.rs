//! Caches that another user could write to, and links in a cache that only the owner can write to (finding 11).
//!
//! Owns: forging them, and the expected effect: a cache that is open to others is not used and not changed, and no link in
//! a cache is followed. Never: touches the cache of the other runs.

use std::path::{Path, PathBuf};

use super::basics::put;
use super::ground::{TOOL_USER, give_below, make_folders, make_link, remove_below, set_mode, starter};
use super::runs::{HARMLESS, Program, Seen, seen};
use super::table::{FolderFault, ForgedLink, UnsafeFolder, forged_caches};
use super::whole::{entries, is_named, list_folder};
use crate::error::GateError;

/// A tool that fails with exit code 77 if it sees the user's notes instead of the base or its objects. The code reveals that
/// even if the tool's answer is not read.
pub(super) const LOOK: [&str; 3] = [
    "sh",
    "-c",
    "if cat notes.txt; then exit 77; fi
if read -r store <.git/objects/info/alternates && cat \"$store/notes.txt\"; then exit 77; fi
echo looked >found.txt",
];

/// The line that [`LOOK`] adds if it was shown the real base.
pub(super) const LOOKED: [&str; 1] = ["looked"];

/// The folders of a repository's copies in a cache.
pub(super) struct KeptCopies {
    copies: PathBuf,
    folder: PathBuf,
}

impl KeptCopies {
    /// Finds the folders in a cache that one run has used. `None` if the product keeps no copy there.
    pub(super) fn find(cache: &Path) -> Option<Self> {
        let copies = cache.join("agentos/copies");
        let folder = entries(&copies).pop()?;
        Some(Self { copies, folder })
    }

    /// Returns the folders of kept bases.
    pub(super) fn bases(&self) -> Vec<PathBuf> {
        let mut all = entries(&self.folder);
        all.retain(|place| is_named(place, "base-") && place.is_dir());
        all
    }

    /// Fills in a pattern of the table. Returns one path for each base if the pattern names bases, otherwise one path.
    fn places(&self, pattern: &str) -> Vec<PathBuf> {
        let folder = pattern.replace("{folder}", &self.folder.display().to_string());
        let folder = folder.replace("{copies}", &self.copies.display().to_string());
        if !folder.contains("{base}") {
            return vec![folder.into()];
        }
        let place = |base: &PathBuf| folder.replace("{base}", &base.display().to_string()).into();
        self.bases().iter().map(place).collect()
    }

    /// Forges a link. Afterwards, `elsewhere` must not change and `private` must not be shown.
    fn forge_link(&self, link: &ForgedLink, elsewhere: &Path, private: &Path) -> Result<(), GateError> {
        let to = link.to.replace("{elsewhere}", &elsewhere.display().to_string());
        let to = PathBuf::from(to.replace("{private}", &private.display().to_string()));
        let at = self.places(&link.at);
        let gone = link.gone.iter().flat_map(|pattern| self.places(pattern));
        gone.for_each(|place| remove_below(&place));
        for file in link.file.iter().flat_map(|pattern| self.places(pattern)) {
            file.parent().map_or(Ok(()), make_folders)?;
            put(&file, &link.text)?;
        }
        at.iter().try_for_each(|place| make_link(&to, place))
    }
}

impl<'a> Program<'a> {
    /// Runs a tool over each forged cache.
    pub(super) fn forged_caches(&self) -> Result<Vec<Seen>, GateError> {
        let caches = forged_caches()?;
        let mut all = Vec::new();
        for row in &caches.unsafe_folders {
            // Only root can give a folder to another user.
            if row.fault == FolderFault::Foreign && starter()? != 0 {
                continue;
            }
            all.push(match self.with_filled_cache(&row.id)? {
                Ok((program, kept)) => self.unsafe_cache(&program, &kept, row)?,
                Err(why) => seen(&row.id, false, why),
            });
        }
        for row in &caches.links {
            all.push(match self.with_filled_cache(&row.id)? {
                Ok((program, kept)) => self.linked_cache(&program, &kept, row)?,
                Err(why) => seen(&row.id, false, why),
            });
        }
        Ok(all)
    }

    /// Returns the product with a cache that one run has filled, or the reason why there is nothing to forge.
    fn with_filled_cache(&self, id: &str) -> Result<Result<(Program<'a>, KeptCopies), String>, GateError> {
        let program = self.with_cache(self.ground.make_cache(id)?);
        let ended = program.tool(&[], &HARMLESS)?;
        let none = || format!("the product kept no copy: {} {}", ended.summary(), ended.stderr);
        Ok(KeptCopies::find(&program.cache)
            .ok_or_else(none)
            .map(|kept| (program, kept)))
    }

    /// Runs a tool with a cache in which another user could have forged the kept base.
    fn unsafe_cache(
        &self,
        program: &Program<'_>,
        kept: &KeptCopies,
        UnsafeFolder { id, place, fault }: &UnsafeFolder,
    ) -> Result<Seen, GateError> {
        let elsewhere = self.ground.caches().join(format!("{id}-elsewhere"));
        for base in kept.bases() {
            remove_below(&base.join("files"));
            make_link(&self.ground.outside().join("private"), &base.join("files"))?;
        }
        let place = match place.as_str() {
            "*" => kept.folder.clone(),
            "" => program.cache.clone(),
            below => program.cache.join(below),
        };
        match *fault {
            FolderFault::Foreign => give_below(&place, TOOL_USER)?,
            FolderFault::Mode(mode) => set_mode(&place, mode)?,
            FolderFault::Link => {
                std::fs::rename(&place, &elsewhere).map_err(GateError::file(&place))?;
                make_link(&elsewhere, &place)?;
            }
        }
        let all = || -> Result<String, GateError> {
            let link = if elsewhere.is_dir() {
                list_folder(&elsewhere)?
            } else {
                String::new()
            };
            Ok(list_folder(&program.cache)? + &link + &self.listed_outside()?)
        };
        let before = all()?;
        let ended = program.tool(&[], &LOOK)?;
        let same = before == all()?;
        let left = program.run_folders().len();
        let held = same && ended.code == Some(0) && ended.added() == LOOKED && left == 0;
        let said = format!(
            "everything unchanged: {same}, {left} folders of runs left, {}",
            ended.summary()
        );
        Ok(seen(id, held, said))
    }

    /// Runs a tool with a link in a private cache. The target of the link must be neither shown nor changed.
    fn linked_cache(
        &self,
        program: &Program<'_>,
        kept: &KeptCopies,
        link: &ForgedLink,
    ) -> Result<Seen, GateError> {
        let elsewhere = self.ground.outside().join("elsewhere");
        remove_below(&elsewhere);
        make_folders(&elsewhere.join("folder"))?;
        put(&elsewhere.join("repository"), "/not/there\n")?;
        put(&elsewhere.join("file"), "canary\n")?;
        give_below(&elsewhere, self.ground.owner_id()?)?;
        kept.forge_link(link, &elsewhere, &self.ground.outside().join("private"))?;
        if let Some(user) = self.ground.user {
            // An ordinary user who starts the product owns everything in the cache, as if she had created it.
            give_below(&program.cache, user)?;
        }
        let before = self.listed_outside()?;
        let runs = [program.tool(&[], &LOOK)?, program.tool(&[], &LOOK)?];
        let same = before == self.listed_outside()?;
        remove_below(&elsewhere);
        // The product may refuse such a run with an error. A signal would be a crash.
        let held = runs.iter().all(|ended| {
            let shown = ended.stdout.contains(&self.ground.marker) || ended.stdout.contains("exit code 77");
            !shown && ended.code.is_some_and(|code| code < 100)
        });
        let summaries = runs.map(|ended| ended.summary()).join(", ");
        let said = format!("outside unchanged: {same}, {summaries}");
        Ok(seen(&link.id, held && same, said))
    }
}
