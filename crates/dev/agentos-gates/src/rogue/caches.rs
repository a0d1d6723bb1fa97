//! Caches that somebody else could write to, and links in one that nobody else could (finding 11).
//!
//! Owns: forging them, and what must come of it: a cache that is not closed to others is not used and stays as it is, and no
//! link below one is followed. Never: touches the cache of the other runs.

use std::path::{Path, PathBuf};

use super::answers::Seen;
use super::forged::listed;
use super::ground::{TOOL_USER, give_below, make_link, put, remove_below, set_mode, starter};
use super::runs::{HARMLESS, Program};
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

/// A folder of the cache, from the outermost.
#[derive(Debug, Clone, Copy)]
enum Level {
    /// The user's cache folder.
    Base,
    /// `agentos` in it.
    Top,
    /// `copies` in that.
    Copies,
    /// The repository's own in that.
    Repository,
}

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

/// Caches that must not be used.
const UNSAFE: [(&str, Level, Fault); 14] = [
    ("cache-foreign-base", Level::Base, Fault::Foreign),
    ("cache-foreign-top", Level::Top, Fault::Foreign),
    ("cache-foreign-copies", Level::Copies, Fault::Foreign),
    ("cache-foreign-repository", Level::Repository, Fault::Foreign),
    ("cache-open-base", Level::Base, Fault::Mode(0o777)),
    ("cache-open-top", Level::Top, Fault::Mode(0o777)),
    ("cache-open-copies", Level::Copies, Fault::Mode(0o777)),
    ("cache-open-repository", Level::Repository, Fault::Mode(0o777)),
    ("cache-group-top", Level::Top, Fault::Mode(0o770)),
    ("cache-group-repository", Level::Repository, Fault::Mode(0o770)),
    ("cache-readable-repository", Level::Repository, Fault::Mode(0o755)),
    ("cache-link-top", Level::Top, Fault::Link),
    ("cache-link-copies", Level::Copies, Fault::Link),
    ("cache-link-repository", Level::Repository, Fault::Link),
];

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
        let all = entries(&self.folder).into_iter();
        all.filter(|place| is_named(place, "base-") && place.is_dir())
            .collect()
    }
}

