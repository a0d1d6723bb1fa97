//! Programs that a repository names: by a link, by the first line of a script, or in another text.
//!
//! A repository may choose what it starts, but not what of the user's is shown to it. A file that it names is therefore shown
//! only in these places:
//!
//! | place | why |
//! |---|---|
//! | folders of the system | every program reads them |
//! | folders of the table of tool managers | they hold programs and libraries, and no key |
//! | where the user's search path leads | the user named it |
//! | the repository itself | the repository provides them |
//!
//! Owns: this rule. Never: reads a text of the repository.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use agentos_lookup::is_executable;

use super::{MANAGERS, Places};

/// Folders of the system, which every program may read.
const SYSTEM: [&str; 12] = [
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/Library",
    "/nix",
    "/opt",
    "/sbin",
    "/System",
    "/usr",
    "/home/linuxbrew/.linuxbrew",
];
/// Most links that are followed on the way to a file, as in Linux (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Party that names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The user: on the command line, in a profile, or by the search path.
    User,
    /// A text of the repository.
    Repository,
}

/// File or folder that a repository names and that is not shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnshownPlace {
    /// Path that the repository names.
    pub named: PathBuf,
    /// Place to which it leads. The same path if no link is on the way.
    pub real: PathBuf,
}

impl Places {
    /// Lists what to show so that a program can run that a text or a link of the repository names.
    ///
    /// # Errors
    /// If the program is not to be shown because only the repository names it.
    pub fn readable_if_known(&self, named: &Path) -> Result<Vec<PathBuf>, UnshownPlace> {
        self.check_named(named, NamedBy::Repository)?;
        Ok(self.readable(named))
    }

    /// Returns where a file leads that a link of the repository names.
    ///
    /// # Errors
    /// If the file is not to be shown because only the repository names it.
    pub fn find_if_known(&self, link: &Path) -> Result<PathBuf, UnshownPlace> {
        let real = link.canonicalize().unwrap_or_else(|_| link.to_owned());
        if is_executable(&real) && self.is_known_file(&real, link) {
            Ok(real)
        } else {
            Err(UnshownPlace::new(link, real))
        }
    }

    /// Returns the folder itself if it may be shown although a repository names it.
    ///
    /// # Errors
    /// If only the repository names it.
    pub fn folder_if_known(&self, named: &Path) -> Result<PathBuf, UnshownPlace> {
        let real = named.canonicalize().unwrap_or_else(|_| named.to_owned());
        if self.is_known_folder(&real) {
            Ok(real)
        } else {
            Err(UnshownPlace::new(named, real))
        }
    }

    /// Returns where a file leads that the user names.
    ///
    /// # Errors
    /// If a link of the repository leads out of it, to a file that only the repository names.
    pub fn follow_own(&self, file: &Path) -> Result<PathBuf, UnshownPlace> {
        self.check_named(file, NamedBy::User)
    }

    /// Returns where a file or folder leads, if it may be shown.
    pub(super) fn check_named(&self, named: &Path, by: NamedBy) -> Result<PathBuf, UnshownPlace> {
        let walk = self.walk_links(named);
        let unshown = || UnshownPlace::new(named, walk.real.clone());
        match by {
            NamedBy::User if !walk.is_led_by_repository => return Ok(walk.real),
            NamedBy::User => {}
            // A key file is no program, whatever its folder.
            NamedBy::Repository if !is_executable(named) => return Err(unshown()),
            NamedBy::Repository => {
                // The link's own folder counts too: a program finds its libraries next to the name by which it was started.
                let first = with_real_folder(named);
                if !self.is_known_file(&first, named) {
                    return Err(unshown());
                }
            }
        }
        if self.is_known_file(&walk.real, named) {
            Ok(walk.real)
        } else {
            Err(unshown())
        }
    }

    /// Returns true if a link of the repository leads out of it on the way to this place, to a folder that only the repository
    /// names.
    #[must_use]
    pub fn leaves_repository(&self, place: &Path) -> bool {
        let walk = self.walk_links(place);
        walk.is_led_by_repository && !self.is_in_repository(&walk.real) && !self.is_known_folder(&walk.real)
    }

