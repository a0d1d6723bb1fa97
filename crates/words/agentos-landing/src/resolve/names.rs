//! Path that the header lines of one part mean, all together.
//!
//! Owns: prefixes, and the agreement of `diff --git`, `---`/`+++` and `rename` lines. Never: guesses between two
//! files.
//!
//! A diff can name its file up to six times: twice on the `diff --git` line, on `---` and `+++`, and on two rename
//! lines. Readers that believe one of them write another file than a person sees in the others, so all must agree.
//! An absolute path, as of a container, is the one file of the repository in which it ends, or it is refused.
//! Prefixes such as `a/` are optional in practice, so a name is looked up with and without its prefix, and must be
//! one file only.

use super::StopReason;
use crate::parse::{FileEdit, HeaderName, bare_name, git_pairs, new_repair, same_file, without_prefix};
use crate::refusal::{about_path, ambiguous, malformed};
use crate::text::{is_in, shown_name};
use crate::{Base, Dialect, EntryKind, RefusalCode, Repair, RepoPath};

/// Path that a part writes, and the source of a move or copy. The source is `None` for any other action.
type PartPaths = (RepoPath, Option<RepoPath>);

/// Part of an answer, and the base in which it is looked up.
pub(super) struct PartLookup<'n> {
    pub edit: &'n FileEdit,
    pub base: &'n dyn Base,
    /// Repairs of the names so far.
    pub repairs: Vec<Repair>,
}

