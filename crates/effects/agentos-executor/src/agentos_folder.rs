//! The repository's own policy rules, read from its base commit.
//!
//! Owns: finding `.agentos` in a commit's tree, and refusing anything but an ordinary folder of that name. Never: reads the
//! working tree: a change that edits the policy is judged by the policy before it.
//!
//! Git resolves no path through a symbolic link or a submodule. So rules behind one would silently be missing, and missing
//! rules deny nothing. The same is true for a name in other letters: a file system that ignores case shows `.AgentOS` as
//! `.agentos`, and git's tree does not. Both are errors, and an error means that nothing is allowed.

use agentos_landing::fold_name;
use agentos_policy::PolicyEntry;
use git2::{ObjectType, Tree, TreeEntry};

use crate::{RepoError, Repository, Target};

/// Maximum bytes of a policy file.
const MAX_POLICY_FILE: usize = 1 << 20;
/// Name of the folder for all of AgentOS's files in a repository.
const OWN_FOLDER: &str = ".agentos";

impl Repository {
    /// Reads the repository's rule files from the target's base commit, sorted by path.
    ///
    /// # Errors
    /// When one of them is not readable text, a file in the folder or next to it would not be read as rules, or `.agentos`, its `policy` or its `profiles` is no ordinary folder of exactly
    /// that name. Then nothing may be allowed.
    pub fn policy_files(&self, target: &Target) -> Result<Vec<(String, String)>, RepoError> {
        if target.is_unborn() {
            return Ok(Vec::new());
        }
        let commit = git2::Oid::from_str(&target.base_commit).and_then(|id| self.git.find_commit(id));
        let root = commit.and_then(|commit| commit.tree());
        let root = root.map_err(RepoError::git("read the policy folder"))?;
        let Some(own) = self.plain_folder(&root, "", OWN_FOLDER)? else {
            return Ok(Vec::new());
        };
        let own_path = format!("{OWN_FOLDER}/");
        self.plain_folder(&own, &own_path, "profiles")?;
        for entry in &own {
            let name = String::from_utf8_lossy(entry.name_bytes());
            if let PolicyEntry::Unread(why) = PolicyEntry::next_to_folder(&name) {
                return Err(unreadable_policy(format!("{own_path}{name}"), why));
            }
        }
        match self.plain_folder(&own, &own_path, "policy")? {
            Some(policy) => self.rule_files(&policy, &format!("{own_path}policy/")),
            None => Ok(Vec::new()),
        }
    }

    /// Finds a folder in another by its name. `above` is the path of the other, with a slash at its end. `None` if nothing
    /// has this name in any spelling.
    ///
    /// # Errors
    /// When something else has the name, or the folder is spelled in other letters.
    fn plain_folder(
        &self,
        within: &Tree<'_>,
        above: &str,
        wanted: &str,
    ) -> Result<Option<Tree<'_>>, RepoError> {
        let mut found = None;
        for entry in within {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            // Compared as a file system without case compares them, to find `.AgentOS` too.
            if fold_name(&name) != wanted {
                continue;
            }
            if let Some(why) = find_objection(&entry, name == wanted) {
                return Err(unreadable_policy(format!("{above}{name}"), why));
            }
            found = Some(entry.id());
        }
        let folder = found.map(|id| self.git.find_tree(id)).transpose();
        folder.map_err(RepoError::git("read the policy folder"))
    }

    fn rule_files(&self, folder: &Tree<'_>, above: &str) -> Result<Vec<(String, String)>, RepoError> {
        let mut files = Vec::new();
        for entry in folder {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let path = format!("{above}{name}");
            let is_folder = entry.kind() == Some(ObjectType::Tree);
            match PolicyEntry::in_folder(&name, is_folder) {
                PolicyEntry::Rules => {}
                PolicyEntry::Other => continue,
                PolicyEntry::Unread(why) => return Err(unreadable_policy(path, why)),
            }
            // Another kind of entry with such a name was meant as rules; ignoring it would leave them out.
            if !matches!(entry.filemode(), 0o100_644 | 0o100_755) {
                return Err(unreadable_policy(path, "is not a regular file"));
            }
            let blob = self
                .git
                .find_blob(entry.id())
                .map_err(RepoError::git("read a policy file"))?;
            if blob.size() > MAX_POLICY_FILE {
                return Err(unreadable_policy(path, "is too large"));
            }
            match String::from_utf8(blob.content().to_vec()) {
                Ok(text) => files.push((path, text)),
                Err(_) => return Err(unreadable_policy(path, "is not UTF-8 text")),
            }
        }
        Ok(files)
    }
}

/// Returns the reason why an entry cannot be one of our folders. `None` if it is a folder of exactly that name.
fn find_objection(entry: &TreeEntry<'_>, is_exact: bool) -> Option<&'static str> {
    match (entry.filemode(), entry.kind()) {
        (0o120_000, _) => Some("is a symbolic link, not a folder: the rules behind it would not be read"),
        (0o160_000, _) => Some("is a submodule, not a folder: the rules in it would not be read"),
        (_, Some(ObjectType::Tree)) if is_exact => None,
        (_, Some(ObjectType::Tree)) => {
            Some("is spelled in other letters: rename it, or the rules in it would not be read")
        }
        _ => Some("is not a folder"),
    }
}

fn unreadable_policy(path: String, why: &'static str) -> RepoError {
    RepoError::UnreadablePolicy { path, why }
}
