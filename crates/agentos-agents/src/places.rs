//! Where programs lie on this machine.
//!
//! Owns: finding one by name, and which folders beside the system's it and its like need to read. Never: offers a
//! home folder, a credential or a cache.

use std::path::{Path, PathBuf};

/// What is known of the user's surroundings.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Folders in which programs are looked for, absolute ones only.
    pub path: Vec<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
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
    (".pyenv", &[".pyenv"]),
    (".volta", &[".volta/bin", ".volta/tools"]),
    ("go/bin", &["go/bin"]),
];

/// The kernel reads no more of a script's first line (execve(2)).
const LONGEST_FIRST_LINE: u64 = 256;

impl Places {
    /// The program of this name, by its absolute path. A name with a `/` in it is taken as it is.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name));
        }
        let name = if cfg!(windows) && Path::new(name).extension().is_none() {
            format!("{name}.exe")
        } else {
            name.to_owned()
        };
        let mut found = self.path.iter().map(|folder| folder.join(&name));
        found.find(|place| is_program(place))
    }

    /// Folders to show read-only so that `program` and what it starts can run.
    #[must_use]
    pub fn readable(&self, program: &Path) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self.path.clone();
        if program.is_absolute() {
            all.extend(installed(program));
            let interpreter = interpreter(program).into_iter();
            all.extend(interpreter.flat_map(|place| installed(&place)));
        }
        if let Some(home) = &self.home {
            let used = MANAGERS.iter().filter(|(programs, _)| {
                let programs = home.join(programs);
                self.path.iter().any(|folder| folder.starts_with(&programs))
            });
            all.extend(used.flat_map(|(_, read)| read.iter().map(|folder| home.join(folder))));
            // Never all of it, whatever the search path says.
            all.retain(|folder| !home.starts_with(folder));
        }
        // One that lies in the home folder itself is shown alone.
        if program.is_absolute() && !all.iter().any(|folder| program.starts_with(folder)) {
            all.push(program.to_owned());
        }
        all.extend(self.rustup_home.clone());
        all.retain(|folder| folder.exists() && folder != Path::new("/"));
        all.sort();
        all.dedup();
        all
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

/// What belongs to a program. It is often a link into the place where it is installed.
fn installed(program: &Path) -> Vec<PathBuf> {
    let mut all = beside(program);
    if let Ok(real) = program.canonicalize() {
        all.extend(beside(&real));
        // One of npm's packages uses others of the same installation.
        let above = real.ancestors().filter(|folder| folder.ends_with("node_modules"));
        all.extend(above.last().map(Path::to_owned));
    }
    all
}

/// The program that the first line of a script names, unless that is `env`, which looks in the search path.
fn interpreter(program: &Path) -> Option<PathBuf> {
    use std::io::Read;
    let mut start = Vec::new();
    let script = std::fs::File::open(program).ok()?;
    script.take(LONGEST_FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let named = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    let place = PathBuf::from(named);
    (place.is_absolute() && !place.ends_with("env")).then_some(place)
}

/// What lies beside a program that was installed into a folder of its own (`bin`, `lib`, a Python environment).
fn beside(program: &Path) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else {
        return Vec::new();
    };
    let mut all = vec![folder.to_owned()];
    if folder.ends_with("bin")
        && let Some(prefix) = folder.parent()
    {
        all.extend(["lib", "lib64", "libexec", "pyvenv.cfg"].map(|name| prefix.join(name)));
    }
    all
}

fn is_program(place: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        place
            .metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    place.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentos_testkit::repo::{make_dir, write_file};

    #[test]
    fn a_home_folder_is_never_readable_as_a_whole() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join(".cargo/bin");
        for folder in [&inside, &home.path().join(".rustup")] {
            make_dir(folder);
        }
        write_file(&home.path().join(".cargo/credentials.toml"), "");
        let places = Places {
            path: vec![inside.clone(), home.path().to_owned()],
            home: Some(home.path().to_owned()),
            ..Places::default()
        };
        assert_eq!(
            places.readable(&inside.join("cargo")),
            [inside.clone(), home.path().join(".rustup")]
        );
        let own = home.path().join("my-tool");
        write_file(&own, "");
        assert_eq!(places.readable(&own), [inside, home.path().join(".rustup"), own]);
    }

    #[test]
    fn what_a_script_was_installed_with_is_readable() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let python = top.join("python/bin/python3");
        let tool = top.join("venv/bin/tool");
        let package = top.join("npm/node_modules/one/cli.js");
        for place in [&python, &tool, &package] {
            make_dir(place.parent().unwrap());
        }
        make_dir(&top.join("python/lib"));
        write_file(&python, "");
        write_file(&package, "#!/usr/bin/env node\n");
        write_file(&tool, format!("#!{} -s\nimport x\n", python.display()));
        let readable = |program: &Path| {
            let all = Places::default().readable(program);
            let names = all
                .iter()
                .map(|place| place.strip_prefix(&top).unwrap().display().to_string());
            names.collect::<Vec<_>>()
        };
        assert_eq!(readable(&tool), ["python/bin", "python/lib", "venv/bin"]);
        assert_eq!(readable(&package), ["npm/node_modules", "npm/node_modules/one"]);
    }

    #[test]
    fn a_program_is_found_where_it_can_be_executed() {
        let places = Places {
            path: vec!["/nowhere".into(), "/bin".into()],
            ..Places::default()
        };
        assert_eq!(places.find("sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(places.find("no-such-program"), None);
        assert_eq!(places.find("./scripts/mod"), Some(PathBuf::from("./scripts/mod")));
    }
}
