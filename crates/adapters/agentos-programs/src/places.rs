//! The places of programs on this machine.
//!
//! Owns: finding a program by name, and the files it needs to read besides the system's folders. Never: shows a program the
//! home folder, the repository, a git directory, a credential or a cache, files that merely lie next to a program, or a file
//! of the user's that only the repository names.

use std::path::{Path, PathBuf};

use agentos_lookup::{ProgramSearch, is_executable};

mod named;

use named::NamedBy;
pub use named::UnshownPlace;

/// Search path and folders of the user, from which programs and their files are found.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Absolute folders of the search path.
    pub path: Vec<PathBuf>,
    /// The user's home folder. `None` if it is unknown.
    pub home: Option<PathBuf>,
    /// The top of the repository's working tree. `None` if there is no repository.
    pub repository: Option<PathBuf>,
    /// Folder of rustup's toolchains. `None` for the usual `~/.rustup`.
    pub rustup_home: Option<PathBuf>,
    /// Folders of toolchain managers that the user's variables name, besides the usual ones in the home folder.
    pub toolchains: Vec<PathBuf>,
    /// Folder of Windows (`SystemRoot`), without which no program starts there. `None` on other systems.
    pub system_root: Option<PathBuf>,
}

/// Tool managers in the home folder: the folder of their programs, and the folders that those read. No folder here contains a
/// key; `~/.cargo`, `~/.local/share` and `~/.local/share/uv`, which do, are therefore not listed.
const MANAGERS: &[(&str, &[&str])] = &[
    (".bun/bin", &[".bun/bin", ".bun/install/global"]),
    (".cargo/bin", &[".cargo/bin", ".rustup"]),
    (".deno/bin", &[".deno/bin"]),
    (
        ".local/bin",
        &[
            ".local/bin",
            ".local/lib",
            ".local/pipx",
            ".local/share/pipx/venvs",
            ".local/share/uv/python",
            ".local/share/uv/tools",
        ],
    ),
    (".nvm", &[".nvm/versions"]),
    // Usually a clone: its parts are named, since a folder with a `.git` in it is never shown as a whole.
    (
        ".pyenv",
        &[
            ".pyenv/bin",
            ".pyenv/libexec",
            ".pyenv/plugins",
            ".pyenv/pyenv.d",
            ".pyenv/shims",
            ".pyenv/version",
            ".pyenv/versions",
        ],
    ),
    (".volta", &[".volta/bin", ".volta/tools"]),
    ("go/bin", &["go/bin"]),
];

/// Entries next to the `bin` folder of an installation that its programs read.
const INSTALLED: [&str; 4] = ["lib", "lib64", "libexec", "pyvenv.cfg"];
/// Folder in which npm installs packages.
const PACKAGES: &str = "node_modules";
/// The git directory of a working tree, or the file that names it.
const GIT: &str = ".git";

/// Bytes of a script's first line that the kernel reads (execve(2)).
const LONGEST_FIRST_LINE: u64 = 256;

