//! Which files git's configuration comes from.
//!
//! Owns: `GIT_CONFIG_GLOBAL`, `GIT_CONFIG_SYSTEM` and `GIT_CONFIG_NOSYSTEM`, which libgit2 does not know. Never: reads
//! the environment itself, or writes a configuration.

use std::path::{Path, PathBuf};

use git2::{Config, ConfigLevel, ErrorCode};

use crate::{RepoError, Repository};

/// What the environment says about the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigEnv {
    /// `GIT_CONFIG_GLOBAL`: read instead of the user's own files; an empty path stands for no file.
    pub global: Option<PathBuf>,
    /// `GIT_CONFIG_SYSTEM`: read instead of the machine's.
    pub system: Option<PathBuf>,
    /// `GIT_CONFIG_NOSYSTEM`: the machine's is not read.
    pub no_system: bool,
    /// Where the user's own attributes are, if no setting names another file; it need not be there. Where this is not
    /// known, every landing takes a little longer.
    pub attributes: Option<PathBuf>,
}

impl Repository {
    /// The same repository, with its configuration from the files that the environment names.
    ///
    /// # Errors
    /// When one of them cannot be read, or includes others on a condition.
    pub fn with_config(mut self, env: ConfigEnv) -> Result<Self, RepoError> {
        self.config_env = env;
        self.config_env.apply(&self.git)?;
        Ok(self)
    }

    /// Another handle on the same repository and configuration, for what uses up a handle.
    pub(crate) fn another_handle(&self) -> Result<git2::Repository, RepoError> {
        let git = git2::Repository::open(self.git.path()).map_err(RepoError::git("open the repository"))?;
        self.config_env.apply(&git)?;
        Ok(git)
    }
}

impl ConfigEnv {
    fn apply(&self, git: &git2::Repository) -> Result<(), RepoError> {
        if self.changes_nothing() {
            return Ok(());
        }
        let failed = || RepoError::git("read the configuration");
        let mut config = Config::new().map_err(failed())?;
        if !self.no_system {
            let usual = || Config::find_system().ok();
            add(
                &mut config,
                self.system.clone().or_else(usual),
                ConfigLevel::System,
            )?;
        }
        match &self.global {
            Some(named) => add(&mut config, Some(named.clone()), ConfigLevel::Global)?,
            None => {
                add(&mut config, Config::find_xdg().ok(), ConfigLevel::XDG)?;
                add(&mut config, Config::find_global().ok(), ConfigLevel::Global)?;
            }
        }
        let own = git.commondir().join("config");
        add(&mut config, Some(own), ConfigLevel::Local)?;
        if config.get_bool("extensions.worktreeconfig").unwrap_or(false) {
            let own = git.path().join("config.worktree");
            add(&mut config, Some(own), ConfigLevel::Worktree)?;
        }
        // libgit2 decides these only for the files that it finds by itself.
        let mut conditions = config.entries(Some("^includeif\\.")).map_err(failed())?;
        if let Some(entry) = conditions.next() {
            let name = entry
                .map_err(failed())?
                .name()
                .map(str::to_owned)
                .unwrap_or_default();
            return Err(RepoError::ConditionalConfig(name));
        }
        drop(conditions);
        git.set_config(&config).map_err(failed())
    }

    /// Where there is no file of the machine's, it need not be left out.
    fn changes_nothing(&self) -> bool {
        let leaves_out = self.no_system && Config::find_system().is_ok();
        self.global.is_none() && (self.no_system || self.system.is_none()) && !leaves_out
    }
}

/// Adds a file if it is there.
fn add(config: &mut Config, file: Option<PathBuf>, level: ConfigLevel) -> Result<(), RepoError> {
    let Some(file) = file.filter(|file| *file != Path::new("")) else {
        return Ok(());
    };
    match config.add_file(&file, level, false) {
        Err(error) if error.code() != ErrorCode::NotFound => {
            Err(RepoError::git("read the configuration")(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
