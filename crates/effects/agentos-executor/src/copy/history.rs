//! The git directory for a tool: one commit, the base, with the files that the tool may read.
//!
//! Owns: its files. Never: passes on anything of the repository's object store, history or other branches.
//!
//! If nothing is withheld, the commit is the base itself, without its parents (a `shallow` file, gitprotocol-common(5) and
//! gitrepository-layout(5)). Otherwise the base commit would name a tree that names the withheld files, so the tool gets
//! another commit, of the tree that it sees. Trees and blobs are in the copy's own store and are read from there by
//! `objects/info/alternates`. The commit is in the tool's own git directory, since two commits may have the same tree.

use std::fs;
use std::path::Path;

use git2::{Commit, ObjectType, Oid};

use super::pack_file::loose_object;
use super::{BaseCopy, change_owner, write_new_for};
use crate::ExecError;

/// Folders of a git directory, each after the one above it. git requires `objects` and `refs`.
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

/// First and only commit in a tool's git directory.
#[derive(Debug, Clone)]
pub(super) struct FirstCommit {
    id: Oid,
    content: Vec<u8>,
    has_parents: bool,
}

impl FirstCommit {
    /// Returns the base commit if its tree is the one that is shown. Otherwise makes a commit of the shown tree.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub(super) fn of_tree(root: Oid, base: &Commit<'_>, store: &git2::Odb<'_>) -> Result<Self, git2::Error> {
        if base.tree_id() == root {
            return Ok(Self {
                id: base.id(),
                content: store.read(base.id())?.data().to_vec(),
                has_parents: base.parent_count() > 0,
            });
        }
        // The time of the base and fixed names, so that two runs on one base get a commit with the same id.
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
    /// Creates a `.git` in `folder`, at the base commit. Its user must be able to read [`BaseCopy::objects`].
    ///
    /// # Errors
    /// When it cannot be created, or the name is taken.
    pub fn give_history(&self, folder: &Path) -> Result<(), ExecError> {
        let dot_git = folder.join(".git");
        for name in FOLDERS {
            let place = dot_git.join(name);
            fs::create_dir(&place).map_err(ExecError::write("make", &place))?;
            change_owner(&place, self.owner)?;
        }
        let read = |name: &str| {
            let place = self.folder.join(name);
            fs::read(&place).map_err(ExecError::write("read", &place))
        };
        let id = self.first.id.to_string();
        // Written by hand and not by libgit2, which creates no repository in a folder of another user.
        let (fan, rest) = id.split_at(2);
        let loose = dot_git.join("objects").join(fan);
        fs::create_dir(&loose).map_err(ExecError::write("make", &loose))?;
        change_owner(&loose, self.owner)?;
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
            write_new_for(&place, &content, self.owner)?;
        }
        Ok(())
    }
}
