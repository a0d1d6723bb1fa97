//! The peers of landing: where each is found and what installs it.
//!
//! Owns: the table of peers and the folder `target/bench-peers`. Never: installs anything elsewhere, or anything
//! at all unless all peers were asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use super::Peers;
use crate::say;

/// One program and the tools of `scripts/landing/tools.json` that it makes possible.
struct Peer {
    tools: &'static [&'static str],
    /// The variable by which the runner is told of it; none where it is found by its name.
    variable: Option<&'static str>,
    place: Place,
    /// Commands, run from the top of the repository one after the other.
    install: &'static [&'static str],
}

enum Place {
    /// A program on the search path. Belongs to the system, so it is never installed from here.
    System(&'static str),
    /// A file below `target/bench-peers`. `*` stands for any ending of a folder's name.
    Below(&'static str),
}

const FOLDER: &str = "target/bench-peers";

/// The folders carry the version, so that another version here is a peer that is not installed yet.
const PEERS: &[Peer] = &[
    Peer {
        tools: &[
            "git-apply",
            "git-apply-loose",
            "git-apply-recount",
            "git-apply-3way",
            "git-apply-check",
        ],
        variable: None,
        place: Place::System("git"),
        install: &["apt-get install git"],
    },
    Peer {
        tools: &["patch-F3"],
        variable: None,
        place: Place::System("patch"),
        install: &["apt-get install patch"],
    },
    Peer {
        tools: &["libgit2"],
        variable: Some("PEERS"),
        place: Place::Below("libgit2/release/landing-peers"),
        install: &[
            "cargo build --release --locked --manifest-path scripts/landing/peers/Cargo.toml \
             --target-dir target/bench-peers/libgit2",
        ],
    },
    Peer {
        tools: &["flickzeug"],
        variable: Some("FLICKZEUG"),
        place: Place::Below("flickzeug-0.6.0/bin/flickzeug"),
        install: &[
            "cargo install --locked --features cli --root target/bench-peers/flickzeug-0.6.0 flickzeug@0.6.0",
        ],
    },
    Peer {
        tools: &["mpatch"],
        variable: Some("MPATCH"),
        place: Place::Below("mpatch-1.8.1/bin/mpatch"),
        install: &["cargo install --locked --root target/bench-peers/mpatch-1.8.1 mpatch@1.8.1"],
    },
    Peer {
        tools: &["jsdiff"],
        variable: Some("JSDIFF"),
        place: Place::Below("jsdiff-9.0.0/node_modules/diff/libcjs/index.js"),
        install: &["npm install --no-audit --no-fund --prefix target/bench-peers/jsdiff-9.0.0 diff@9.0.0"],
    },
    Peer {
        tools: &["purepatch", "aider"],
        variable: Some("PY_PEERS"),
        place: Place::Below("python/bin/python"),
        install: &[
            "python3 -m venv target/bench-peers/python",
            "target/bench-peers/python/bin/pip install --quiet --disable-pip-version-check \
             -r scripts/landing/requirements.txt",
        ],
    },
    Peer {
        tools: &["codex"],
        variable: Some("CODEX"),
        place: Place::Below("codex-0.169.0/node_modules/@openai/codex-*/vendor/*/bin/codex"),
        install: &[
            "npm install --no-audit --no-fund --prefix target/bench-peers/codex-0.169.0 @openai/codex@0.169.0",
        ],
    },
];

/// What there is to measure beside the product.
#[derive(Debug, Default)]
pub struct Found {
    /// Names of tools the runner can be given, in the order of the table.
    pub tools: Vec<&'static str>,
    /// What the runner must have in its environment.
    pub environment: Vec<(&'static str, PathBuf)>,
    /// The others.
    pub missing: Vec<Missing>,
}

/// A peer that is not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The tools it stands for.
    pub tools: Vec<&'static str>,
    /// The commands that install it, from the top of the repository.
    pub install: Vec<&'static str>,
    /// Why installing it did not help, where that was tried.
    pub problem: Option<String>,
}

/// Looks for the peers, and installs those that are missing where all were asked for.
pub fn prepare(root: &Path, asked: Peers) -> Found {
    let mut found = Found::default();
    if asked == Peers::None {
        return found;
    }
    for peer in PEERS {
        let mut place = locate(root, &peer.place);
        let mut problem = None;
        if let (None, Peers::All, Place::Below(_)) = (&place, asked, &peer.place) {
            say(&format!("installing {}", peer.tools.join(", ")));
            problem = install(root, peer.install).err();
            place = locate(root, &peer.place);
        }
        match place {
            Some(place) => {
                found.tools.extend(peer.tools);
                found
                    .environment
                    .extend(peer.variable.map(|variable| (variable, place)));
            }
            None => found.missing.push(Missing {
                tools: peer.tools.to_vec(),
                install: peer.install.to_vec(),
                problem,
            }),
        }
    }
    found
}

fn locate(root: &Path, place: &Place) -> Option<PathBuf> {
    match place {
        Place::System(name) => {
            let path: OsString = std::env::var_os("PATH")?;
            std::env::split_paths(&path)
                .map(|folder| folder.join(name))
                .find(|file| file.is_file())
        }
        Place::Below(pattern) => {
            let parts: Vec<&str> = pattern.split('/').collect();
            walk(&root.join(FOLDER), &parts)
        }
    }
}

/// The first file that the parts of a pattern lead to.
fn walk(at: &Path, parts: &[&str]) -> Option<PathBuf> {
    let Some((part, rest)) = parts.split_first() else {
        return at.is_file().then(|| at.to_path_buf());
    };
    let Some(beginning) = part.strip_suffix('*') else {
        return walk(&at.join(part), rest);
    };
    let mut names: Vec<OsString> = std::fs::read_dir(at)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| name.to_string_lossy().starts_with(beginning))
        .collect();
    names.sort();
    names.iter().find_map(|name| walk(&at.join(name), rest))
}

fn install(root: &Path, commands: &[&str]) -> Result<(), String> {
    for line in commands {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or_default();
        let output = Command::new(program)
            .args(words)
            .current_dir(root)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`{program}` cannot be run: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            return Err(last.unwrap_or("it failed and said nothing").trim().to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_the_beginnings_of_its_folders() {
        let top = tempfile::tempdir().expect("a folder");
        let file = top.path().join("codex-1/vendor/some-system/bin/codex");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::create_dir_all(top.path().join("codex-0/vendor")).expect("folders");
        std::fs::write(&file, "").expect("a file");
        let walk = |pattern: &str| walk(top.path(), &pattern.split('/').collect::<Vec<_>>());
        assert_eq!(walk("codex-*/vendor/*/bin/codex"), Some(file));
        assert_eq!(walk("codex-*/vendor/*/bin/other"), None);
        assert_eq!(walk("codex-1/vendor"), None, "a folder is no program");
    }

    #[test]
    fn nothing_is_installed_outside_the_folder_of_the_peers() {
        for peer in PEERS {
            if let Place::Below(_) = peer.place {
                for command in peer.install {
                    assert!(command.contains(FOLDER), "{command}");
                }
            }
        }
    }

    #[test]
    fn a_missing_peer_is_named_with_what_installs_it() {
        let top = tempfile::tempdir().expect("a folder");
        let found = prepare(top.path(), Peers::Installed);
        let mpatch = found
            .missing
            .iter()
            .find(|missing| missing.tools == ["mpatch"])
            .expect("mpatch");
        assert_eq!(
            mpatch.install,
            ["cargo install --locked --root target/bench-peers/mpatch-1.8.1 mpatch@1.8.1"]
        );
        assert!(prepare(top.path(), Peers::None).missing.is_empty());
    }
}
