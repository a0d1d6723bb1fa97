//! The environment, read once.
//!
//! Owns: every variable name and every location on disk that the product reads. Never: writes the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_executor::{ConfigEnv, FailPoints, IdentityEnv};

/// Folder of the machine's policy.
const MACHINE_POLICY: &str = "/etc/agentos/policy";

/// The variables and the folder of a process or a call.
#[derive(Debug, Clone)]
pub struct Environment {
    vars: BTreeMap<String, String>,
    /// Home folder of the user's account. `None` if a variable names the home, or the system knows none.
    account_home: Option<PathBuf>,
    /// The current folder, below which relative paths are.
    pub cwd: PathBuf,
}

impl Environment {
    /// Makes an environment of these variables, in which relative paths are below `cwd`. A product that serves several people gives
    /// each of them a `HOME` and an identity of their own this way; its process's own variables are not looked at.
    #[must_use]
    pub fn new(vars: impl IntoIterator<Item = (String, String)>, cwd: PathBuf) -> Self {
        Self {
            vars: vars.into_iter().collect(),
            account_home: None,
            cwd,
        }
    }

    /// Reads the process's environment.
    ///
    /// # Errors
    /// If the current folder no longer exists.
    pub fn read() -> std::io::Result<Self> {
        // A variable that is not UTF-8 cannot be one of ours, and must not make every call fail.
        let vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let read = Self::new(vars, std::env::current_dir()?);
        // Rules of the user must be active although `HOME` is unset, as under `cron` or `env -u HOME`. The standard
        // library then asks the database of accounts.
        let account_home = match read.home_dir() {
            Some(_) => None,
            None => std::env::home_dir(),
        };
        Ok(read.with_account_home(account_home))
    }

    fn with_account_home(self, home: Option<PathBuf>) -> Self {
        Self {
            account_home: home.filter(|home| home.is_absolute()),
            ..self
        }
    }

    /// Returns a variable. `None` if it is unset or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns all variables, for the profile's own lookups.
    pub fn vars(&self) -> &BTreeMap<String, String> {
        &self.vars
    }

    /// Names author and committer, as git's variables would. Only this value changes, not the process.
    pub fn with_identity(&mut self, name: &str, email: &str) {
        for role in ["AUTHOR", "COMMITTER"] {
            self.vars.insert(format!("GIT_{role}_NAME"), name.to_owned());
            self.vars.insert(format!("GIT_{role}_EMAIL"), email.to_owned());
        }
    }

    /// Returns the identities that git's variables name.
    pub fn git_identity(&self) -> IdentityEnv {
        let named = |name: &str| self.get(name).map(str::to_owned);
        IdentityEnv {
            author_name: named("GIT_AUTHOR_NAME"),
            author_email: named("GIT_AUTHOR_EMAIL"),
            committer_name: named("GIT_COMMITTER_NAME"),
            committer_email: named("GIT_COMMITTER_EMAIL"),
            email: named("EMAIL"),
        }
    }