impl<'a> Program<'a> {
    /// Returns the product with another cache.
    pub(super) fn with_cache(&self, cache: PathBuf) -> Program<'a> {
        Program {
            agentos: self.agentos,
            python: self.python,
            ground: self.ground,
            cache,
        }
    }

    /// Runs a tool over each forged cache.
    pub(super) fn forged_caches(&self) -> Result<Vec<Seen>, GateError> {
        let mut seen = Vec::new();
        for (id, level, fault) in UNSAFE {
            // Only root can give a folder to somebody else.
            if matches!(fault, Fault::Foreign) && starter()? != 0 {
                continue;
            }
            seen.push(match self.with_filled_cache(id)? {
                Ok((program, kept)) => self.unsafe_cache(&program, kept, (id, level, fault))?,
                Err(why) => (id, false, why),
            });
        }
        for (id, forge) in LINKS {
            seen.push(match self.with_filled_cache(id)? {
                Ok((program, kept)) => self.linked_cache(&program, &kept, (id, forge))?,
                Err(why) => (id, false, why),
            });
        }
        Ok(seen)
    }

    /// Returns the product with a cache that one run has filled; inside, why there is nothing to forge.
    fn with_filled_cache(&self, id: &str) -> Result<Result<(Program<'a>, Kept), String>, GateError> {
        let program = self.with_cache(self.ground.make_cache(id)?);
        let ended = program.tool(&[], &HARMLESS)?;
        Ok(match Kept::find(&program.cache) {
            Some(kept) => Ok((program, kept)),
            None => Err(format!(
                "the product kept no copy: {} {}",
                ended.summary(),
                ended.stderr
            )),
        })
    }

    /// A cache that somebody else could write to, who forged the kept base.
    fn unsafe_cache(
        &self,
        program: &Program<'_>,
        kept: Kept,
        (id, level, fault): (&'static str, Level, Fault),
    ) -> Result<Seen, GateError> {
        let elsewhere = self.ground.caches().join(format!("{id}-elsewhere"));
        for base in kept.bases() {
            remove_below(&base.join("files"));
            make_link(&self.ground.outside().join("private"), &base.join("files"))?;
        }
        let place = match level {
            Level::Base => program.cache.clone(),
            Level::Top => program.cache.join("agentos"),
            Level::Copies => kept.copies,
            Level::Repository => kept.folder,
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
        let held = same && ended.code == Some(0) && ended.added() == ["looked"] && left == 0;
        let said = format!(
            "all as before: {same}, {left} folders of runs left, {}",
            ended.summary()
        );
        Ok((id, held, said))
    }

    /// A cache that is closed to others, with a link in it: what it leads to is neither shown nor changed.
    fn linked_cache(
        &self,
        program: &Program<'_>,
        kept: &Kept,
        (id, forge): (&'static str, Forge),
    ) -> Result<Seen, GateError> {
        let elsewhere = self.ground.outside().join("elsewhere");
        remove_below(&elsewhere);
        std::fs::create_dir_all(elsewhere.join("folder")).map_err(GateError::file(&elsewhere))?;
        put(&elsewhere.join("repository"), "/not/there\n")?;
        put(&elsewhere.join("file"), "canary\n")?;
        give_below(&elsewhere, self.ground.owner()?)?;
        forge(kept, &elsewhere, &self.ground.outside().join("private"))?;
        if let Some(user) = self.ground.user {
            // Where an ordinary user starts the product, all is hers, as if she had made it.
            give_below(&program.cache, user)?;
        }
        let before = self.listed_outside()?;
        let ended = program.tool(&[], &LOOK)?;
        let again = program.tool(&[], &LOOK)?;
        let same = before == self.listed_outside()?;
        remove_below(&elsewhere);
        // A run may be refused in words; a signal would be a crash.
        let held = [&ended, &again].iter().all(|ended| {
            let shown = ended.stdout.contains(&self.ground.marker) || ended.stdout.contains("exit code 77");
            !shown && ended.code.is_some_and(|code| code < 100)
        });
        let said = format!(
            "outside as before: {same}, {}, {}",
            ended.summary(),
            again.summary()
        );
        Ok((id, held && same, said))
    }
}

/// Forges something among what is kept, given a folder that must stay as it is and one that must not be shown.
type Forge = fn(&Kept, &Path, &Path) -> Result<(), GateError>;

/// Links in a cache that nobody else can write to.
const LINKS: [(&str, Forge); 10] = [
    ("cache-linked-base", |kept, elsewhere, _| {
        for base in kept.bases() {
            remove_below(&base);
            make_link(elsewhere, &base)?;
        }
        Ok(())
    }),
    ("cache-linked-files", |kept, _, private| {
        for base in kept.bases() {
            remove_below(&base.join("files"));
            make_link(private, &base.join("files"))?;
        }
        Ok(())
    }),
    ("cache-linked-objects", |kept, _, private| {
        for base in kept.bases() {
            remove_below(&base.join("objects"));
            make_link(private, &base.join("objects"))?;
        }
        Ok(())
    }),
    ("cache-linked-rules", |kept, elsewhere, _| {
        for base in kept.bases() {
            remove_below(&base.join("rules"));
            make_link(elsewhere, &base.join("rules"))?;
        }
        Ok(())
    }),
    ("cache-linked-base-lock", |kept, elsewhere, _| {
        for base in kept.bases() {
            let lock = base.with_extension("lock");
            remove_below(&base);
            make_link(&elsewhere.join("made"), &lock)?;
        }
        Ok(())
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
        std::fs::create_dir_all(&orphan).map_err(GateError::file(&orphan))?;
        put(&orphan.join("repository"), "/not/there\n")?;
        make_link(elsewhere, &orphan.join("files"))
    }),
];
