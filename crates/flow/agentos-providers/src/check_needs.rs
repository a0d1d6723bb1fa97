//! What a check command needs of this machine to work without a network: caches, build results, toolchains, and settings.
//!
//! | kind of command | sees | settings |
//! |---|---|---|
//! | cargo | `registry` and `git` of cargo's home, `target` | `CARGO_HOME`, offline |
//! | node: npm, npx, pnpm, yarn, node | `node_modules` | npm offline, no audit |
//! | python: python, pytest, tox, uv, pip | `.venv` or `venv`, at its own path too, which its scripts name | its programs first on `PATH`, no index |
//! | go | the module cache, the build cache | offline, `GOMODCACHE` |
//!
//! Every folder is a view ([`FolderView`]): the command may write there, and nothing of that reaches the user's folder. The kind
//! follows from the programs that the command names; a command such as `make` or a script may start anything, and then it
//! follows from the committed files.
//!
//! No file of a repository decides which of the user's files are shown: each program that a file or a link of the repository
//! names passes `Places::readable_if_known`. A program that is not shown is listed in [`CheckNeeds::unshown`].
//!
//! Owns: this table, and the folders of toolchain managers. Never: shows a folder with credentials; `~/.cargo` as a whole has one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentos_api::Notice;
use agentos_landing::Base;
use agentos_programs::{FolderView, Places, UnshownPlace, ViewFallback, ViewPlace};

use crate::check_presets::{has_file, has_folder};
use agentos_ground::environment::Environment;

/// Kind of build tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ToolKind {
    Cargo,
    Node,
    Python,
    Go,
}

/// Programs by which a command shows its kind.
const PROGRAMS: &[(&str, ToolKind)] = &[
    ("cargo", ToolKind::Cargo),
    ("cargo-nextest", ToolKind::Cargo),
    ("go", ToolKind::Go),
    ("node", ToolKind::Node),
    ("npm", ToolKind::Node),
    ("npx", ToolKind::Node),
    ("pnpm", ToolKind::Node),
    ("yarn", ToolKind::Node),
    ("pip", ToolKind::Python),
    ("pytest", ToolKind::Python),
    ("python", ToolKind::Python),
    ("python3", ToolKind::Python),
    ("tox", ToolKind::Python),
    ("uv", ToolKind::Python),
];

/// Programs that start what a file of the project says.
const STARTERS: &[&str] = &["bash", "just", "make", "ninja", "nox", "sh", "task"];

/// Committed files by which a project shows its kind.
const PROJECT_FILES: &[(&str, ToolKind)] = &[
    ("Cargo.toml", ToolKind::Cargo),
    ("go.mod", ToolKind::Go),
    ("package.json", ToolKind::Node),
    ("pyproject.toml", ToolKind::Python),
    ("requirements.txt", ToolKind::Python),
    ("setup.py", ToolKind::Python),
];

/// A toolchain manager: the variable that names its folder, the usual folder in the home folder, and the parts that its programs
/// read. None of them holds a key.
struct ToolchainManager {
    variable: &'static str,
    usual: &'static str,
    parts: &'static [&'static str],
}

/// The shims of these managers look below `HOME`, which is an empty folder in a run, unless their variable says otherwise.
const MANAGERS: &[ToolchainManager] = &[
    ToolchainManager {
        variable: "ASDF_DATA_DIR",
        usual: ".asdf",
        parts: &["asdf.sh", "bin", "installs", "lib", "libexec", "plugins", "shims"],
    },
    ToolchainManager {
        variable: "MISE_DATA_DIR",
        usual: ".local/share/mise",
        parts: &["installs", "plugins", "shims"],
    },
    ToolchainManager {
        variable: "NVM_DIR",
        usual: ".nvm",
        parts: &["alias", "versions"],
    },
    ToolchainManager {
        variable: "PYENV_ROOT",
        usual: ".pyenv",
        parts: &[
            "bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions",
        ],
    },
    ToolchainManager {
        variable: "VOLTA_HOME",
        usual: ".volta",
        parts: &["bin", "tools"],
    },
];

/// Folders of installed interpreters: the variable of the user that names it, and the usual folder in the home folder. No
/// program of these managers needs them at run time, but environments (`.venv`) are made of them.
const INTERPRETERS: &[(&str, &str)] = &[("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python")];

/// Variables of the user that choose the version of a toolchain.
const VERSIONS: &[&str] = &["NODE_VERSION", "PYENV_VERSION", "RUSTUP_TOOLCHAIN"];

