//! A small repository with a first commit, for demonstrations.
//!
//! Owns: creating it. Never: writes into a folder that is a repository already or contains one of the files.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use git2::{RepositoryInitOptions, Signature, Time};

use crate::{ExecError, Identity, Repository};

impl Repository {
    /// Creates a repository on the branch `main` with these files in its first commit. The identity is written to the
    /// repository's own configuration.
    ///
    /// # Errors
    /// When the folder is a repository already, or it cannot be written.
    pub fn create(
        dir: &Path,
        files: &[(&str, &[u8])],
        identity: &Identity,
        message: &str,
        time_unix: i64,
    ) -> Result<Self, ExecError> {
        let failed = || ExecError::git("make the repository");
        let mut options = RepositoryInitOptions::new();
        options
            .no_reinit(true)
            .external_template(false)
            .initial_head("main")
            .mkpath(true);
        let git = git2::Repository::init_opts(dir, &options).map_err(failed())?;
        let mut config = git.config().map_err(failed())?;
        config.set_str("user.name", &identity.name).map_err(failed())?;
        config.set_str("user.email", &identity.email).map_err(failed())?;
        // The user's own configuration may sign commits, and a demonstration must not ask for a passphrase.
        config.set_bool("commit.gpgsign", false).map_err(failed())?;
        let mut index = git.index().map_err(failed())?;
        for (path, bytes) in files {
            let place = dir.join(path);
            let above = place.parent().unwrap_or(dir);
            fs::create_dir_all(above).map_err(ExecError::write("make", above))?;
            let file = OpenOptions::new().write(true).create_new(true).open(&place);
            file.and_then(|mut file| file.write_all(bytes))
                .map_err(ExecError::write("write", &place))?;
            index.add_path(Path::new(path)).map_err(failed())?;
        }
        index.write().map_err(failed())?;
        {
            let tree = index
                .write_tree()
                .and_then(|id| git.find_tree(id))
                .map_err(failed())?;
            let who =
                Signature::new(&identity.name, &identity.email, &Time::new(time_unix, 0)).map_err(failed())?;
            git.commit(Some("HEAD"), &who, &who, message, &tree, &[])
                .map_err(failed())?;
        }
        Ok(Self::check_format(git)?)
    }
}