    /// Returns true if a file lies in the repository, in a known folder, or where a program of the search path leads.
    fn is_known_file(&self, file: &Path, named: &Path) -> bool {
        let is_inside = file.parent().is_some_and(|folder| self.is_known_folder(folder));
        is_inside || self.is_in_repository(file) || self.is_on_search_path(file, named)
    }

    /// Returns true if a folder is part of the system or of a tool manager, or is on the user's search path.
    fn is_known_folder(&self, real: &Path) -> bool {
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let is_of_user = home.is_some_and(|home| real.starts_with(home));
        let is_of_system = SYSTEM.iter().any(|folder| real.starts_with(folder)) && !is_of_user;
        is_of_system
            || self.manager_folders().any(|folder| real.starts_with(folder))
            || self.own_search_path().any(|folder| real == folder)
    }

    /// Returns the folders of tool managers, where their links lead.
    fn manager_folders(&self) -> impl Iterator<Item = PathBuf> {
        let of_home = self.home.iter().flat_map(|home| {
            let parts = MANAGERS.iter().flat_map(|(_, read)| read.iter());
            parts.map(move |part| home.join(part))
        });
        let all: Vec<PathBuf> = of_home
            .chain(self.toolchains.iter().cloned())
            .chain(self.rustup())
            // A variable may name a folder of the repository, which the repository can replace by a link.
            .filter(|folder| !self.walk_links(folder).is_led_by_repository)
            .collect();
        all.into_iter().filter_map(|folder| folder.canonicalize().ok())
    }

    /// Returns the folders of the search path that are not the repository's, where their links lead.
    fn own_search_path(&self) -> impl Iterator<Item = PathBuf> {
        let all = self.path.iter().map(|folder| self.walk_links(folder));
        all.filter(|walk| !walk.is_led_by_repository && !self.is_in_repository(&walk.real))
            .map(|walk| walk.real)
    }

    /// Returns true if a program of the search path is a link to this file. The names that are tried are those of the file, with
    /// and without a version.
    fn is_on_search_path(&self, file: &Path, named: &Path) -> bool {
        let mut names: Vec<String> = Vec::new();
        for path in [file, named] {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            let version = name.strip_prefix(plain).unwrap_or_default();
            let major = version.split('.').next().unwrap_or_default();
            names.extend([name.to_owned(), plain.to_owned(), format!("{plain}{major}")]);
        }
        let leads_here = |found: PathBuf| found.canonicalize().is_ok_and(|real| real == file);
        self.own_search_path()
            .any(|folder| names.iter().any(|name| leads_here(folder.join(name))))
    }

    /// Follows the links on the way to a place, and notes whether one of them lies in the repository.
    fn walk_links(&self, place: &Path) -> LinkWalk {
        let mut walk = LinkWalk {
            real: PathBuf::new(),
            is_led_by_repository: false,
        };
        let mut parts: VecDeque<OsString> = own_parts(place);
        let mut links = 0;
        while let Some(part) = parts.pop_front() {
            if part == ".." {
                walk.real.pop();
                continue;
            }
            let next = walk.real.join(&part);
            let Ok(target) = next.read_link() else {
                walk.real = next;
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                walk.real = next;
                break;
            }
            walk.is_led_by_repository |= self.is_in_repository(&walk.real);
            if target.is_absolute() {
                walk.real = PathBuf::new();
            }
            for part in own_parts(&target).into_iter().rev() {
                parts.push_front(part);
            }
        }
        walk
    }
}

impl UnshownPlace {
    fn new(named: &Path, real: PathBuf) -> Self {
        Self {
            named: named.to_owned(),
            real,
        }
    }
}

/// The end of a walk over links.
#[derive(Debug)]
struct LinkWalk {
    /// Place to which the path leads.
    real: PathBuf,
    /// True if a link in the repository was followed.
    is_led_by_repository: bool,
}

/// Lists the parts of a path, without `.`.
fn own_parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

/// Resolves the links on the way to a file, but not the file itself if it is a link.
fn with_real_folder(file: &Path) -> PathBuf {
    let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, file.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        (None, _) | (_, None) => file.to_owned(),
    }
}
