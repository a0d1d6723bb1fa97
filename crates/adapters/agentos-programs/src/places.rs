//! Where programs lie on this machine.
//!
//! Owns: finding one by name, and what it needs to read besides the system's folders. Never: offers a home folder, the
//! repository, a git directory, a credential or a cache, nor what merely lies next to a program.

use std::path::{Path, PathBuf};

use agentos_lookup::{ProgramSearch, is_executable};

/// What is known of the user's surroundings.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Folders in which programs are looked for, absolute ones only.
    pub path: Vec<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The top of the repository's working tree. `None` if there is no repository.
    pub repository: Option<PathBuf>,
    /// Where rustup keeps its toolchains, if it is not `~/.rustup`.
    pub rustup_home: Option<PathBuf>,
    /// Where Windows is, without which no program of it starts; none elsewhere.
    pub system_root: Option<PathBuf>,
}

/// Tool managers that keep programs in the home folder: where its programs are found, what they read. None of these
/// folders holds a key; `~/.cargo` and `~/.local/share`, which do, are not among them.
const MANAGERS: &[(&str, &[&str])] = &[
    (".bun/bin", &[".bun/bin", ".bun/install/global"]),
    (".cargo/bin", &[".cargo/bin", ".rustup"]),
    (".deno/bin", &[".deno/bin"]),
    (
        ".local/bin",
        &[".local/bin", ".local/lib", ".local/pipx", ".local/share/uv"],
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

/// What an installation keeps next to its `bin`.
const INSTALLED: [&str; 4] = ["lib", "lib64", "libexec", "pyvenv.cfg"];
/// Where npm installs packages.
const PACKAGES: &str = "node_modules";
/// The git directory of a working tree, or the file that names it.
const GIT: &str = ".git";

/// The kernel reads no more of a script's first line (execve(2)).
const LONGEST_FIRST_LINE: u64 = 256;

impl Places {
    /// Returns the absolute path of the program of this name. `None` if there is no such program.
    ///
    /// A name with a `/` in it is a path of the copy, or of this machine, and is taken as it stands. A name is looked up by
    /// the rule of `agentos-lookup`, in the repository too: what is found runs in the sandbox, and `.venv/bin` on the search
    /// path is there to be used.
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
        let mut files = Vec::new();
        if program.is_absolute() {
            for file in [Some(program.to_owned()), interpreter(program)]
                .into_iter()
                .flatten()
            {
                files.extend(file.canonicalize());
                files.push(file);
            }
            all.extend(files.iter().flat_map(|file| self.installation_of(file)));
        }
        if let Some(home) = &self.home {
            let used = MANAGERS.iter().filter(|(programs, _)| {
                let programs = home.join(programs);
                self.path.iter().any(|folder| folder.starts_with(&programs))
            });
            all.extend(used.flat_map(|(_, read)| read.iter().map(|folder| home.join(folder))));
        }
        all.extend(self.rustup_home.clone());
        all.retain(|place| self.may_show(place));
        // Whatever lies next to a file that is in no such folder stays hidden.
        files.retain(|file| file.is_file() && !all.iter().any(|folder| file.starts_with(folder)));
        all.extend(files);
        all.sort();
        all.dedup();
        all
    }

    /// Finds what an installed program reads besides its own file: the folders next to a `bin` that belongs to an
    /// installation, and the packages of npm that it lies among.
    fn installation_of(&self, program: &Path) -> Vec<PathBuf> {
        // One of npm's packages uses others of the same installation.
        let packages = program.ancestors().filter(|folder| folder.ends_with(PACKAGES));
        let mut all: Vec<PathBuf> = packages.last().map(Path::to_owned).into_iter().collect();
        let folder = program.parent().filter(|folder| folder.ends_with("bin"));
        let Some((folder, prefix)) = folder.and_then(|folder| Some((folder, folder.parent()?))) else {
            return all;
        };
        let is_own = self.home.as_deref() == Some(prefix) || self.is_in_work_tree(folder);
        if is_own && !is_python_environment(prefix) {
            return all;
        }
        // A link that leads out of the installation could lead to anything.
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

    /// Returns true if a folder may be shown as a whole: it holds neither the user's home nor the repository, is no part of
    /// the repository unless packages were installed there, and is no git directory or top of a working tree.
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
        !(is_top || is_kept(&self.home) || is_kept(&self.repository) || is_git || is_repository)
    }

    fn is_in_repository(&self, real: &Path) -> bool {
        let top = self.repository.as_ref().and_then(|top| top.canonicalize().ok());
        top.is_some_and(|top| real.starts_with(top))
    }

    /// Returns true if a folder lies in a working tree of git: the repository's, or another project's. A home folder that is
    /// one (people keep their settings so) makes none of everything below it.
    fn is_in_work_tree(&self, folder: &Path) -> bool {
        let Ok(real) = folder.canonicalize() else {
            return true;
        };
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let mut above = real.ancestors().filter(|above| home.as_deref() != Some(above));
        self.is_in_repository(&real) || above.any(|above| above.join(GIT).symlink_metadata().is_ok())
    }

    /// The search path as a variable.
    #[must_use]
    pub fn variable(&self) -> String {
        let folders = self.path.iter().filter_map(|folder| folder.to_str());
        let between = if cfg!(windows) { ";" } else { ":" };
        folders.collect::<Vec<_>>().join(between)
    }

    /// Where rustup's toolchains are, if there are any.
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
fn interpreter(program: &Path) -> Option<PathBuf> {
    use std::io::Read;
    let mut start = Vec::new();
    let script = std::fs::File::open(program).ok()?;
    script.take(LONGEST_FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let named = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    let place = PathBuf::from(named);
    // A script names it, and a script may be anybody's: it must not have a file shown that is no program.
    (place.is_absolute() && !place.ends_with("env") && is_executable(&place)).then_some(place)
}

/// Returns true if a folder is a virtual environment of Python: it holds `pyvenv.cfg` (PEP 405) and an interpreter.
fn is_python_environment(prefix: &Path) -> bool {
    prefix.join("pyvenv.cfg").is_file() && prefix.join("bin/python").exists()
}

/// Returns true if a folder of a working tree holds what was installed there: npm's packages, or a virtual environment's.
fn is_packages(real: &Path) -> bool {
    let is_npm = real.ancestors().any(|above| above.ends_with(PACKAGES));
    is_npm || real.ancestors().take(2).any(is_python_environment)
}

#[cfg(test)]
mod tests;
