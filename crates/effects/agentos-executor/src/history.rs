//! Reads commits with our trailers.
//!
//! Owns: finding them in the history. Never: judges them; the evidence does.

use std::collections::BTreeSet;

use git2::{ObjectType, Oid, Sort};

use crate::{RepoError, Repository};

/// Trailer with the hash of the commit's intent record.
pub const EVIDENCE_TRAILER: &str = "AgentOS-Evidence";
/// Trailer with the run that made the commit.
pub const RUN_TRAILER: &str = "AgentOS-Run";

/// Facts about one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Id of the commit.
    pub id: String,
    /// Id of its tree.
    pub tree: String,
    /// E-mail address of the author, and the time in seconds since 1970.
    pub author: String,
    /// Ids of the parents, in order.
    pub parents: Vec<String>,
    /// First line of the message.
    pub subject: String,
    /// Name and address of the author, with the time and its zone, as git stores them.
    pub author_line: String,
    /// Id of a blob with the whole message, to compare messages.
    pub message_id: String,
    /// Trailers, in order.
    pub trailers: Vec<(String, String)>,
}

impl CommitInfo {
    /// Returns the last value of a trailer. `None` if the commit has no such trailer. Upper and lower case count as equal.
    #[must_use]
    pub fn trailer(&self, name: &str) -> Option<&str> {
        let found = self
            .trailers
            .iter()
            .rfind(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Repository {
    /// Finds a commit by its full id, anywhere in the object store. `None` if there is none.
    #[must_use]
    pub fn commit(&self, id: &str) -> Option<CommitInfo> {
        let id = Oid::from_str(id).ok()?;
        self.git.find_commit(id).ok().map(|commit| commit_info(&commit))
    }

    /// Lists the commits with the evidence trailer that can be reached from HEAD or a branch, newest first. Looks at no more
    /// than `limit` commits.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn agentos_commits(&self, limit: usize) -> Result<Vec<CommitInfo>, RepoError> {
        let mut found = Vec::new();
        for id in self.walk_of_branches()?.take(limit) {
            let id = id.map_err(RepoError::git("read the history"))?;
            let commit = self
                .git
                .find_commit(id)
                .map_err(RepoError::git("read the history"))?;
            // Most commits have no such trailer, and searching for its name is much cheaper than parsing the trailers.
            let message = commit.message_bytes();
            let named = EVIDENCE_TRAILER.as_bytes();
            if !message
                .windows(named.len())
                .any(|window| window.eq_ignore_ascii_case(named))
            {
                continue;
            }
            let commit = commit_info(&commit);
            if commit.trailer(EVIDENCE_TRAILER).is_some() {
                found.push(commit);
            }
        }
        Ok(found)
    }

    /// Lists the commits that can be reached from HEAD or a branch, newest first, at most `limit`.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn all_commits(&self, limit: usize) -> Result<Vec<CommitInfo>, RepoError> {
        let mut found = Vec::new();
        for id in self.walk_of_branches()?.take(limit) {
            let commit = id.and_then(|id| self.git.find_commit(id));
            found.push(commit_info(&commit.map_err(RepoError::git("read the history"))?));
        }
        Ok(found)
    }

    /// Lists the ids of the commits that can be reached from the branches of a remote as they were last seen, at most
    /// `limit`. The list is empty if there are none, or they cannot be read.
    #[must_use]
    pub fn remote_commits(&self, remote: &str, limit: usize) -> BTreeSet<String> {
        let walk = self.git.revwalk().and_then(|mut walk| {
            walk.push_glob(&format!("refs/remotes/{remote}/*"))?;
            Ok(walk)
        });
        let ids = walk.into_iter().flatten().take(limit);
        ids.map_while(Result::ok).map(|id| id.to_string()).collect()
    }

    /// Starts a walk from HEAD and every branch, newest first.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub(crate) fn walk_of_branches(&self) -> Result<git2::Revwalk<'_>, RepoError> {
        let mut walk = self.git.revwalk().map_err(RepoError::git("read the history"))?;
        walk.set_sorting(Sort::TIME)
            .map_err(RepoError::git("read the history"))?;
        walk.push_glob("refs/heads/*")
            .map_err(RepoError::git("read the history"))?;
        // HEAD of a new repository leads to no commit. A detached HEAD leads to one that no branch may have.
        if self.git.head().is_ok() {
            walk.push_head().map_err(RepoError::git("read the history"))?;
        }
        Ok(walk)
    }

    /// Lists the commits of a range as git understands it (`A..B`), or the single commit of a revision; newest first, at most
    /// `limit`.
    ///
    /// # Errors
    /// When the range is not valid, or the history cannot be read.
    pub fn commits_in(&self, range: &str, limit: usize) -> Result<Vec<CommitInfo>, RepoError> {
        let unknown = |_| RepoError::UnknownRevision(range.to_owned());
        if !range.contains("..") {
            let commit = self
                .git
                .revparse_single(range)
                .and_then(|found| found.peel_to_commit());
            return Ok(vec![commit_info(&commit.map_err(unknown)?)]);
        }
        let mut walk = self.git.revwalk().map_err(RepoError::git("read the history"))?;
        walk.push_range(range).map_err(unknown)?;
        let mut found = Vec::new();
        for id in walk.take(limit) {
            let commit = id.and_then(|id| self.git.find_commit(id));
            found.push(commit_info(&commit.map_err(RepoError::git("read the history"))?));
        }
        Ok(found)
    }
}

fn commit_info(commit: &git2::Commit<'_>) -> CommitInfo {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let trailers = git2::message_trailers_strs(&message).map_or_else(
        |_| Vec::new(),
        |found| {
            found
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect()
        },
    );
    CommitInfo {
        id: commit.id().to_string(),
        tree: commit.tree_id().to_string(),
        author: author_of(commit),
        parents: commit.parent_ids().map(|id| id.to_string()).collect(),
        subject: message.lines().next().unwrap_or_default().to_owned(),
        author_line: String::from_utf8_lossy(
            commit.header_field_bytes("author").as_deref().unwrap_or_default(),
        )
        .into_owned(),
        message_id: Oid::hash_object(ObjectType::Blob, commit.message_bytes())
            .map_or_else(|_| String::new(), |id| id.to_string()),
        trailers,
    }
}

fn author_of(commit: &git2::Commit<'_>) -> String {
    let author = commit.author();
    let address = String::from_utf8_lossy(author.email_bytes()).into_owned();
    format!("{address} {}", author.when().seconds())
}
