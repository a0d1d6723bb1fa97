//! The gate's own look at what lies outside: what changed, what was heard, what is left.
//!
//! Owns: measuring and comparing. Never: asks the rogue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ground::Ground;
use crate::error::GateError;
use crate::witness::{self, State};

/// State of everything outside at one moment.
pub(super) struct Before {
    repository: State,
    files: BTreeMap<PathBuf, String>,
}

/// Outcome of one look: id, what must hold, whether it does, what was seen.
pub(super) type Finding = (&'static str, &'static str, bool, String);

impl Ground {
    /// Measures everything outside.
    pub(super) fn measure(&self) -> Result<Before, GateError> {
        Ok(Before {
            repository: State::measure(self.repository())?,
            files: self.files()?,
        })
    }

    /// Every file outside that is not the repository's.
    fn files(&self) -> Result<BTreeMap<PathBuf, String>, GateError> {
        let mut files = BTreeMap::new();
        for folder in [self.outside(), self.spare(), self.home(), self.shown()] {
            // The product keeps its own keys and settings in the home, and a cache where it is told of no other.
            let own = |path: &Path| {
                [".config", ".agentos", ".local", ".cache"]
                    .iter()
                    .any(|name| path.starts_with(name))
            };
            let mut found = BTreeMap::new();
            witness::list(&folder, &folder, &own, &mut found)?;
            files.extend(found.into_iter().map(|(path, seen)| (folder.join(path), seen)));
        }
        Ok(files)
    }

    /// Paths outside that are not as they were.
    pub(super) fn changed_paths(&self, before: &Before) -> Result<Vec<PathBuf>, GateError> {
        let after = self.files()?;
        let mut changed: Vec<PathBuf> = before.files.keys().chain(after.keys()).cloned().collect();
        changed.retain(|path| before.files.get(path) != after.get(path));
        changed.sort();
        changed.dedup();
        Ok(changed)
    }

    /// Compares everything outside with what it was.
    pub(super) fn differences(&self, before: &Before) -> Result<Vec<Finding>, GateError> {
        let repository = match State::measure(self.repository()) {
            Ok(after) => before.repository.differences(&after),
            Err(error) => vec![format!("it cannot be read any more: {error}")],
        };
        let changed: Vec<String> = self
            .changed_paths(before)?
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let memory = Path::new("/dev/shm").join(self.token());
        let shared = std::fs::read_to_string(memory).unwrap_or_default();
        let left: Vec<String> = self
            .places_left()
            .into_iter()
            .filter(|place| Path::new(place).exists())
            .collect();
        let alive = self.victim_lives();
        let heard = self.listeners.heard();
        let processes = self.left_behind();
        let kept = self.secrets_in_evidence()?;
        Ok(vec![
            finding("repository", "the repository is byte-identical", &repository),
            finding("outside", "every file outside is as before", &changed),
            (
                "shared-memory-outside",
                "shared memory is as before",
                shared == "canary\n",
                shared.clone(),
            ),
            finding("nothing-left-outside", "no run left a file for another", &left),
            (
                "victim",
                "the other process lives",
                alive,
                format!("alive: {alive}"),
            ),
            finding("silence", "no socket outside heard anything", &heard),
            finding("processes-left", "no process of the rogue is left", &processes),
            finding(
                "secrets-in-evidence",
                "no secret of the outside reached the record",
                &kept,
            ),
        ])
    }

    /// Blobs of the product's evidence in which the marker stands.
    fn secrets_in_evidence(&self) -> Result<Vec<String>, GateError> {
        let blobs = self.repository().join(".git/agentos/blobs");
        let found = witness::containing(&blobs, self.marker.as_bytes())?;
        Ok(found.iter().map(|path| path.display().to_string()).collect())
    }

    /// Processes of this ground's tools that still live: their command line, their variables or their mounts name it. A
    /// tool can change the first two, never the last.
    pub(super) fn left_behind(&self) -> Vec<String> {
        self.processes().iter().map(|(_, line)| line.clone()).collect()
    }

    /// Ends what a run left behind, so that the next one is judged alone.
    pub(super) fn end_left_behind(&self) {
        for (number, _) in self.processes() {
            // It may have ended by itself meanwhile.
            let _ = Command::new("kill").args(["-9", &number]).status();
        }
    }

    fn processes(&self) -> Vec<(String, String)> {
        let own = self.own_processes();
        let places = [self.top(), self.caches()].map(|place| place.as_os_str().as_encoded_bytes());
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let names_us = |place: &Path, file: &str| {
            let bytes = std::fs::read(place.join(file)).unwrap_or_default();
            let has = |text: &&[u8]| bytes.windows(text.len()).any(|window| window == *text);
            places.iter().any(has)
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let number = entry.file_name().to_string_lossy().into_owned();
            let Ok(parsed) = number.parse::<u32>() else {
                continue;
            };
            let place = entry.path();
            if own.contains(&parsed)
                || !["cmdline", "environ", "mountinfo"]
                    .iter()
                    .any(|file| names_us(&place, file))
            {
                continue;
            }
            let line = std::fs::read(place.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push((number.clone(), format!("process {number}: {}", line.trim_end())));
        }
        found
    }
}

fn finding(id: &'static str, name: &'static str, problems: &[String]) -> Finding {
    let said = match problems.is_empty() {
        true => "as before".to_owned(),
        false => problems.join("; "),
    };
    (id, name, problems.is_empty(), said)
}
