//! Caches that another user could write to, and links in a cache that only the owner can write to (finding 11).
//!
//! Owns: forging them, and the expected effect: a cache that is open to others is not used and not changed, and no link in
//! a cache is followed. Never: touches the cache of the other runs.

use std::path::{Path, PathBuf};

use super::basics::write_file;
use super::ground::{
    TOOL_USER, change_owner_below, gate_user, make_folders, make_link, remove_below, set_mode,
};
use super::runs::{HARMLESS, ProductRunner, RunFinding, run_finding};
use super::table::{FolderFault, ForgedLink, UnsafeFolder, forged_caches};
use super::whole::{is_named, list_entries, list_folder};
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
    pub(super) fn find_kept(cache: &Path) -> Option<Self> {
        let copies = cache.join("agentos/copies");
        let folder = list_entries(&copies).pop()?;
        Some(Self { copies, folder })
    }

    /// Returns the folders of kept bases.
    pub(super) fn list_bases(&self) -> Vec<PathBuf> {
        let mut all = list_entries(&self.folder);
        all.retain(|place| is_named(place, "base-") && place.is_dir());
        all
    }

    /// Fills in a pattern of the table. Returns one path for each base if the pattern names bases, otherwise one path.
    fn fill_pattern(&self, pattern: &str) -> Vec<PathBuf> {
        let folder = pattern.replace("{folder}", &self.folder.display().to_string());
        let folder = folder.replace("{copies}", &self.copies.display().to_string());
        if !folder.contains("{base}") {
            return vec![folder.into()];
        }
        let place = |base: &PathBuf| folder.replace("{base}", &base.display().to_string()).into();
        self.list_bases().iter().map(place).collect()
    }

    /// Forges a link. Afterwards, `elsewhere` must not change and `private` must not be shown.
    fn forge_link(&self, link: &ForgedLink, elsewhere: &Path, private: &Path) -> Result<(), GateError> {
        let to = link.to.replace("{elsewhere}", &elsewhere.display().to_string());
        let to = PathBuf::from(to.replace("{private}", &private.display().to_string()));
        let at = self.fill_pattern(&link.at);
        let gone = link.gone.iter().flat_map(|pattern| self.fill_pattern(pattern));
        gone.for_each(|place| remove_below(&place));
        for file in link.file.iter().flat_map(|pattern| self.fill_pattern(pattern)) {
            file.parent().map_or(Ok(()), make_folders)?;
            write_file(&file, &link.text)?;
        }
        at.iter().try_for_each(|place| make_link(&to, place))
    }
}

impl<'a> ProductRunner<'a> {
    /// Runs a tool over each forged cache.
    pub(super) fn forged_caches(&self) -> Result<Vec<RunFinding>, GateError> {
        let caches = forged_caches()?;
        let mut all = Vec::new();
        for row in &caches.unsafe_folders {
            // Only root can give a folder to another user.
            if row.fault == FolderFault::Foreign && gate_user()? != 0 {
                continue;
            }
            all.push(match self.with_filled_cache(&row.id)? {
                Ok((program, kept)) => self.unsafe_cache(&program, &kept, row)?,
                Err(why) => run_finding(&row.id, false, why),
            });
        }
        for row in &caches.links {
            all.push(match self.with_filled_cache(&row.id)? {
                Ok((program, kept)) => self.linked_cache(&program, &kept, row)?,
                Err(why) => run_finding(&row.id, false, why),
            });
        }
        Ok(all)
    }

    /// Returns the product with a cache that one run has filled, or the reason why there is nothing to forge.
    fn with_filled_cache(
        &self,
        id: &str,
    ) -> Result<Result<(ProductRunner<'a>, KeptCopies), String>, GateError> {
        let program = self.with_cache(self.ground.make_cache(id)?);
        let ended = program.run_tool(&[], &HARMLESS)?;
        let none = || {
            format!(
                "the product kept no copy: {} {}",
                ended.summarize_end(),
                ended.stderr
            )
        };
        Ok(KeptCopies::find_kept(&program.cache)
            .ok_or_else(none)
            .map(|kept| (program, kept)))
    }

    /// Runs a tool with a cache in which another user could have forged the kept base.
    fn unsafe_cache(
        &self,
        program: &ProductRunner<'_>,
        kept: &KeptCopies,
        UnsafeFolder { id, place, fault }: &UnsafeFolder,
    ) -> Result<RunFinding, GateError> {
        let elsewhere = self.ground.caches().join(format!("{id}-elsewhere"));
        for base in kept.list_bases() {
            remove_below(&base.join("files"));
            make_link(&self.ground.outside().join("private"), &base.join("files"))?;
        }
        let place = match place.as_str() {
            "*" => kept.folder.clone(),
            "" => program.cache.clone(),
            below => program.cache.join(below),
        };
        match *fault {
            FolderFault::Foreign => change_owner_below(&place, TOOL_USER)?,
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
        let ended = program.run_tool(&[], &LOOK)?;
        let same = before == all()?;
        let left = program.run_folders().len();
        let held = same && ended.code == Some(0) && ended.added_lines() == LOOKED && left == 0;
        let said = format!(
            "everything unchanged: {same}, {left} folders of runs left, {}",
            ended.summarize_end()
        );
        Ok(run_finding(id, held, said))
    }

    /// Runs a tool with a link in a private cache. The target of the link must be neither shown nor changed.
    fn linked_cache(
        &self,
        program: &ProductRunner<'_>,
        kept: &KeptCopies,
        link: &ForgedLink,
    ) -> Result<RunFinding, GateError> {
        let elsewhere = self.ground.outside().join("elsewhere");
        remove_below(&elsewhere);
        make_folders(&elsewhere.join("folder"))?;
        write_file(&elsewhere.join("repository"), "/not/there\n")?;
        write_file(&elsewhere.join("file"), "canary\n")?;
        change_owner_below(&elsewhere, self.ground.owner_id()?)?;
        kept.forge_link(link, &elsewhere, &self.ground.outside().join("private"))?;
        if let Some(user) = self.ground.user {
            // An ordinary user who starts the product owns everything in the cache, as if she had created it.
            change_owner_below(&program.cache, user)?;
        }
        let before = self.listed_outside()?;
        // Twice, because a run reads what an earlier run kept, and cleans up after it.
        let runs = [program.run_tool(&[], &LOOK)?, program.run_tool(&[], &LOOK)?];
        let same = before == self.listed_outside()?;
        remove_below(&elsewhere);
        // The product may refuse such a run with an error. A signal would be a crash.
        let held = runs.iter().all(|ended| {
            let shown = ended.stdout.contains(&self.ground.marker) || ended.stdout.contains("exit code 77");
            !shown && ended.code.is_some_and(|code| code < 100)
        });
        let summaries = runs.map(|ended| ended.summarize_end()).join(", ");
        let said = format!("outside unchanged: {same}, {summaries}");
        Ok(run_finding(&link.id, held && same, said))
    }
}