/// The needs of one command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CheckNeeds {
    /// Folders that it may write without consequences.
    pub views: Vec<FolderView>,
    /// Variables.
    pub env: Vec<(String, String)>,
    /// Folders that come first on its search path.
    pub path_first: Vec<PathBuf>,
    /// Files and folders that it may read.
    pub readable: Vec<PathBuf>,
    /// Files and folders that it may not read, because only the repository names them.
    pub unshown: Vec<UnshownPlace>,
    /// True if its build results go by the times of files.
    pub freshens: bool,
}

/// The surroundings from which the needs follow.
pub struct CheckSurroundings<'a> {
    /// The user's variables.
    pub environment: &'a Environment,
    /// The search path.
    pub places: &'a Places,
    /// The working tree.
    pub work_dir: &'a Path,
    /// The commit.
    pub base: &'a dyn Base,
}

/// Finds what a command needs.
pub fn find_needs(command: &str, around: &CheckSurroundings<'_>) -> CheckNeeds {
    let mut needs = CheckNeeds::default();
    for kind in find_kinds(command, around.base) {
        match kind {
            ToolKind::Cargo => around.add_cargo(&mut needs),
            ToolKind::Node => around.add_node(&mut needs),
            ToolKind::Python => around.add_python(&mut needs),
            ToolKind::Go => around.add_go(&mut needs),
        }
    }
    around.add_managers(&mut needs);
    for word in command_words(command) {
        if PROGRAMS.iter().any(|(program, _)| *program == word)
            && let Some(program) = around.places.find(word)
        {
            needs.readable.extend(around.places.readable(&program));
            needs.unshown.extend(around.places.unshown(&program));
        }
    }
    // A folder that the user's variables name may lie in the repository, which can replace it by a link.
    needs
        .readable
        .retain(|place| !around.places.leaves_repository(place));
    needs
        .views
        .retain(|view| !around.places.leaves_repository(&view.from));
    needs
}

/// Lists the folders of toolchain managers in which interpreters lie.
pub(crate) fn toolchain_folders(environment: &Environment) -> Vec<PathBuf> {
    let managers = MANAGERS.iter().filter_map(|manager| {
        let root = folder_of(environment, manager.variable, manager.usual)?;
        Some(manager.parts.iter().map(move |part| root.join(part)))
    });
    let interpreters = INTERPRETERS.iter();
    let interpreters = interpreters.filter_map(|(variable, usual)| folder_of(environment, variable, usual));
    managers.flatten().chain(interpreters).collect()
}

/// Returns the folder that a variable names, or the usual one in the home folder. `None` if it does not exist.
fn folder_of(environment: &Environment, variable: &str, usual: &str) -> Option<PathBuf> {
    let set = environment.get(variable).map(PathBuf::from);
    let usual = environment.home_dir().map(|home| home.join(usual));
    set.or(usual)
        .filter(|folder| folder.is_absolute() && folder.is_dir())
}

/// How a user shows a place that only the repository names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnshownRemedy {
    /// By the search path.
    SearchPath,
    /// By the search path, or as a folder to read.
    Reading,
}

/// Makes the notice about places that are not shown to a check or a hook. `None` if there are none.
pub fn unshown_notice(
    environment: &Environment,
    unshown: &[UnshownPlace],
    remedy: UnshownRemedy,
) -> Option<Notice> {
    let mut places: Vec<&UnshownPlace> = unshown.iter().collect();
    places.sort();
    places.dedup();
    let first = places.first()?;
    let name = |path: &Path| environment.shorten_path(path);
    let what = if first.named == first.real {
        format!("`{}`, which the repository names", name(&first.named))
    } else {
        format!("`{}`, to which `{}` leads", name(&first.real), name(&first.named))
    };
    let remedy = match remedy {
        UnshownRemedy::SearchPath => "add its folder to `PATH`",
        UnshownRemedy::Reading => "add its folder to `PATH`, or list it among the folders that may be read",
    };
    let message = format!(
        "{what}, is not shown: it is in no folder of the system, of a toolchain manager or of your `PATH`. If it is needed, {remedy}"
    );
    let details = places.iter().skip(1).map(|place| name(&place.real)).collect();
    Some(Notice {
        details,
        ..Notice::new("not-shown", message)
    })
}

/// Returns the last parts of the words of a command.
fn command_words(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split(|c: char| c.is_whitespace() || ";|&()`$\"'".contains(c));
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.rsplit('/').next().unwrap_or(word))
}

