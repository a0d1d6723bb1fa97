//! The gate's own observations outside the sandbox: changed files, connections, remaining processes.
//!
//! Owns: measuring and comparing. Never: uses the rogue's report.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ground::Ground;
use super::whole::list_entries;
use crate::error::GateError;
use crate::witness::{self, FileMap, RepoState};

/// The state of everything outside before the attempts.
pub(super) struct OutsideState {
    repository: RepoState,
    files: FileMap,
}

/// An observation: id, what must hold, whether it holds, and a description.
pub(super) type OutsideFinding = (&'static str, &'static str, bool, String);

/// Folders of the product's own files in a home: keys, settings, and the default cache.
const OWN: [&str; 4] = [".config", ".agentos", ".local", ".cache"];

impl Ground {
    /// Measures everything outside.
    pub(super) fn measure(&self) -> Result<OutsideState, GateError> {
        Ok(OutsideState {
            repository: RepoState::measure(self.repository())?,
            files: self.list_outside()?,
        })
    }

    /// Lists every file outside, except those of the repository.
    fn list_outside(&self) -> Result<FileMap, GateError> {
        let mut files = FileMap::new();
        for folder in [self.outside(), self.spare_folder(), self.home(), self.shown()] {
            let own = |path: &Path| OWN.iter().any(|name| path.starts_with(name));
            let mut found = FileMap::new();
            witness::list_files(&folder, &folder, &own, &mut found)?;
            files.extend(found.into_iter().map(|(path, seen)| (folder.join(path), seen)));
        }
        Ok(files)
    }

    /// Returns the paths outside that changed.
    pub(super) fn changed_paths(&self, before: &OutsideState) -> Result<Vec<PathBuf>, GateError> {
        Ok(witness::changed_paths(&before.files, &self.list_outside()?))
    }

    /// Compares everything outside with the state before.
    pub(super) fn find_differences(&self, before: &OutsideState) -> Result<Vec<OutsideFinding>, GateError> {
        let repository = match RepoState::measure(self.repository()) {
            Ok(after) => before.repository.list_differences(&after),
            Err(error) => vec![format!("it cannot be read any more: {error}")],
        };
        let memory = Path::new("/dev/shm").join(self.run_token());
        let shared = std::fs::read_to_string(memory).unwrap_or_default();
        let shared: Vec<String> = (shared != "canary\n")
            .then(|| format!("it is `{shared}`"))
            .into_iter()
            .collect();
        let is_there = |place: &String| Path::new(place).exists();
        let left = self.places_left().into_iter().filter(is_there).collect();
        let victim = if self.victim_lives() {
            Vec::new()
        } else {
            vec!["it is gone".to_owned()]
        };
        // The evidence may be shown to others, so no blob may contain the marker.
        let kept = witness::files_containing(&self.blob_folder(), self.marker.as_bytes())?;
        let finding = |id, name, problems: Vec<String>| {
            let said = match problems.is_empty() {
                true => "unchanged".to_owned(),
                false => problems.join("; "),
            };
            (id, name, problems.is_empty(), said)
        };
        Ok(vec![
            finding("repository", "the repository is byte-identical", repository),
            finding(
                "outside",
                "every file outside is unchanged",
                path_texts(self.changed_paths(before)?),
            ),
            finding("shared-memory-outside", "shared memory is unchanged", shared),
            finding("nothing-left-outside", "no run left a file for another", left),
            finding("victim", "the other process lives", victim),
            finding(
                "silence",
                "no socket outside heard anything",
                self.listeners.take_heard(),
            ),
            finding(
                "processes-left",
                "no process of the rogue is left",
                self.left_behind(),
            ),
            finding(
                "secrets-in-evidence",
                "no secret of the outside reached the record",
                path_texts(kept),
            ),
        ])
    }

    /// Returns the tools' processes that are still alive. Their command line, environment or mounts contain a path of this
    /// suite. A tool can change the first two, but not its mounts.
    pub(super) fn left_behind(&self) -> Vec<String> {
        self.tool_processes().into_iter().map(|(_, line)| line).collect()
    }

    /// Ends the processes that a run left, so that the next run is judged separately.
    pub(super) fn end_left_behind(&self) {
        for (number, _) in self.tool_processes() {
            // The process may have ended in between.
            let _ = Command::new("kill").args(["-9", &number.to_string()]).status();
        }
    }

    fn tool_processes(&self) -> Vec<(u32, String)> {
        let own = self.own_processes();
        let places = [self.top_folder(), self.caches()].map(|place| place.as_os_str().as_encoded_bytes());
        let process = |place: PathBuf| {
            let number: u32 = place.file_name()?.to_str()?.parse().ok()?;
            let read = |file: &str| std::fs::read(place.join(file)).unwrap_or_default();
            let names_us = |file: &&str| {
                let bytes = read(file);
                places
                    .iter()
                    .any(|text| bytes.windows(text.len()).any(|window| window == *text))
            };
            let is_ours = !own.contains(&number) && ["cmdline", "environ", "mountinfo"].iter().any(names_us);
            let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            is_ours.then(|| (number, format!("process {number}: {}", line.trim_end())))
        };
        list_entries(Path::new("/proc"))
            .into_iter()
            .filter_map(process)
            .collect()
    }
}

fn path_texts(paths: Vec<PathBuf>) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}
