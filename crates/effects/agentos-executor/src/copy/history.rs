//! The git directory that a tool gets: one commit, the base, with the files that the tool may read.
//!
//! Owns: its files. Never: gives anything of the repository's object store, of its past or of its other branches.
//!
//! Where nothing is withheld the commit is the base itself, without its parents (a `shallow` file, gitprotocol-common(5)
//! and gitrepository-layout(5)). Where something is, the base commit would name a tree that names what is withheld, so the tool
//! gets a commit of its own over the tree that it sees. Trees and blobs lie in the copy's own store and are borrowed from
//! there; the commit lies in the tool's own git directory, since two commits may have one tree.

use std::fs;
use std::path::Path;

use git2::{Commit, ObjectType, Oid};

use super::pack_file::loose_object;
use super::{BaseCopy, give, put_for};
use crate::ExecError;

/// Folders of a git directory, each after the one above it. Git takes none for one without `objects` and `refs`.
const FOLDERS: &[&str] = &[
    "",
    "info",
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "refs/tags",
];

/// The commit that a tool's git begins at.
#[derive(Debug, Clone)]
pub(super) struct FirstCommit {
    id: Oid,
    content: Vec<u8>,
    has_parents: bool,
}

impl FirstCommit {
    /// Takes the base commit if its tree is the one that is shown, else makes one over the shown tree.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub(super) fn over(root: Oid, base: &Commit<'_>, store: &git2::Odb<'_>) -> Result<Self, git2::Error> {
        if base.tree_id() == root {
            return Ok(Self {
                id: base.id(),
                content: store.read(base.id())?.data().to_vec(),
                has_parents: base.parent_count() > 0,
            });
        }
        let who = format!("tool <tool@localhost> {} +0000", base.time().seconds());
        let content =
            format!("tree {root}\nauthor {who}\ncommitter {who}\n\nBase of this run\n").into_bytes();
        Ok(Self {
            id: Oid::hash_object(ObjectType::Commit, &content)?,
            content,
            has_parents: false,
        })
    }
}

impl BaseCopy {
    /// Makes a `.git` in `folder`, at the base commit. The copy's [`BaseCopy::objects`] must be readable for whoever uses it.
    ///
    /// # Errors
    /// When it cannot be made, or something has its name already.
    pub fn give_history(&self, folder: &Path) -> Result<(), ExecError> {
        let dot_git = folder.join(".git");
        for name in FOLDERS {
            let place = dot_git.join(name);
            fs::create_dir(&place).map_err(ExecError::write("make", &place))?;
            give(&place, self.owner)?;
        }
        let read = |name: &str| {
            let place = self.folder.join(name);
            fs::read(&place).map_err(ExecError::write("read", &place))
        };
        let id = self.first.id.to_string();
        let (fan, rest) = id.split_at(2);
        let loose = dot_git.join("objects").join(fan);
        fs::create_dir(&loose).map_err(ExecError::write("make", &loose))?;
        give(&loose, self.owner)?;
        let commit = loose_object(ObjectType::Commit, &self.first.content);
        let commit = commit.map_err(ExecError::write("make", &loose))?;
        let line = format!("{id}\n").into_bytes();
        let alternates = format!("{}\n", self.objects().display()).into_bytes();
        let mut files = vec![
            ("HEAD".to_owned(), b"ref: refs/heads/main\n".to_vec()),
            ("config".to_owned(), read("template/.git/config")?),
            ("index".to_owned(), read("index")?),
            ("refs/heads/main".to_owned(), line.clone()),
            ("objects/info/alternates".to_owned(), alternates),
            (format!("objects/{fan}/{rest}"), commit),
        ];
        if self.first.has_parents {
            files.push(("shallow".to_owned(), line));
        }
        for (name, content) in files {
            let place = dot_git.join(name);
            put_for(&place, &content, self.owner)?;
        }
        Ok(())
    }
}
