//! Checks of a change against the base: no path goes through a link or a submodule, and no new name collides.
//!
//! Owns: refusals that come from what is around a path. Never: judges the name itself; `path` does.

use std::collections::{HashMap, HashSet};

use crate::file_change::PathStates;
use crate::path::{ShortName, fold_name, join_name, name_skeleton, parent_dirs, split_name};
use crate::refusal::about_path;
use crate::resolve::{StopReason, obstacle};
use crate::{Base, BaseError, DirEntry, EntryKind, Refusal, RefusalCode, RepoPath};

/// Checks the change's states against the base.
///
/// # Errors
/// Fails with the first conflict, or if the base cannot be read.
pub(crate) fn check_paths(states: &PathStates, base: &dyn Base) -> Result<(), StopReason> {
    let deleted = states.iter().filter(|(_, _, new)| new.is_none());
    let mut checker = PathChecker {
        base,
        deleted: deleted.map(|(path, _, _)| path.as_str()).collect(),
        names: HashMap::new(),
        created: HashMap::new(),
        created_paths: list_created_paths(states),
    };
    for (path, old, new) in states {
        checker.check_parents(path)?;
        if old.is_none() && new.is_some() {
            checker.check_replaced_directory(path)?;
            checker.check_collision(path)?;
        }
    }
    Ok(())
}

/// Lists every path that the change creates, with the folders above it. Empty if no path can be a Windows short name.
fn list_created_paths(states: &PathStates) -> HashSet<&str> {
    let made = states
        .iter()
        .filter(|(_, old, new)| old.is_none() && new.is_some());
    let made = made.map(|(path, _, _)| path.as_str());
    // Only a name with `~` can be a short name. Most changes have none and skip the comparison of all pairs.
    if !made.clone().any(|path| path.contains('~')) {
        return HashSet::new();
    }
    made.flat_map(|path| parent_dirs(path).chain([path])).collect()
}

struct PathChecker<'a> {
    base: &'a dyn Base,
    /// Paths that the change deletes.
    deleted: HashSet<&'a str>,
    /// Names in the directories of the base, by skeleton. Filled when a directory is first needed.
    names: HashMap<String, HashMap<String, Vec<String>>>,
    /// Paths that the change creates, directories included, by skeleton.
    created: HashMap<String, String>,
    /// The created paths as written, complete before the first check. Empty if no path contains a `~`.
    created_paths: HashSet<&'a str>,
}

impl PathChecker<'_> {
    /// Refuses a path below anything but a directory.
    fn check_parents(&self, path: &RepoPath) -> Result<(), StopReason> {
        for above in parent_dirs(path.as_str()) {
            let Some(entry) = self.base.entry(above)? else {
                break;
            };
            let (code, what) = match (&entry.kind, obstacle(&entry.kind)) {
                (EntryKind::Directory, _) => continue,
                // The change deletes this file, so a directory can take its name.
                (EntryKind::File(_), _) if self.deleted.contains(above) => break,
                (_, Some((code, what))) => (code, what),
                (_, None) => (RefusalCode::DoesNotApply, "is a file, not a directory"),
            };
            let what = format!("cannot be written: `{above}` {what}");
            return Err(about_path(code, path, &what).into());
        }
        Ok(())
    }

    /// Refuses a new file that has the name of a directory, unless the change deletes every file in that directory.
    fn check_replaced_directory(&self, path: &RepoPath) -> Result<(), StopReason> {
        let mut open = match self.base.entry(path.as_str())? {
            Some(entry) if entry.kind == EntryKind::Directory => vec![path.as_str().to_owned()],
            Some(_) | None => return Ok(()),
        };
        while let Some(dir) = open.pop() {
            for DirEntry { name, entry } in self.base.list(&dir)? {
                let full = format!("{dir}/{}", String::from_utf8_lossy(&name));
                if entry.kind == EntryKind::Directory {
                    open.push(full);
                } else if !self.deleted.contains(full.as_str()) {
                    let what = format!("is stated as new, but is a directory that contains `{full}`");
                    return Err(about_path(RefusalCode::DoesNotApply, path, &what).into());
                }
            }
        }
        Ok(())
    }

    /// Refuses a new name that differs from its neighbours only by case, normal form or look-alike letters.
    fn check_collision(&mut self, path: &RepoPath) -> Result<(), StopReason> {
        let full = path.as_str();
        for part in parent_dirs(full).chain([full]) {
            let clash = self.clash_among_created(part);
            if let Some(other) = clash.or_else(|| self.long_name_among_created(part)) {
                return Err(collision_refusal(path, &other).into());
            }
            // A name that the base already has is no new name: two tracked files that differ only by case stay
            // editable.
            if self.base.entry(part)?.is_some() {
                continue;
            }
            let (dir, name) = split_name(part);
            if let Some(other) = self.clash_in_base(dir, name)? {
                return Err(collision_refusal(path, &other).into());
            }
        }
        Ok(())
    }

    fn clash_among_created(&mut self, part: &str) -> Option<String> {
        let made = self.created.entry(name_skeleton(part));
        let made = made.or_insert_with(|| part.to_owned());
        (made != part).then(|| made.clone())
    }

    /// Returns the created path whose Windows short name `part` may be. Returns `None` if there is none.
    fn long_name_among_created(&self, part: &str) -> Option<String> {
        let (dir, name) = split_name(part);
        let folded = fold_name(name);
        let short = ShortName::parse(&folded)?;
        let long = self.created_paths.iter().find(|made| {
            let (made_in, made) = split_name(made);
            made_in == dir && short.may_stand_for(made)
        });
        long.map(|long| (*long).to_owned())
    }

    fn clash_in_base(&mut self, dir: &str, name: &str) -> Result<Option<String>, BaseError> {
        if !self.names.contains_key(dir) {
            let mut by_skeleton: HashMap<String, Vec<String>> = HashMap::new();
            for entry in self.base.list(dir)? {
                // A name that is not UTF-8 cannot equal a new one, which always is; the lossy form only serves the
                // comparison.
                let name = String::from_utf8_lossy(&entry.name).into_owned();
                by_skeleton.entry(name_skeleton(&name)).or_default().push(name);
            }
            self.names.insert(dir.to_owned(), by_skeleton);
        }
        let folded = fold_name(name);
        let short = ShortName::parse(&folded);
        let names = self.names.get(dir);
        let same = names.and_then(|names| names.get(&name_skeleton(name)));
        // On Windows a short name opens the file with the long name if that file was checked out first.
        let longer = short.iter().flat_map(|short| {
            let all = names.into_iter().flat_map(HashMap::values).flatten();
            all.filter(|long| short.may_stand_for(long))
        });
        for other in same.into_iter().flatten().chain(longer) {
            let full = join_name(dir, other);
            if other != name && !self.deleted.contains(full.as_str()) {
                return Ok(Some(full));
            }
        }
        Ok(None)
    }
}

fn collision_refusal(path: &RepoPath, other: &str) -> Refusal {
    let last = |path: &str| fold_name(split_name(path).1);
    let is_short = path.as_str().split('/').any(|part| {
        ShortName::parse(&fold_name(part)).is_some_and(|short| short.may_stand_for(&last(other)))
    });
    let message = if is_short {
        format!("a part of `{path}` may be the short name that Windows gives to `{other}`")
    } else {
        format!("`{path}` and `{other}` differ only by case, form or look-alike letters")
    };
    Refusal::new(RefusalCode::CaseCollision, message).at(path.as_str())
}