impl PartLookup<'_> {
    /// Resolves the names of one part, and adds their repairs.
    pub(super) fn resolve_names(&mut self) -> Result<PartPaths, StopReason> {
        if let Some(path) = self.below_container()? {
            return Ok((path, None));
        }
        match self.with_slashes()? {
            Some(paths) => Ok(paths),
            None => self.without_changes(),
        }
    }

    /// Resolves an absolute path, as agents in containers write it (`/workspace/src/a.rs`), if exactly one end of it is a
    /// file of the repository. Returns `None` for any other name.
    fn below_container(&mut self) -> Result<Option<RepoPath>, StopReason> {
        let (HeaderName::Written(old), HeaderName::Written(new)) = (&self.edit.old, &self.edit.new) else {
            return Ok(None);
        };
        let name = std::str::from_utf8(new).unwrap_or_default();
        let Some(path) = name.strip_prefix('/') else {
            return Ok(None);
        };
        let first = path.split('/').next().unwrap_or_default();
        let is_odd = path.split('/').any(|part| matches!(part, "" | "." | ".."));
        if old != new || !has_names_only(self.edit) || is_odd || is_in(SYSTEM, first) {
            return Ok(None);
        }
        let mut found = None;
        // The whole path below the root may be one of the repository as well.
        let ends = path.match_indices('/').filter_map(|(at, _)| path.get(at + 1..));
        for end in std::iter::once(path).chain(ends) {
            if self.is_file(end)? && found.replace(end).is_some() {
                return Ok(None);
            }
        }
        let Some(found) = found else { return Ok(None) };
        let detail = "the name is an absolute path, and one end of it is in the repository";
        self.repairs.push(new_repair("container-path", detail));
        self.check_name(found.as_bytes()).map(Some)
    }

    /// Resolves names with the separators of Windows, if the file they mean exists. Returns `None` if the names have no
    /// backslashes or the file is new, where nothing shows that a backslash is a separator.
    fn with_slashes(&mut self) -> Result<Option<PartPaths>, StopReason> {
        let slashes = |name: &HeaderName| {
            let windows = |name: &&[u8]| name.contains(&b'\\') && !name.contains(&b'/');
            let parts = name.written().filter(windows)?.split(|byte| *byte == b'\\');
            Some(HeaderName::Written(parts.collect::<Vec<_>>().join(&b'/')))
        };
        let (Some(old), Some(new), true) = (
            slashes(&self.edit.old),
            slashes(&self.edit.new),
            has_names_only(self.edit),
        ) else {
            return Ok(None);
        };
        let other = FileEdit {
            old,
            new,
            ..FileEdit::new(self.edit.dialect)
        };
        let mut other = PartLookup {
            edit: &other,
            base: self.base,
            repairs: Vec::new(),
        };
        let paths = other.without_changes()?;
        if !self.is_file(paths.0.as_str())? {
            return Ok(None);
        }
        let detail = "the names have backslashes between their parts";
        self.repairs.append(&mut other.repairs);
        self.repairs.push(new_repair("backslashes", detail));
        Ok(Some(paths))
    }

    fn without_changes(&mut self) -> Result<PartPaths, StopReason> {
        if let (Some(from), Some(to)) = (&self.edit.extended.from, &self.edit.extended.to) {
            agree_on_move(self.edit, from, to)?;
            return Ok((self.check_name(to)?, Some(self.check_name(from)?)));
        }
        // One of the two lines got lost, so either name could be the file that the hunks belong to.
        if self.edit.extended.from.is_some() || self.edit.extended.to.is_some() {
            return Err(malformed("a rename names only one of its two files").into());
        }
        let (old, new) = written_names(self.edit)?;
        let path = match (&old, &new) {
            (Some(old), Some(new)) if self.edit.dialect != Dialect::UnifiedDiff && old == new => {
                self.as_written(new)?
            }
            (Some(old), Some(new)) if same_file(old, new) => self.existing_path(old, new)?,
            (Some(old), Some(new)) => match self.common_tail(old, new)? {
                Some(path) => {
                    let detail = "the names differ above the path, which is the longest end that both share";
                    self.repairs.push(new_repair("common-tail", detail));
                    path
                }
                None => return Err(names_disagree(old, new)),
            },
            (Some(one), None) | (None, Some(one)) => self.existing_path(one, one)?,
            (None, None) => return Err(malformed("a part of the diff names no file").into()),
        };
        Ok((path, None))
    }

    /// Returns the longest end of both names that is a file of the base, as in `diff -ru shop-1.0 shop-1.1`. Returns `None` if
    /// no end is a file, or if a name is itself a file: either file may be meant then.
    fn common_tail(&self, old: &[u8], new: &[u8]) -> Result<Option<RepoPath>, StopReason> {
        let parts = |name| bare_name(name).rsplit(|byte| *byte == b'/');
        let shared = parts(old).zip(parts(new)).take_while(|(a, b)| a == b).count();
        for name in [old, bare_name(old), new, bare_name(new)] {
            let name = std::str::from_utf8(name).unwrap_or_default();
            let is_shared = name.split('/').count() <= shared;
            if self.edit.extended.git_line.is_some() || (!is_shared && self.is_file(name)?) {
                return Ok(None);
            }
        }
        for count in (1..=shared).rev() {
            let mut tail: Vec<&[u8]> = parts(new).take(count).collect();
            tail.reverse();
            let tail = tail.join(&b'/');
            if std::str::from_utf8(&tail).is_ok_and(|tail| !tail.is_empty())
                && let Ok(path) = self.check_name(&tail)
                && self.is_file(path.as_str())?
            {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Resolves a name in a dialect without prefixes: as written, unless only the name without its prefix exists.
    fn as_written(&mut self, name: &[u8]) -> Result<RepoPath, StopReason> {
        let name = name.strip_prefix(b"./").unwrap_or(name);
        let whole = self.check_name(name)?;
        if !self.is_file(whole.as_str())?
            && let Some(bare) = without_prefix(name)
        {
            let bare = self.check_name(bare)?;
            if self.is_file(bare.as_str())? {
                let detail = "the name has a prefix that is not part of the path";
                self.repairs.push(new_repair("extra-prefix", detail));
                return Ok(bare);
            }
        }
        Ok(whole)
    }

    /// Resolves a name that both sides share: without the prefix, unless only the name as written exists.
    fn existing_path(&mut self, old: &[u8], new: &[u8]) -> Result<RepoPath, StopReason> {
        let Some(bare) = without_prefix(new).or_else(|| without_prefix(old)) else {
            let detail = "the names lack the prefixes `a/` and `b/`";
            self.repairs.push(new_repair("no-prefix", detail));
            return self.check_name(new);
        };
        let stripped = self.check_name(bare)?;
        if old != new || !self.is_file(stripped.as_str())? {
            // Two different prefixes are git's own form. A single one may be the name of a directory, such as `a/`.
            if old == new {
                let whole = self.check_name(new)?;
                if self.is_file(whole.as_str())? {
                    return Ok(whole);
                }
            }
            return Ok(stripped);
        }
        let whole = std::str::from_utf8(new).unwrap_or_default();
        // Both `a/x` and `x` are files, so the prefix may be a folder.
        if self.is_file(whole)? {
            let message = format!("`{whole}` and `{stripped}` both exist: the name could mean either");
            return Err(ambiguous(message).at(whole).into());
        }
        Ok(stripped)
    }

    fn is_file(&self, path: &str) -> Result<bool, StopReason> {
        let entry = self.base.entry(path)?;
        Ok(entry.is_some_and(|entry| entry.kind != EntryKind::Directory))
    }

    /// Checks that a name may be changed.
    fn check_name(&self, name: &[u8]) -> Result<RepoPath, StopReason> {
        match std::str::from_utf8(name) {
            Ok(name) => match RepoPath::new(name) {
                // The repository already has this name that other systems reserve. To edit or delete it makes nothing
                // worse.
                Err(refusal) if refusal.code == RefusalCode::ReservedName && self.is_file(name)? => {
                    Ok(RepoPath::of_base(name)?)
                }
                checked => Ok(checked?),
            },
            Err(_) => Err(about_path(RefusalCode::Encoding, shown_name(name), "is not UTF-8").into()),
        }
    }
}

/// Folders of a system. A path below them is never one of a working tree.
const SYSTEM: &str = "bin,boot,dev,etc,lib,lib64,proc,run,sbin,sys,usr,var,tmp";

/// Returns true if the names are those of `---` and `+++` alone.
fn has_names_only(edit: &FileEdit) -> bool {
    let extended = &edit.extended;
    extended.git_line.is_none() && extended.from.is_none() && extended.to.is_none()
}

fn names_disagree(a: &[u8], b: &[u8]) -> StopReason {
    let (a, b) = (shown_name(a), shown_name(b));
    malformed(format!("the header lines name two files, `{a}` and `{b}`")).into()
}

/// Old and new name. `None` for a side that is not written.
type NamePair = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Returns the old and new name as written, from `---`/`+++` or else from the `diff --git` line.
fn written_names(edit: &FileEdit) -> Result<NamePair, StopReason> {
    let written = |name: &HeaderName| name.written().map(<[u8]>::to_vec);
    let (old, new) = (written(&edit.old), written(&edit.new));
    let Some(git) = &edit.extended.git_line else {
        return Ok((old, new));
    };
    let pairs = git_pairs(git);
    // A pure mode change or an empty file has no `---` and `+++` lines, so only the git line names it.
    if old.is_none() && new.is_none() {
        let mut same = pairs.into_iter().filter(|(a, b)| same_file(a, b));
        return match (same.next(), same.next()) {
            (Some((a, b)), None) => Ok((Some(a), Some(b))),
            (Some(_) | None, _) => Err(malformed("the `diff --git` line does not name one file").into()),
        };
    }
    let fits = |name: &Option<Vec<u8>>, git: &[u8]| name.as_ref().is_none_or(|name| same_file(name, git));
    if pairs
        .iter()
        .any(|(a, b)| fits(&old, a) && fits(&new, b) && (same_file(a, b) || (old.is_some() && new.is_some())))
    {
        return Ok((old, new));
    }
    let named = edit.new.written().or(edit.old.written());
    Err(names_disagree(git, named.unwrap_or_default()))
}

/// Checks the rename lines against the other headers.
fn agree_on_move(edit: &FileEdit, from: &[u8], to: &[u8]) -> Result<(), StopReason> {
    let fits = |name: &HeaderName, wanted: &[u8]| match name {
        HeaderName::Written(name) => name == wanted || without_prefix(name) == Some(wanted),
        HeaderName::Unstated => true,
        HeaderName::Nothing => false,
    };
    let git_fits = edit.extended.git_line.as_ref().is_none_or(|git| {
        git_pairs(git).iter().any(|(a, b)| {
            fits(&HeaderName::Written(a.clone()), from) && fits(&HeaderName::Written(b.clone()), to)
        })
    });
    if git_fits && fits(&edit.old, from) && fits(&edit.new, to) {
        return Ok(());
    }
    Err(names_disagree(from, to))
}