impl Places {
    /// Returns the absolute path of the program of this name. `None` if there is no such program.
    ///
    /// A name with a `/` is a path in the copy or on this machine, and is returned unchanged. Other names are looked up by the
    /// rules of `agentos-lookup`, in folders of the repository too: the program runs in the sandbox, and a user who puts
    /// `.venv/bin` on the search path wants it to be used.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name));
        }
        ProgramSearch::in_folders(self.path.iter().cloned())
            .find_program(name)
            .ok()
    }

    /// Lists what to show read-only so that `program` and what it starts can run: the folders of the search path and of the
    /// user's tool managers, the installation that the program belongs to, and the program's own file.
    #[must_use]
    pub fn readable(&self, program: &Path) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self.path.clone();
        let mut files = self.find_files(program).0;
        all.extend(files.iter().flat_map(|file| self.installation_of(file)));
        if let Some(home) = &self.home {
            let used = MANAGERS.iter().filter(|(programs, _)| {
                let programs = home.join(programs);
                self.path.iter().any(|folder| folder.starts_with(&programs))
            });
            all.extend(used.flat_map(|(_, read)| read.iter().map(|folder| home.join(folder))));
        }
        // rustup's programs are links to one file, which starts the real ones from this folder.
        all.extend(self.rustup_home.clone());
        all.retain(|place| self.may_show(place));
        // A file outside of these folders is shown alone: its folder may contain anything of the user's.
        files.retain(|file| file.is_file() && !all.iter().any(|folder| file.starts_with(folder)));
        all.extend(files);
        all.sort();
        all.dedup();
        all
    }

    /// Lists the files that `program` needs and that are not shown, because only the repository names them.
    #[must_use]
    pub fn unshown(&self, program: &Path) -> Vec<UnshownPlace> {
        self.find_files(program).1
    }

    /// Finds the files of a program that the user names: the program, and the interpreter of a script. The second list has the
    /// files that are not shown.
    fn find_files(&self, program: &Path) -> (Vec<PathBuf>, Vec<UnshownPlace>) {
        let (mut files, mut unshown) = (Vec::new(), Vec::new());
        if !program.is_absolute() {
            return (files, unshown);
        }
        let mut add = |file: PathBuf, by| match self.check_named(&file, by) {
            Ok(real) => {
                files.extend([real.clone(), file]);
                Some(real)
            }
            Err(place) => {
                unshown.push(place);
                None
            }
        };
        let Some(real) = add(program.to_owned(), NamedBy::User) else {
            return (files, unshown);
        };
        if let Some(interpreter) = script_interpreter(&real) {
            let by = if self.is_in_repository(&real) {
                NamedBy::Repository
            } else {
                NamedBy::User
            };
            add(interpreter, by);
        }
        (files, unshown)
    }

    /// Finds the folders that an installed program reads besides its own file: the folders next to a `bin` that belongs to an
    /// installation, and the packages of npm that it lies among.
    fn installation_of(&self, program: &Path) -> Vec<PathBuf> {
        // npm installs the dependencies of a package next to it, so the topmost `node_modules` is needed.
        let packages = program.ancestors().filter(|folder| folder.ends_with(PACKAGES));
        let mut all: Vec<PathBuf> = packages.last().map(Path::to_owned).into_iter().collect();
        let folder = program.parent().filter(|folder| folder.ends_with("bin"));
        let Some((folder, prefix)) = folder.and_then(|folder| Some((folder, folder.parent()?))) else {
            return all;
        };
        let is_own = self.home.as_deref() == Some(prefix) || self.is_in_work_tree(folder);
        if is_own && !is_python_environment(prefix) && !is_python_installation(prefix) {
            return all;
        }
        // A link in the installation could lead out of it, to any file of the user's.
        let real = prefix.canonicalize().unwrap_or_default();
        let is_inside = |place: &PathBuf| place.canonicalize().is_ok_and(|to| to.starts_with(&real));
        let parts = INSTALLED.map(|name| prefix.join(name));
        let before = all.len();
        all.extend(parts.into_iter().filter(is_inside));
        if all.len() > before {
            all.push(folder.to_owned());
        }
        all
    }

    /// Returns true if a folder may be shown as a whole: it does not contain the user's home or the repository, is not part of
    /// the repository unless packages are installed there, and is not a git directory or the top of a working tree.
    fn may_show(&self, place: &Path) -> bool {
        let Ok(real) = place.canonicalize() else {
            return false;
        };
        let is_kept = |kept: &Option<PathBuf>| {
            let kept = kept.as_ref().and_then(|kept| kept.canonicalize().ok());
            kept.is_some_and(|kept| kept.starts_with(&real))
        };
        let is_git = real.components().any(|part| part.as_os_str() == GIT)
            || real.join(GIT).symlink_metadata().is_ok()
            || (real.join("HEAD").is_file() && real.join("objects").is_dir());
        let is_repository = self.is_in_repository(&real) && !is_packages(&real);
        let is_top = real.parent().is_none();
        // A folder that the user named may be a link by now that leads to something else.
        let is_elsewhere = self.leaves_repository(place);
        !(is_top
            || is_elsewhere
            || is_kept(&self.home)
            || is_kept(&self.repository)
            || is_git
            || is_repository)
    }

    fn is_in_repository(&self, real: &Path) -> bool {
        let top = self.repository.as_ref().and_then(|top| top.canonicalize().ok());
        top.is_some_and(|top| real.starts_with(top))
    }

    /// Returns true if a folder lies in a working tree of git: the repository's or another project's. A home folder that is a
    /// working tree itself (some people keep their settings in git) does not count.
    fn is_in_work_tree(&self, folder: &Path) -> bool {
        let Ok(real) = folder.canonicalize() else {
            return true;
        };
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let mut above = real.ancestors().filter(|above| home.as_deref() != Some(above));
        self.is_in_repository(&real) || above.any(|above| above.join(GIT).symlink_metadata().is_ok())
    }

    /// Formats the search path as the value of `PATH`.
    #[must_use]
    pub fn variable(&self) -> String {
        let folders = self.path.iter().filter_map(|folder| folder.to_str());
        let between = if cfg!(windows) { ";" } else { ":" };
        folders.collect::<Vec<_>>().join(between)
    }

    /// Returns the folder of rustup's toolchains. `None` if it does not exist.
    #[must_use]
    pub fn rustup(&self) -> Option<PathBuf> {
        let usual = self.home.as_ref().map(|home| home.join(".rustup"));
        self.rustup_home
            .clone()
            .or(usual)
            .filter(|folder| folder.is_dir())
    }
}

/// Reads the program that the first line of a script names. `None` if that is `env`, which looks in the search path, or if
/// there is no such program.
fn script_interpreter(program: &Path) -> Option<PathBuf> {
    use std::io::Read;
    let mut start = Vec::new();
    let script = std::fs::File::open(program).ok()?;
    script.take(LONGEST_FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let named = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    let place = PathBuf::from(named);
    // The script may come from anywhere, and its first line could name the user's key file. Only programs are shown.
    (place.is_absolute() && !place.ends_with("env") && is_executable(&place)).then_some(place)
}

/// Returns true if a folder is a virtual environment of Python: it holds `pyvenv.cfg` (PEP 405) and an interpreter.
fn is_python_environment(prefix: &Path) -> bool {
    prefix.join("pyvenv.cfg").is_file() && prefix.join("bin/python").exists()
}

/// Returns true if a folder is an installation of Python. CPython itself recognises one by the file `os.py` (`Modules/getpath.py`).
/// Those of pyenv lie in a working tree, because pyenv is usually a clone.
fn is_python_installation(prefix: &Path) -> bool {
    let Ok(libraries) = prefix.join("lib").read_dir() else {
        return false;
    };
    libraries.flatten().any(|entry| {
        let is_named = entry.file_name().to_string_lossy().starts_with("python");
        is_named && entry.path().join("os.py").is_file()
    })
}

/// Returns true if a folder of a working tree contains installed packages, of npm or of a Python virtual environment.
fn is_packages(real: &Path) -> bool {
    let is_npm = real.ancestors().any(|above| above.ends_with(PACKAGES));
    is_npm || real.ancestors().take(2).any(is_python_environment)
}

#[cfg(test)]
mod tests;
