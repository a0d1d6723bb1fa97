//! The files of a base, and which of them a copy shows.
//!
//! Owns: reading them from a tree, and the file in which a copy keeps them. Never: trusts that file to be whole: a
//! listing that cannot be read is none.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use agentos_diff::RepoPath;
use git2::{ObjectType, Oid, Tree};

use super::{Shown, put};
use crate::ExecError;

/// In a copy, beside its files.
const FILE: &str = "listing";

/// What git knows of a file, and whether it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) id: Oid,
    pub(super) mode: i32,
    pub(super) shown: bool,
}

/// Every file of a base, by its path.
#[derive(Debug, Default)]
pub(super) struct Listing(Vec<(String, Listed)>);

impl Listing {
    /// Lists a tree. What `known` says of a file that is the same there is not asked again.
    ///
    /// # Errors
    /// When the tree cannot be read, or holds a name that must not be written, as no proper git makes.
    pub(super) fn of(
        git: &git2::Repository,
        tree: &Tree<'_>,
        shown: &Shown<'_>,
        known: &HashMap<&str, Listed>,
    ) -> Result<Self, ExecError> {
        let mut all = Vec::new();
        walk(git, tree, "", &mut all)?;
        let decide = |(path, mut listed): (String, Listed)| {
            let before = known.get(path.as_str());
            let same = before.filter(|before| (before.id, before.mode) == (listed.id, listed.mode));
            let content = || git.find_blob(listed.id).map(|blob| blob.content().to_vec());
            listed.shown = match same {
                Some(same) => same.shown,
                None => (shown.may)(&path, &|| content().unwrap_or_default()),
            };
            (path, listed)
        };
        Ok(Self(all.into_iter().map(decide).collect()))
    }

    /// The files that are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&str, Listed)> {
        let all = self.0.iter().filter(|(_, listed)| listed.shown);
        all.map(|(path, listed)| (path.as_str(), *listed))
    }

    /// The files that are not.
    pub(super) fn withheld(&self) -> impl Iterator<Item = &str> {
        let all = self.0.iter().filter(|(_, listed)| !listed.shown);
        all.map(|(path, _)| path.as_str())
    }

    /// All of them, by path.
    pub(super) fn by_path(&self) -> HashMap<&str, Listed> {
        let all = self.0.iter();
        all.map(|(path, listed)| (path.as_str(), *listed)).collect()
    }

    /// Keeps the listing in a copy, under the key of its answers.
    pub(super) fn write(&self, copy: &Path, key: &str) -> Result<(), ExecError> {
        let mut text = format!("{key}\n");
        for (path, listed) in &self.0 {
            let shown = u8::from(listed.shown);
            text.push_str(&format!("{:o} {} {shown} {path}\n", listed.mode, listed.id));
        }
        put(&copy.join(FILE), text.as_bytes())
    }

    /// The listing of a copy and the key of its answers; none where it cannot be read.
    pub(super) fn read(copy: &Path) -> Option<(String, Self)> {
        let text = fs::read_to_string(copy.join(FILE)).ok()?;
        // A line that was cut off has no end.
        let (key, rest) = text
            .strip_suffix('\n')?
            .split_once('\n')
            .unwrap_or((text.trim_end(), ""));
        let entries = rest.split('\n').filter(|line| !line.is_empty()).map(|line| {
            let mut parts = line.splitn(4, ' ');
            let mode = i32::from_str_radix(parts.next()?, 8).ok()?;
            let id = Oid::from_str(parts.next()?).ok()?;
            let shown = parts.next()? == "1";
            Some((parts.next()?.to_owned(), Listed { id, mode, shown }))
        });
        Some((key.to_owned(), Self(entries.collect::<Option<_>>()?)))
    }
}

fn walk(
    git: &git2::Repository,
    tree: &Tree<'_>,
    above: &str,
    all: &mut Vec<(String, Listed)>,
) -> Result<(), ExecError> {
    for entry in tree {
        let name = String::from_utf8_lossy(entry.name_bytes());
        let path = format!("{above}{name}");
        if entry.kind() == Some(ObjectType::Tree) {
            let below = git
                .find_tree(entry.id())
                .map_err(ExecError::git("read a folder of the base"))?;
            walk(git, &below, &format!("{path}/"), all)?;
            continue;
        }
        if let Err(refusal) = RepoPath::new(&path) {
            let bad = io::Error::new(io::ErrorKind::InvalidFilename, refusal.message);
            return Err(ExecError::write("copy", Path::new(&path))(bad));
        }
        let listed = Listed {
            id: entry.id(),
            mode: entry.filemode(),
            shown: false,
        };
        all.push((path, listed));
    }
    Ok(())
}