fn find_kinds(command: &str, base: &dyn Base) -> BTreeSet<ToolKind> {
    let mut kinds: BTreeSet<ToolKind> = command_words(command)
        .filter_map(|word| PROGRAMS.iter().find(|(program, _)| *program == word))
        .map(|(_, kind)| *kind)
        .collect();
    let starts_others = command
        .split_whitespace()
        .next()
        .is_some_and(|first| first.contains('/'))
        || command_words(command).any(|word| STARTERS.contains(&word));
    if starts_others {
        let found = PROJECT_FILES.iter().filter(|(file, _)| has_file(base, file));
        kinds.extend(found.map(|(_, kind)| *kind));
    }
    kinds
}

impl CheckSurroundings<'_> {
    fn add_cargo(&self, needs: &mut CheckNeeds) {
        // At its own path: build scripts record absolute paths of the sources in the registry.
        if let Some(home) = folder_of(self.environment, "CARGO_HOME", ".cargo") {
            for part in ["registry", "git"] {
                // Read-only is enough where everything was unpacked by an earlier build.
                add_view(needs, home.join(part), ViewPlace::Same, ViewFallback::Share);
            }
            if !needs.views.is_empty() {
                set_variable(needs, "CARGO_HOME", &home.display().to_string());
            }
        }
        set_variable(needs, "CARGO_NET_OFFLINE", "true");
        // cargo locks the folder even if there is nothing to build, so read-only is no use.
        self.add_copied(needs, "target", ViewFallback::CopyOrNothing);
        needs.freshens = true;
    }

    fn add_node(&self, needs: &mut CheckNeeds) {
        self.add_copied(needs, "node_modules", ViewFallback::Share);
        for (name, value) in [
            ("audit", "false"),
            ("fund", "false"),
            ("offline", "true"),
            ("update_notifier", "false"),
        ] {
            set_variable(needs, &format!("npm_config_{name}"), value);
        }
    }

    fn add_python(&self, needs: &mut CheckNeeds) {
        set_variable(needs, "PIP_NO_INDEX", "1");
        // An editable install names the working tree, which the command does not see.
        if has_folder(self.base, "src") {
            set_variable(needs, "PYTHONPATH", "src");
        }
        let Some(name) = [".venv", "venv"]
            .into_iter()
            .find(|name| self.work_dir.join(name).join("pyvenv.cfg").is_file())
        else {
            return;
        };
        let place = self.work_dir.join(name);
        self.add_copied(needs, name, ViewFallback::Share);
        // The first lines of its scripts name it by its own path.
        add_view(needs, place.clone(), ViewPlace::Same, ViewFallback::Share);
        set_variable(needs, "VIRTUAL_ENV", &place.display().to_string());
        needs.path_first.push(place.join("bin"));
        self.add_named(needs, &place.join("bin/python"));
    }

    /// Adds an interpreter that a link or a text of the repository names, with its libraries, if it is known.
    fn add_named(&self, needs: &mut CheckNeeds, named: &Path) {
        if !named.exists() {
            return;
        }
        match self.places.readable_if_known(named) {
            // The folders of the working tree are shown as views.
            Ok(readable) => needs.readable.extend(
                readable
                    .into_iter()
                    .filter(|place| !place.starts_with(self.work_dir)),
            ),
            Err(unshown) => needs.unshown.push(unshown),
        }
    }

    fn add_go(&self, needs: &mut CheckNeeds) {
        let modules = match self.environment.get("GOMODCACHE") {
            Some(set) => Some(PathBuf::from(set)),
            None => self.first_gopath().map(|go| go.join("pkg/mod")),
        };
        if let Some(modules) = modules.filter(|modules| modules.is_dir()) {
            set_variable(needs, "GOMODCACHE", &modules.display().to_string());
            add_view(needs, modules, ViewPlace::Same, ViewFallback::Share);
        }
        // Go follows `XDG_CACHE_HOME` (os.UserCacheDir).
        let usual = self
            .environment
            .cache_dir()
            .map(|own| own.with_file_name("go-build"));
        let set = self.environment.get("GOCACHE").map(PathBuf::from);
        if let Some(cache) = set
            .or(usual)
            .filter(|cache| cache.is_absolute() && cache.is_dir())
        {
            let place = ViewPlace::Home(".cache/go-build".to_owned());
            add_view(needs, cache, place, ViewFallback::CopyOrNothing);
        }
        for (name, value) in [("GOPROXY", "off"), ("GOSUMDB", "off"), ("GOTOOLCHAIN", "local")] {
            set_variable(needs, name, value);
        }
        // With a vendor folder go uses it by itself, and this flag would make it look elsewhere.
        if !has_file(self.base, "vendor/modules.txt") {
            set_variable(needs, "GOFLAGS", "-mod=mod");
        }
        let found = self.places.find("go");
        let program = found.and_then(|found| self.places.follow_own(&found).ok());
        let root = program.as_deref().and_then(Path::parent).and_then(Path::parent);
        // The standard library is next to `bin`, in folders that other programs do not have.
        let is_root = |root: &&Path| root.join("VERSION").is_file() && root.join("pkg/tool").is_dir();
        needs.readable.extend(
            root.filter(is_root)
                .filter(|root| self.may_show(root))
                .map(Path::to_owned),
        );
    }

    /// Returns the folder into which Go puts modules: the first of `GOPATH`, which may be a list. `None` if it does not exist.
    fn first_gopath(&self) -> Option<PathBuf> {
        let set = self.environment.get("GOPATH");
        let set = set.and_then(|list| std::env::split_paths(&list).next());
        let usual = self.environment.home_dir().map(|home| home.join("go"));
        set.or(usual)
            .filter(|folder| folder.is_absolute() && folder.is_dir())
    }

    /// Adds the toolchain managers whose programs are on the search path.
    fn add_managers(&self, needs: &mut CheckNeeds) {
        for manager in MANAGERS {
            let Some(root) = folder_of(self.environment, manager.variable, manager.usual) else {
                continue;
            };
            let is_used = self.places.path.iter().any(|folder| folder.starts_with(&root));
            if !is_used || !self.may_show(&root) {
                continue;
            }
            set_variable(needs, manager.variable, &root.display().to_string());
            let parts = manager.parts.iter().map(|part| root.join(part));
            needs.readable.extend(parts.filter(|part| part.exists()));
        }
        for name in VERSIONS {
            if let Some(value) = self.environment.get(name) {
                set_variable(needs, name, value);
            }
        }
    }

    /// Adds what the `pre-commit` framework needs: its environments, and the Python that the text of its hook names.
    pub fn add_pre_commit(&self, needs: &mut CheckNeeds, hook: &str) {
        let Some(line) = hook.lines().find_map(|line| line.strip_prefix("INSTALL_PYTHON=")) else {
            return;
        };
        let python = Path::new(line.trim().trim_matches(['\'', '"']));
        if python.is_absolute() {
            self.add_named(needs, python);
        }
        let usual = match self.environment.get("XDG_CACHE_HOME") {
            Some(cache) => Some(PathBuf::from(cache).join("pre-commit")),
            None => self
                .environment
                .home_dir()
                .map(|home| home.join(".cache/pre-commit")),
        };
        let set = self.environment.get("PRE_COMMIT_HOME").map(PathBuf::from);
        if let Some(home) = set.or(usual).filter(|home| home.is_absolute() && home.is_dir()) {
            set_variable(needs, "PRE_COMMIT_HOME", &home.display().to_string());
            // At its own path: the programs of its environments name it.
            add_view(needs, home, ViewPlace::Same, ViewFallback::Share);
        }
    }

    /// Adds a view of a folder of the working tree, at the same path of the copy.
    fn add_copied(&self, needs: &mut CheckNeeds, name: &str, fallback: ViewFallback) {
        add_view(
            needs,
            self.work_dir.join(name),
            ViewPlace::Copy(name.to_owned()),
            fallback,
        );
    }

    /// Returns true if a folder may be shown as a whole: it contains neither the home folder nor the working tree.
    fn may_show(&self, folder: &Path) -> bool {
        let home = self.environment.home_dir();
        let kept = [home.as_deref(), Some(self.work_dir)];
        folder.parent().is_some() && !kept.into_iter().flatten().any(|kept| kept.starts_with(folder))
    }
}

/// Adds a view of a folder, if it exists and is no link: a link of the working tree may lead anywhere.
pub fn add_view(needs: &mut CheckNeeds, from: PathBuf, place: ViewPlace, fallback: ViewFallback) {
    // Elsewhere neither overlays nor folders at another path can be had.
    let is_possible = cfg!(target_os = "linux") || place == ViewPlace::Same;
    if is_possible && from.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        needs.views.push(FolderView {
            from,
            place,
            fallback,
        });
    }
}

fn set_variable(needs: &mut CheckNeeds, name: &str, value: &str) {
    needs.env.push((name.to_owned(), value.to_owned()));
}

#[cfg(test)]
mod tests;
