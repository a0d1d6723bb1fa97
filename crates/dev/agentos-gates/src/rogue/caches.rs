//! Caches that somebody else could write to, and links in one that nobody else could (finding 11).
//!
//! Owns: forging them, and what must come of it: a cache that is not closed to others is not used and stays as it is, and no
//! link below one is followed. Never: touches the cache of the other runs.

use std::path::{Path, PathBuf};

use super::forged::{LOOKED, listed};
use super::ground::{TOOL_USER, give_below, make_folders, make_link, put, remove_below, set_mode, starter};
use super::runs::{HARMLESS, Program, Seen, seen};
use super::whole::{entries, is_named};
use crate::error::GateError;

/// A tool that fails in its own way if it is shown the user's notes in place of the base or of its objects, so that it is seen
/// even where no answer is read.
pub(super) const LOOK: [&str; 3] = [
    "sh",
    "-c",
    "if cat notes.txt; then exit 77; fi
if read -r store <.git/objects/info/alternates && cat \"$store/notes.txt\"; then exit 77; fi
echo looked >found.txt",
];

/// Folders of the cache, from the outermost, and what makes each one that somebody else could have written to. In the place
/// of `*` is the repository's own folder.
const UNSAFE: [(&str, &str, Fault); 14] = [
    ("cache-foreign-base", "", Fault::Foreign),
    ("cache-foreign-top", "agentos", Fault::Foreign),
    ("cache-foreign-copies", "agentos/copies", Fault::Foreign),
    ("cache-foreign-repository", "*", Fault::Foreign),
    ("cache-open-base", "", Fault::Mode(0o777)),
    ("cache-open-top", "agentos", Fault::Mode(0o777)),
    ("cache-open-copies", "agentos/copies", Fault::Mode(0o777)),
    ("cache-open-repository", "*", Fault::Mode(0o777)),
    ("cache-group-top", "agentos", Fault::Mode(0o770)),
    ("cache-group-repository", "*", Fault::Mode(0o770)),
    ("cache-readable-repository", "*", Fault::Mode(0o755)),
    ("cache-link-top", "agentos", Fault::Link),
    ("cache-link-copies", "agentos/copies", Fault::Link),
    ("cache-link-repository", "*", Fault::Link),
];

/// What makes a cache one that somebody else could have written to.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// It belongs to somebody else.
    Foreign,
    /// It has this mode.
    Mode(u32),
    /// It is a link.
    Link,
}

/// Where the copies of one repository lie.
pub(super) struct Kept {
    copies: PathBuf,
    folder: PathBuf,
}

impl Kept {
    /// Finds them below a cache that one run has used. `None` if the product keeps none there.
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

    /// Puts a link in the place of something in each base.
    fn link_bases(&self, name: &str, to: &Path) -> Result<(), GateError> {
        let place = |base: &PathBuf| {
            if name.is_empty() {
                base.clone()
            } else {
                base.join(name)
            }
        };
        self.bases().iter().map(place).try_for_each(|place| {
            remove_below(&place);
            make_link(to, &place)
        })
    }
}

impl<'a> Program<'a> {
    /// Runs a tool over each forged cache.
    pub(super) fn forged_caches(&self) -> Result<Vec<Seen>, GateError> {
        let mut all = Vec::new();
        for (id, place, fault) in UNSAFE {
            // Only root can give a folder to somebody else.
            if matches!(fault, Fault::Foreign) && starter()? != 0 {
                continue;
            }
            all.push(match self.with_filled_cache(id)? {
                Ok((program, kept)) => self.unsafe_cache(&program, &kept, (id, place, fault))?,
                Err(why) => seen(id, false, why),
            });
        }
        for (id, forge) in LINKS {
            all.push(match self.with_filled_cache(id)? {
                Ok((program, kept)) => self.linked_cache(&program, &kept, (id, forge))?,
                Err(why) => seen(id, false, why),
            });
        }
        Ok(all)
    }

    /// Returns the product with a cache that one run has filled; inside, why there is nothing to forge.
    fn with_filled_cache(&self, id: &str) -> Result<Result<(Program<'a>, Kept), String>, GateError> {
        let program = self.with_cache(self.ground.make_cache(id)?);
        let ended = program.tool(&[], &HARMLESS)?;
        let none = || format!("the product kept no copy: {} {}", ended.summary(), ended.stderr);
        Ok(Kept::find(&program.cache)
            .ok_or_else(none)
            .map(|kept| (program, kept)))
    }

