//! Chooses the files of git's configuration, and separates the user's own settings from the repository's.
//!
//! Owns: `GIT_CONFIG_GLOBAL`, `GIT_CONFIG_SYSTEM` and `GIT_CONFIG_NOSYSTEM`, which libgit2 does not support. Never: reads
//! the environment itself, or writes a configuration.

use std::path::{Path, PathBuf};

use git2::{Config, ConfigLevel, ErrorCode};

use crate::{RepoError, Repository};

/// Files of the configuration that the environment selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigEnv {
    /// Value of `GIT_CONFIG_GLOBAL`, a file that is read instead of the user's own; an empty path means no file. `None` if it
    /// is not set.
    pub global: Option<PathBuf>,
    /// Value of `GIT_CONFIG_SYSTEM`, a file that is read instead of the system's. `None` if it is not set.
    pub system: Option<PathBuf>,
    /// True if `GIT_CONFIG_NOSYSTEM` is set: the system's file is not read.
    pub no_system: bool,
    /// File of the user's own attributes, if no setting names another; it need not exist. `None` if it is not known; then
    /// every landing takes a little longer, because libgit2 is asked about each path.
    pub attributes: Option<PathBuf>,
}

impl Repository {
    /// Reads the configuration from the files that the environment selects.
    ///
    /// # Errors
    /// When one of them cannot be read, or includes another file on a condition.
    pub fn with_config(mut self, env: ConfigEnv) -> Result<Self, RepoError> {
        self.config_env = env;
        self.config_env.apply_to(&self.git)?;
        Ok(self)
    }

    /// Opens another handle on the same repository and configuration, for calls after which a handle cannot be used for
    /// anything else.
    ///
    /// # Errors
    /// When the repository or its configuration cannot be read.
    pub(crate) fn another_handle(&self) -> Result<git2::Repository, RepoError> {
        let git = git2::Repository::open(self.git.path()).map_err(RepoError::git("open the repository"))?;
        self.config_env.apply_to(&git)?;
        Ok(git)
    }
}

impl ConfigEnv {
    fn apply_to(&self, git: &git2::Repository) -> Result<(), RepoError> {
        if self.changes_nothing() {
            return Ok(());
        }
        let failed = || RepoError::git("read the configuration");
        let mut config = Config::new().map_err(failed())?;
        if !self.no_system {
            let usual = || Config::find_system().ok();
            add_file(
                &mut config,
                self.system.clone().or_else(usual),
                ConfigLevel::System,
            )?;
        }
        match &self.global {
            Some(named) => add_file(&mut config, Some(named.clone()), ConfigLevel::Global)?,
            None => {
                add_file(&mut config, Config::find_xdg().ok(), ConfigLevel::XDG)?;
                add_file(&mut config, Config::find_global().ok(), ConfigLevel::Global)?;
            }
        }
        let own = git.commondir().join("config");
        add_file(&mut config, Some(own), ConfigLevel::Local)?;
        if config.get_bool("extensions.worktreeconfig").unwrap_or(false) {
            let own = git.path().join("config.worktree");
            add_file(&mut config, Some(own), ConfigLevel::Worktree)?;
        }
        // libgit2 evaluates conditions only in the files that it finds itself. Here it would silently leave out the file.
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

    /// Returns whether the environment selects the files that libgit2 finds itself.
    fn changes_nothing(&self) -> bool {
        // If the system has no file, leaving it out changes nothing.
        let leaves_out = self.no_system && Config::find_system().is_ok();
        self.global.is_none() && (self.no_system || self.system.is_none()) && !leaves_out
    }
}

/// Adds a file to a configuration, if it exists.
///
/// # Errors
/// When it exists and cannot be read.
fn add_file(config: &mut Config, file: Option<PathBuf>, level: ConfigLevel) -> Result<(), RepoError> {
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

impl Repository {
    /// Reads the editor that the user's own configuration names (`core.editor`). `None` if it names none.
    pub fn user_editor(&self) -> Option<String> {
        // The repository's own configuration may have come from somebody else, and must not start a program.
        user_setting(&self.git.config().ok()?, "core.editor")
    }
}

/// Reads a setting from the configuration outside the repository. `None` if no file there has it.
pub(crate) fn user_setting(config: &Config, name: &str) -> Option<String> {
    // In the order of git: a user's file overrides the system's.
    [
        ConfigLevel::Global,
        ConfigLevel::XDG,
        ConfigLevel::System,
        ConfigLevel::ProgramData,
    ]
    .into_iter()
    .find_map(|level| config.open_level(level).ok()?.get_string(name).ok())
}
