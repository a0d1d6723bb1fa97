//! Refs outside the branches that hold plain files, and folders to unpack them into.
//!
//! Owns: writing such a ref, listing its files within limits, and temporary folders in the git directory. Never: touches a
//! branch, a tag or HEAD, or knows what the files mean.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, ObjectType, Oid, Signature, Time, Tree};

use crate::{ExecError, RepoError, Repository};

/// Begin of the names of all refs that this module writes.
const PREFIX: &str = "refs/agentos/";
/// Mode of a regular file.
const REGULAR: i32 = 0o100_644;
/// Mode of a folder.
const FOLDER: i32 = 0o040_000;
/// Most temporary folders at the same time.
const MOST_SCRATCH: usize = 100;

/// File of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefFile {
    /// Name, or the names of a folder and a file with `/` between them.
    pub name: String,
    /// Id of the blob.
    pub oid: String,
    /// Length in bytes.
    pub size: u64,
}

/// Name and content of a file to be written.
pub type NewFile = (String, Vec<u8>);

/// Temporary folder in the git directory, removed when dropped.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    /// Locked while the folder is in use, so that the next process can tell what a killed one left.
    _lock: File,
}

impl ScratchFolder {
    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process that needs such a folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Repository {
    /// Creates a temporary folder, and removes those that killed processes left.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create_scratch(&self) -> Result<ScratchFolder, ExecError> {
        let above = self.state_dir().join("scratch");
        fs::create_dir_all(&above).map_err(ExecError::write("make", &above))?;
        for number in 0..MOST_SCRATCH {
            let path = above.join(number.to_string());
            let lock = above.join(format!("{number}.lock"));
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&lock);
            let file = file.map_err(ExecError::write("make", &lock))?;
            if file.try_lock().is_err() {
                continue;
            }
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => continue,
                Ok(()) | Err(_) => {}
            }
            fs::create_dir_all(&path).map_err(ExecError::write("make", &path))?;
            return Ok(ScratchFolder { path, _lock: file });
        }
        let full = io::Error::new(io::ErrorKind::AlreadyExists, "too many are in use");
        Err(ExecError::write("make a folder in", &above)(full))
    }

    /// Lists the names of the refs that begin with a text, sorted, at most `most`.
    ///
    /// # Errors
    /// When the refs cannot be read.
    pub fn list_refs(&self, prefix: &str, most: usize) -> Result<Vec<String>, RepoError> {
        let failed = RepoError::git("list the refs");
        let found = self.git.references_glob(&format!("{prefix}*")).map_err(failed)?;
        // A name that is no UTF-8 is none that this program wrote.
        let mut names: Vec<String> = found
            .take(most)
            .filter_map(|found| Some(found.ok()?.name().ok()?.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Returns the commit that a ref leads to. `None` if there is none.
    #[must_use]
    pub fn ref_commit(&self, refname: &str) -> Option<String> {
        let commit = self.git.find_reference(refname).ok()?.peel_to_commit().ok()?;
        Some(commit.id().to_string())
    }

    /// Lists the files of a ref. `None` if it does not lead to a commit with only regular files, in at most one level of
    /// folders, or has more than `most` of them.
    #[must_use]
    pub fn ref_files(&self, refname: &str, most: usize) -> Option<Vec<RefFile>> {
        let tree = self
            .git
            .find_reference(refname)
            .ok()?
            .peel_to_commit()
            .ok()?
            .tree()
            .ok()?;
        let mut files = Vec::new();
        for entry in &tree {
            let name = entry.name().ok()?;
            if entry.filemode() != FOLDER {
                files.push(self.ref_file(name.to_owned(), entry.id(), entry.filemode())?);
            } else {
                for below in &self.git.find_tree(entry.id()).ok()? {
                    let name = format!("{name}/{}", below.name().ok()?);
                    files.push(self.ref_file(name, below.id(), below.filemode())?);
                    if files.len() > most {
                        return None;
                    }
                }
            }
            if files.len() > most {
                return None;
            }
        }
        Some(files)
    }

    fn ref_file(&self, name: String, oid: Oid, mode: i32) -> Option<RefFile> {
        let (size, kind) = self.git.odb().and_then(|odb| odb.read_header(oid)).ok()?;
        (mode == REGULAR && kind == ObjectType::Blob).then(|| RefFile {
            name,
            oid: oid.to_string(),
            size: u64::try_from(size).unwrap_or(u64::MAX),
        })
    }

    /// Writes files as a commit to a ref below `refs/agentos/`, on top of the commit that the ref has. Names contain at most
    /// one `/`. Returns the id of the commit.
    ///
    /// # Errors
    /// When a file cannot be read, the objects cannot be written, or somebody else moved the ref meanwhile.
    pub fn write_file_ref(
        &self,
        refname: &str,
        files: &mut dyn Iterator<Item = io::Result<NewFile>>,
        message: &str,
        time_unix: i64,
    ) -> Result<String, ExecError> {
        let failed = || ExecError::git("write the ref");
        if !refname.starts_with(PREFIX) {
            return Err(failed()(git2::Error::from_str("it is not a ref of AgentOS")));
        }
        let mut folders: BTreeMap<String, Vec<(String, Oid)>> = BTreeMap::new();
        for file in files {
            let (name, bytes) = file.map_err(ExecError::write("read", Path::new(refname)))?;
            let oid = self.git.blob(&bytes).map_err(failed())?;
            let (folder, name) = name.split_once('/').unwrap_or(("", &name));
            folders
                .entry(folder.to_owned())
                .or_default()
                .push((name.to_owned(), oid));
        }
        let tree = self.write_folders(folders).map_err(failed())?;
        let current = self
            .git
            .find_reference(refname)
            .ok()
            .and_then(|found| found.target());
        let parent = current.and_then(|id| self.git.find_commit(id).ok());
        let who =
            Signature::new("AgentOS", "agentos@localhost", &Time::new(time_unix, 0)).map_err(failed())?;
        let parents: Vec<_> = parent.iter().collect();
        let commit = self
            .git
            .commit(None, &who, &who, message, &tree, &parents)
            .map_err(failed())?;
        match current {
            Some(current) => self
                .git
                .reference_matching(refname, commit, true, current, message),
            None => self.git.reference(refname, commit, false, message),
        }
        .map_err(|error| match error.code() {
            ErrorCode::Locked | ErrorCode::Modified | ErrorCode::Exists => {
                ExecError::RefLocked(refname.to_owned())
            }
            _ => failed()(error),
        })?;
        Ok(commit.to_string())
    }

    fn write_folders(&self, folders: BTreeMap<String, Vec<(String, Oid)>>) -> Result<Tree<'_>, git2::Error> {
        let mut top = self.git.treebuilder(None)?;
        for (folder, files) in folders {
            if folder.is_empty() {
                for (name, oid) in files {
                    top.insert(name, oid, REGULAR)?;
                }
                continue;
            }
            let mut below = self.git.treebuilder(None)?;
            for (name, oid) in files {
                below.insert(name, oid, REGULAR)?;
            }
            top.insert(folder, below.write()?, FOLDER)?;
        }
        self.git.find_tree(top.write()?)
    }
}