    /// A cache that somebody else could write to, who forged the kept base.
    fn unsafe_cache(
        &self,
        program: &Program<'_>,
        kept: &Kept,
        (id, place, fault): (&str, &str, Fault),
    ) -> Result<Seen, GateError> {
        let elsewhere = self.ground.caches().join(format!("{id}-elsewhere"));
        kept.link_bases("files", &self.ground.outside().join("private"))?;
        let place = match place {
            "*" => kept.folder.clone(),
            "" => program.cache.clone(),
            below => program.cache.join(below),
        };
        match fault {
            Fault::Foreign => give_below(&place, TOOL_USER)?,
            Fault::Mode(mode) => set_mode(&place, mode)?,
            Fault::Link => {
                std::fs::rename(&place, &elsewhere).map_err(GateError::file(&place))?;
                make_link(&elsewhere, &place)?;
            }
        }
        let all = || -> Result<String, GateError> {
            let link = if elsewhere.is_dir() {
                listed(&elsewhere)?
            } else {
                String::new()
            };
            Ok(listed(&program.cache)? + &link + &self.listed_outside()?)
        };
        let before = all()?;
        let ended = program.tool(&[], &LOOK)?;
        let same = before == all()?;
        let left = program.run_folders().len();
        let held = same && ended.code == Some(0) && ended.added() == LOOKED && left == 0;
        let said = format!(
            "all as before: {same}, {left} folders of runs left, {}",
            ended.summary()
        );
        Ok(seen(id, held, said))
    }

    /// A cache that is closed to others, with a link in it: what it leads to is neither shown nor changed.
    fn linked_cache(
        &self,
        program: &Program<'_>,
        kept: &Kept,
        (id, forge): (&str, Forge),
    ) -> Result<Seen, GateError> {
        let elsewhere = self.ground.outside().join("elsewhere");
        remove_below(&elsewhere);
        make_folders(&elsewhere.join("folder"))?;
        put(&elsewhere.join("repository"), "/not/there\n")?;
        put(&elsewhere.join("file"), "canary\n")?;
        give_below(&elsewhere, self.ground.owner()?)?;
        forge(kept, &elsewhere, &self.ground.outside().join("private"))?;
        if let Some(user) = self.ground.user {
            // Where an ordinary user starts the product, all is hers, as if she had made it.
            give_below(&program.cache, user)?;
        }
        let before = self.listed_outside()?;
        let runs = [program.tool(&[], &LOOK)?, program.tool(&[], &LOOK)?];
        let same = before == self.listed_outside()?;
        remove_below(&elsewhere);
        // A run may be refused in words; a signal would be a crash.
        let held = runs.iter().all(|ended| {
            let shown = ended.stdout.contains(&self.ground.marker) || ended.stdout.contains("exit code 77");
            !shown && ended.code.is_some_and(|code| code < 100)
        });
        let summaries = runs.map(|ended| ended.summary()).join(", ");
        Ok(seen(
            id,
            held && same,
            format!("outside as before: {same}, {summaries}"),
        ))
    }
}

/// Forges something among what is kept, given a folder that must stay as it is and one that must not be shown.
type Forge = fn(&Kept, &Path, &Path) -> Result<(), GateError>;

/// Links in a cache that nobody else can write to.
const LINKS: [(&str, Forge); 10] = [
    ("cache-linked-base", |kept, elsewhere, _| {
        kept.link_bases("", elsewhere)
    }),
    ("cache-linked-files", |kept, _, private| {
        kept.link_bases("files", private)
    }),
    ("cache-linked-objects", |kept, _, private| {
        kept.link_bases("objects", private)
    }),
    ("cache-linked-rules", |kept, elsewhere, _| {
        kept.link_bases("rules", elsewhere)
    }),
    ("cache-linked-base-lock", |kept, elsewhere, _| {
        kept.bases().iter().try_for_each(|base| {
            remove_below(base);
            make_link(&elsewhere.join("made"), &base.with_extension("lock"))
        })
    }),
    ("cache-linked-salt", |kept, elsewhere, _| {
        make_link(&elsewhere.join("file"), &kept.folder.join("salt"))
    }),
    ("cache-linked-run", |kept, elsewhere, _| {
        put(&kept.folder.join("run-forged.lock"), "")?;
        make_link(elsewhere, &kept.folder.join("run-forged"))
    }),
    ("cache-linked-run-lock", |kept, elsewhere, _| {
        make_link(&elsewhere.join("made"), &kept.folder.join("run-forged.lock"))
    }),
    ("cache-linked-orphan", |kept, elsewhere, _| {
        // Looked for when a repository is new here.
        remove_below(&kept.folder);
        make_link(elsewhere, &kept.copies.join("orphan"))
    }),
    ("cache-linked-in-orphan", |kept, elsewhere, _| {
        remove_below(&kept.folder);
        let orphan = kept.copies.join("orphan");
        make_folders(&orphan)?;
        put(&orphan.join("repository"), "/not/there\n")?;
        make_link(elsewhere, &orphan.join("files"))
    }),
];
