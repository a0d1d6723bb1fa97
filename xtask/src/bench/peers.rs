//! The peers of landing: where each is found and how it is installed, as `scripts/landing/peers.toml` says.
//!
//! Owns: finding them, and the folder `target/bench-peers`. Never: installs anything elsewhere, or anything at all without
//! `--peers all`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use xshell::{Shell, cmd};

use super::PeerChoice;
use crate::python::run_quietly;
use crate::say;

const TABLE: &str = include_str!("../../../scripts/landing/peers.toml");
const FOLDER: &str = "target/bench-peers";

/// A program, and the tools of `scripts/landing/tools.json` that need it.
#[derive(Debug, Deserialize)]
struct PeerEntry {
    tools: Vec<String>,
    variable: Option<String>,
    program: Option<String>,
    file: Option<String>,
    install: Vec<String>,
}

/// The peers that were found, and those that were not.
#[derive(Debug, Default)]
pub struct FoundPeers {
    /// Names of the tools that the runner can use, in the order of the table.
    pub tools: Vec<String>,
    /// Environment variables for the runner, with the paths of the programs.
    pub environment: Vec<(String, PathBuf)>,
    /// The peers that were not found.
    pub missing: Vec<MissingPeer>,
}

/// A peer that is not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingPeer {
    /// The tools that need it.
    pub tools: Vec<String>,
    /// The commands that install it, from the top of the repository.
    pub install: Vec<String>,
    /// The reason why installing it failed; `None` if that was not tried.
    pub problem: Option<String>,
}

/// Parses the table of peers.
fn load_table() -> Result<Vec<PeerEntry>> {
    #[derive(Deserialize)]
    struct PeerTable {
        peer: Vec<PeerEntry>,
    }
    Ok(toml::from_str::<PeerTable>(TABLE)
        .context("`scripts/landing/peers.toml` does not have the expected shape")?
        .peer)
}

/// Finds the peers, and installs the missing ones if all peers are wanted.
///
/// # Errors
/// When the table of peers cannot be parsed.
pub fn prepare_peers(sh: &Shell, asked: PeerChoice) -> Result<FoundPeers> {
    let mut found = FoundPeers::default();
    if asked == PeerChoice::None {
        return Ok(found);
    }
    for peer in load_table()? {
        let mut place = locate_peer(sh, &peer);
        let mut problem = None;
        // A peer without `file` is a program of the system, which only a person installs.
        if place.is_none() && peer.file.is_some() && asked == PeerChoice::All {
            say(format_args!("installing {}", peer.tools.join(", ")));
            problem = install_peer(sh, &peer.install)
                .err()
                .map(|error| error.to_string());
            place = locate_peer(sh, &peer);
        }
        let PeerEntry {
            tools,
            install,
            variable,
            ..
        } = peer;
        match place {
            Some(place) => {
                found.tools.extend(tools);
                found
                    .environment
                    .extend(variable.map(|variable| (variable, place)));
            }
            None => found.missing.push(MissingPeer {
                tools,
                install,
                problem,
            }),
        }
    }
    Ok(found)
}

/// Runs the commands that install a peer.
fn install_peer(sh: &Shell, commands: &[String]) -> Result<()> {
    commands.iter().try_for_each(|line| {
        let (program, words) = line.split_once(' ').unwrap_or((line, ""));
        let words = words.split(' ');
        run_quietly(cmd!(sh, "{program} {words...}"))
    })
}

/// Finds a peer's program, or returns `None` if it is not installed.
fn locate_peer(sh: &Shell, peer: &PeerEntry) -> Option<PathBuf> {
    if let Some(pattern) = &peer.file {
        let parts: Vec<&str> = pattern.split('/').collect();
        return find_file(sh, &sh.current_dir().join(FOLDER), &parts);
    }
    let (program, path) = (peer.program.as_ref()?, sh.var_os("PATH")?);
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Returns the first file that matches a pattern, given as its parts; a part may end with `*`. `None` if no file matches.
fn find_file(sh: &Shell, at: &Path, parts: &[&str]) -> Option<PathBuf> {
    let Some((part, rest)) = parts.split_first() else {
        return at.is_file().then(|| at.to_path_buf());
    };
    // Folders of installed peers end in a version or a platform, so a `*` at the end suffices.
    let Some(beginning) = part.strip_suffix('*') else {
        return find_file(sh, &at.join(part), rest);
    };
    let entries = sh.read_dir(at).ok()?;
    let named = |path: &&PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(beginning))
    };
    entries
        .iter()
        .filter(named)
        .find_map(|path| find_file(sh, path, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_the_beginnings_of_its_folders() {
        let sh = Shell::new().expect("a shell");
        let top = sh.create_temp_dir().expect("a folder");
        let file = top.path().join("codex-1/vendor/some-system/bin/codex");
        sh.create_dir(top.path().join("codex-0/vendor"))
            .expect("a folder");
        sh.write_file(&file, "").expect("a file");
        let walk = |pattern: &str| find_file(&sh, top.path(), &pattern.split('/').collect::<Vec<_>>());
        assert_eq!(walk("codex-*/vendor/*/bin/codex"), Some(file));
        assert_eq!(walk("codex-*/vendor/*/bin/other"), None);
        assert_eq!(walk("codex-1/vendor"), None, "a folder is no program");
    }

    #[test]
    fn nothing_is_installed_outside_the_folder_of_the_peers() {
        for peer in load_table()
            .expect("the table")
            .iter()
            .filter(|peer| peer.file.is_some())
        {
            for command in &peer.install {
                assert!(command.contains(FOLDER), "{command}");
            }
        }
    }

    #[test]
    fn a_missing_peer_is_named_with_what_installs_it() {
        let sh = Shell::new().expect("a shell");
        let top = sh.create_temp_dir().expect("a folder");
        sh.change_dir(top.path());
        let found = prepare_peers(&sh, PeerChoice::Installed).expect("peers");
        let mpatch = found.missing.iter().find(|missing| missing.tools == ["mpatch"]);
        assert_eq!(
            mpatch.expect("mpatch").install,
            ["cargo install --locked --root target/bench-peers/mpatch-1.8.1 mpatch@1.8.1"]
        );
        assert!(
            prepare_peers(&sh, PeerChoice::None)
                .expect("peers")
                .missing
                .is_empty()
        );
    }
}