    /// Returns the locations of git's configuration according to its variables. An empty name means that there is no file.
    pub fn git_config(&self) -> ConfigEnv {
        let file = |name: &str| match self.vars.get(name).map(String::as_str) {
            None => None,
            Some("") => Some(PathBuf::new()),
            Some(path) => Some(self.cwd.join(path)),
        };
        // git reads this variable as a boolean, and these are its words for false (git-config, "Values").
        let is_on = |value: &str| !["0", "false", "no", "off"].contains(&value.to_ascii_lowercase().as_str());
        // The same order as in libgit2, except that a relative path is refused below.
        let home = || self.get("HOME").map(|home| Path::new(home).join(".config"));
        let base = self.get("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
        ConfigEnv {
            global: file("GIT_CONFIG_GLOBAL"),
            system: file("GIT_CONFIG_SYSTEM"),
            no_system: self.get("GIT_CONFIG_NOSYSTEM").is_some_and(is_on),
            attributes: base
                .map(|base| base.join("git/attributes"))
                .filter(|path| path.is_absolute()),
        }
    }

    /// Shortens a path as a person would write it: relative to the current folder or to their home, else in full. Messages and
    /// evidence then reveal no more about the machine than they must.
    pub fn shorten_path(&self, place: &Path) -> String {
        match place.strip_prefix(&self.cwd) {
            Ok(below) if below != Path::new("") => below.display().to_string(),
            Ok(_) | Err(_) => self.shorten_below_home(place),
        }
    }

    /// Shortens a path relative to the user's home, else returns it in full. The result does not depend on the current folder.
    pub fn shorten_below_home(&self, place: &Path) -> String {
        let below = self
            .home_dir()
            .and_then(|home| Some(place.strip_prefix(home).ok()?.to_owned()));
        match below {
            Some(below) if below != Path::new("") => format!("~/{}", below.display()),
            Some(_) | None => place.display().to_string(),
        }
    }

    /// Returns the user's home folder: the one that a variable names, or that of the account that started the process.
    /// `None` if there is neither.
    pub fn home_dir(&self) -> Option<PathBuf> {
        self.get("HOME")
            // Windows sets `USERPROFILE` and no `HOME`.
            .or_else(|| self.get("USERPROFILE"))
            .map(PathBuf::from)
            .or_else(|| self.account_home.clone())
    }

    /// Returns the folder of the user's settings: `$XDG_CONFIG_HOME/agentos`, else `~/.config/agentos`. `None` without a home
    /// folder.
    pub fn config_dir(&self) -> Option<PathBuf> {
        // The XDG Base Directory Specification: a relative path in these variables is invalid and must be ignored.
        let base = match self.get("XDG_CONFIG_HOME") {
            Some(dir) if Path::new(dir).is_absolute() => PathBuf::from(dir),
            Some(_) | None => self.home_dir()?.join(".config"),
        };
        Some(base.join("agentos"))
    }

    /// Returns the folder of files that may be deleted at any time: `$XDG_CACHE_HOME/agentos`, else `~/.cache/agentos`. `None`
    /// without a home folder.
    pub fn cache_dir(&self) -> Option<PathBuf> {
        // A relative path is ignored, as in `config_dir`.
        let base = match self.get("XDG_CACHE_HOME") {
            Some(dir) if Path::new(dir).is_absolute() => PathBuf::from(dir),
            Some(_) | None => self.home_dir()?.join(".cache"),
        };
        Some(base.join("agentos"))
    }

    /// Returns the folder of the user's ledger: `$XDG_STATE_HOME/agentos`, else `~/.local/state/agentos`. `None` without a home
    /// folder.
    pub fn state_dir(&self) -> Option<PathBuf> {
        // A relative path is ignored, as in `config_dir`.
        let base = match self.get("XDG_STATE_HOME") {
            Some(dir) if Path::new(dir).is_absolute() => PathBuf::from(dir),
            Some(_) | None => self.home_dir()?.join(".local/state"),
        };
        Some(base.join("agentos"))
    }

    /// Returns the folder for temporary files: `$TMPDIR`, or the system's own.
    pub fn temp_dir(&self) -> PathBuf {
        // `TEMP` is the variable on Windows. A relative path would be in the repository.
        let named = self.get("TMPDIR").or_else(|| self.get("TEMP")).map(PathBuf::from);
        named
            .filter(|dir| dir.is_absolute())
            .unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// Returns the socket of the session's bus, through which a keyring is reached: `$XDG_RUNTIME_DIR/bus`, or
    /// `/run/user/UID/bus` if that is not set. `None` if a variable gives the bus another address.
    #[cfg(target_os = "linux")]
    pub fn bus_socket(&self) -> Option<PathBuf> {
        use std::os::unix::fs::MetadataExt;
        // Such an address can name a transport that is no socket in a folder, so its path is not guessed.
        if self.vars.contains_key("DBUS_SESSION_BUS_ADDRESS") {
            return None;
        }
        let folder = match self.vars.get("XDG_RUNTIME_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => {
                // The folder belongs to the process's effective user (proc(5)). The standard library cannot ask for the user id.
                let user = std::fs::metadata("/proc/self").ok()?.uid();
                PathBuf::from(format!("/run/user/{user}"))
            }
        };
        Some(folder.join("bus"))
    }

    /// Returns `None`: on this system, a keyring is not reached through a socket.
    #[cfg(not(target_os = "linux"))]
    pub fn bus_socket(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the file in which keys are stored. `None` without a home folder.
    pub fn credentials_file(&self) -> Option<PathBuf> {
        Some(self.home_dir()?.join(".agentos").join("credentials.json"))
    }

    /// Returns the folder of the machine's policy. A test may name another one.
    #[cfg(debug_assertions)]
    pub fn machine_policy_dir(&self) -> PathBuf {
        PathBuf::from(self.get("AGENTOS_TEST_MACHINE_POLICY").unwrap_or(MACHINE_POLICY))
    }

    /// Returns the folder of the machine's policy. No variable can move it: a user could otherwise escape it.
    #[cfg(not(debug_assertions))]
    pub fn machine_policy_dir(&self) -> PathBuf {
        PathBuf::from(MACHINE_POLICY)
    }

    /// Returns the program that confines tools: this one. The test of the rogue gate names one that confines nothing.
    ///
    /// # Errors
    /// If this program's own file cannot be found.
    #[cfg(debug_assertions)]
    pub fn helper_program(&self) -> std::io::Result<PathBuf> {
        match self.get("AGENTOS_TEST_HELPER") {
            Some(named) => Ok(named.into()),
            None => std::env::current_exe(),
        }
    }

    /// Returns the program that confines tools: this one. No variable can name another.
    ///
    /// # Errors
    /// If this program's own file cannot be found.
    #[cfg(not(debug_assertions))]
    pub fn helper_program(&self) -> std::io::Result<PathBuf> {
        std::env::current_exe()
    }

    /// Returns the point at which a process waits for a kill test to end it; `AGENTOS_FAIL_POINT` contains its number.
    #[cfg(debug_assertions)]
    pub fn fail_points(&self) -> FailPoints {
        let number = self.get("AGENTOS_FAIL_POINT").and_then(|text| text.parse().ok());
        number.map_or_else(FailPoints::default, FailPoints::at)
    }

    /// Returns no fail points: a release build has none.
    #[cfg(not(debug_assertions))]
    pub fn fail_points(&self) -> FailPoints {
        FailPoints::default()
    }

    /// Returns the name under which the person logged in. `None` if the environment does not have it, as in many containers.
    pub fn login_name(&self) -> Option<&str> {
        // Login sets `USER` and `LOGNAME` on Unix, and `USERNAME` on Windows.
        self.get("USER")
            .or_else(|| self.get("LOGNAME"))
            .or_else(|| self.get("USERNAME"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_names_the_home_that_no_variable_names() {
        let vars = |vars: &[(&str, &str)]| -> Vec<(String, String)> {
            let vars = vars.iter();
            vars.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        type Vars = &'static [(&'static str, &'static str)];
        let cases: [(Vars, Option<&str>, Option<&str>); 6] = [
            (&[("HOME", "/home/a")], Some("/home/b"), Some("/home/a")),
            (&[("USERPROFILE", "/home/a")], Some("/home/b"), Some("/home/a")),
            (&[], Some("/home/b"), Some("/home/b")),
            (&[("HOME", "")], Some("/home/b"), Some("/home/b")),
            (&[], Some(""), None),
            (&[], None, None),
        ];
        for (named, account, expected) in cases {
            let environment = Environment::new(vars(named), PathBuf::from("/"));
            let environment = environment.with_account_home(account.map(PathBuf::from));
            assert_eq!(
                environment.home_dir(),
                expected.map(PathBuf::from),
                "{named:?} {account:?}"
            );
        }
    }
}
