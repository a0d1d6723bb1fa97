//! The user's check command, run on a copy of the base with a candidate's files in it.
//!
//! Owns: writing the candidate into the copy, and the report about the command. Never: uses the command's own changes, gives
//! it a key, a network or the repository, or runs it unconfined.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_sandbox::{
    FinishedRun, LaunchSpec, OverlayMount, RunCaps, RunFolders, Sandbox, SandboxError, SandboxReport,
    StopHandle, ToolInput, hide_file, remove_file, replace_file,
};
use agentos_tool::{Progress, ProgressSink, ToolError};

use crate::adapter::check_layers;
use crate::background::{ProgressChannel, start_work};
use crate::checkout::{SharedPath, check_shared_folders, keep_while_alive};
use crate::views::{FolderView, ViewFallback, ViewPlace, add_views};
use crate::watched_files::WatchedFiles;
use crate::{AgentError, Checkout, Copies, Places, Program};

/// Maximum bytes that a command may write.
const MOST_OUTPUT: usize = 64 << 20;
/// Maximum bytes that are kept of the end of the output.
const KEPT: usize = 16 << 10;
/// Shell that runs the command. It exists on every system on which the sandbox can confine a program.
const SHELL: &str = "sh";

/// File of a candidate, written or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFile {
    /// Path in the copy, checked by landing.
    pub path: String,
    /// Content. `None` if the file is deleted.
    pub content: Option<Vec<u8>>,
    /// True if the file is executable.
    pub executable: bool,
}

/// Result of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialResult {
    /// Exit code. `None` after a timeout.
    pub code: Option<u8>,
    /// End of its output.
    pub said: String,
    /// Milliseconds from start to end.
    pub elapsed_ms: u64,
    /// Sandbox layers that confined it.
    pub layers: Vec<String>,
    /// Paths that the command changed, if the trial watches them. New files that the commit ignores are left out.
    pub changed: Vec<String>,
}

/// Check command with everything it needs to run.
#[derive(Debug, Clone)]
pub struct Trial {
    program: Program,
    places: Places,
    sandbox: Sandbox,
    command: String,
    time: Duration,
    views: Vec<FolderView>,
    /// True if the copy's files get the time of the run before the command.
    freshens: bool,
    /// True if the result lists the files that the command changed.
    watches: bool,
}

impl Trial {
    /// Makes a trial of a shell command. `program` lists what it may read and share; start from [`Trial::program`].
    #[must_use]
    pub fn new(program: Program, places: Places, sandbox: Sandbox, command: &str, time: Duration) -> Self {
        Self {
            program,
            places,
            sandbox,
            command: command.to_owned(),
            time,
            views: Vec::new(),
            freshens: false,
            watches: false,
        }
    }

    /// Makes the result list the files that the command changed. They are compared from outside, after it has ended.
    #[must_use]
    pub fn watch_files(mut self) -> Self {
        self.watches = true;
        self
    }

    /// Shows folders of the user's as views. One in the copy is left out if the commit does not ignore it.
    ///
    /// With `freshens`, all files of the copy get the time of the run before the command: a build tool that compares times would
    /// otherwise take the results of other sources, which it finds in a view, for up to date.
    #[must_use]
    pub fn with_views(mut self, views: Vec<FolderView>, freshens: bool) -> Self {
        self.views = views;
        self.freshens = freshens;
        self
    }

    /// Describes the shell that runs the command, without any files or keys of the user.
    #[must_use]
    pub fn program() -> Program {
        Program::new("check", SHELL, &[])
    }

    /// Runs the command on a copy of the base with the candidate's files. Its output goes to `progress` as it arrives.
    ///
    /// # Errors
    /// If the command could not be run. A command that fails is a result, not an error.
    pub async fn run(
        &self,
        name: &str,
        copies: Box<dyn Copies>,
        files: Vec<CandidateFile>,
        progress: &dyn ProgressSink,
    ) -> Result<TrialResult, ToolError> {
        let stop = StopHandle::default();
        let (trial, name, work_stop) = (self.clone(), name.to_owned(), stop.clone());
        let work = move |channel: &ProgressChannel| {
            trial.run_task(&name, copies.as_ref(), &files, &work_stop, channel)
        };
        let done = match start_work(work, move || stop.stop(), progress) {
            Some(background) => background.await,
            None => Err(AgentError::Thread),
        };
        done.map_err(|error| error.into_tool_error(0))
    }

    fn run_task(
        &self,
        name: &str,
        copies: &dyn Copies,
        files: &[CandidateFile],
        stop: &StopHandle,
        channel: &ProgressChannel,
    ) -> Result<TrialResult, AgentError> {
        let lease = self.sandbox.lease_identity()?;
        let owner = lease.as_ref().map(|lease| lease.identity().tool);
        let checkout = copies.take(owner).map_err(AgentError::Copy)?;
        check_shared_folders(checkout.as_ref(), &self.program.shared)?;
        let views = self.usable_views(checkout.as_ref());
        let within = |overlaid| {
            let scratch = RunFolders::new(&copies.folder(), name, lease.clone())?;
            let place = CheckPlace {
                checkout: checkout.as_ref(),
                scratch: &scratch,
                views: &views,
                overlaid,
            };
            self.run_in_copy(&place, files, stop, channel)
        };
        let done = match within(true) {
            // Containers often forbid mounting an overlay; a full copy takes longer and gives the same result.
            Err(AgentError::Sandbox(SandboxError::NoOverlay(_))) => within(false),
            done => done,
        };
        keep_while_alive(checkout, &done);
        done
    }

    /// Lists the views that can be shown over this commit's files: those that the user named, and of the others those that the
    /// commit ignores.
    fn usable_views(&self, checkout: &dyn Checkout) -> Vec<FolderView> {
        let is_usable = |view: &&FolderView| match &view.place {
            ViewPlace::Same | ViewPlace::Home(_) | ViewPlace::GitDir(_) => true,
            ViewPlace::Copy(name) => {
                let folder = SharedPath {
                    from: view.from.clone(),
                    name: name.clone(),
                    is_excluded: false,
                };
                let is_named = self.program.shared.iter().any(|shared| shared.name == *name);
                is_named || check_shared_folders(checkout, &[folder]).is_ok()
            }
        };
        let mut all: Vec<FolderView> = self.views.iter().filter(is_usable).cloned().collect();
        for shared in &self.program.shared {
            let place = ViewPlace::Copy(shared.name.clone());
            if !all.iter().any(|view| view.place == place) {
                all.push(FolderView {
                    from: shared.from.clone(),
                    place,
                    fallback: ViewFallback::CopyOrShare,
                });
            }
        }
        all
    }

    /// Runs the command over an overlay of the copy, or in a full copy of it.
    fn run_in_copy(
        &self,
        at: &CheckPlace<'_>,
        files: &[CandidateFile],
        stop: &StopHandle,
        channel: &ProgressChannel,
    ) -> Result<TrialResult, AgentError> {
        let CheckPlace {
            checkout,
            scratch,
            overlaid,
            ..
        } = *at;
        let (place, lower) = if overlaid {
            (scratch.changes(), Some(checkout.files()))
        } else {
            scratch.fill(&checkout.files())?;
            (scratch.copy(), None)
        };
        let borrowed = checkout.give_history(&place).map_err(AgentError::Copy)?;
        // Deletions first: a deleted file may make room for a folder of the same name.
        delete_files(&place, overlaid, files)?;
        write_files(&place, files)?;
        let watched = WatchedFiles {
            checkout,
            place: &place,
            overlaid,
            files,
        };
        let before = if self.watches {
            watched.read()?
        } else {
            String::new()
        };
        let mut order = self.launch_spec(scratch, lower)?;
        for name in add_views(&mut order, at.views, scratch, overlaid)? {
            let line = format!("`{name}` is too large to be copied for the check\n");
            channel.report_progress(Progress::Transcript(line));
        }
        order.readable.extend(borrowed);
        let (kept, ended) = self.run_command(scratch, &order, stop, channel)?;
        let elapsed = ended.as_ref().map_or(self.time, |ended| ended.elapsed);
        let changed = if self.watches {
            watched.list_changed(&before)?
        } else {
            Vec::new()
        };
        Ok(TrialResult {
            changed,
            code: ended.as_ref().map(|ended| ended.code),
            said: String::from_utf8_lossy(&kept).into_owned(),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            layers: ended.map(|ended| layer_names(&ended.report)).unwrap_or_default(),
        })
    }

    /// Runs the command, and returns the end of its output. `None` as its end if it did not end in time.
    fn run_command(
        &self,
        scratch: &RunFolders,
        order: &LaunchSpec,
        stop: &StopHandle,
        channel: &ProgressChannel,
    ) -> Result<(Vec<u8>, Option<FinishedRun>), AgentError> {
        let caps = RunCaps {
            time: self.time,
            output: MOST_OUTPUT,
        };
        // Only the end is kept for the report: compilers and test runners print their summary last.
        let mut kept = Vec::new();
        let mut seen = |_, bytes: &[u8]| {
            kept.extend_from_slice(bytes);
            let extra = kept.len().saturating_sub(KEPT);
            kept.drain(..extra);
            let text = String::from_utf8_lossy(bytes).into_owned();
            channel.report_progress(Progress::Transcript(text));
        };
        let input = ToolInput::Bytes(Vec::new());
        match scratch.run(&self.sandbox, order, input, caps, stop, &mut seen) {
            Ok(ended) => {
                check_layers(&ended.report)?;
                Ok((kept, Some(ended)))
            }
            // A check that does not end in time is a failed check, not a failure of ours.
            Err(SandboxError::OutOfTime(_)) => Ok((kept, None)),
            Err(error) => Err(error.into()),
        }
    }

    fn launch_spec(&self, scratch: &RunFolders, lower: Option<PathBuf>) -> Result<LaunchSpec, AgentError> {
        let copy = scratch.copy();
        let mut order = self
            .program
            .launch_spec(&self.places, scratch, &copy, copy.clone())?;
        order.args = vec!["-c".to_owned(), self.shell_line()];
        match lower {
            None => order.writable.push(copy.clone()),
            Some(lower) => order.overlays.push(OverlayMount {
                lower,
                upper: scratch.changes(),
                work: scratch.kernel(),
                at: copy.clone(),
            }),
        }
        Ok(order)
    }

    /// Returns the line for the shell: the command, after the files of the copy got new times if the trial needs that.
    fn shell_line(&self) -> String {
        if !self.freshens {
            return self.command.clone();
        }
        let in_copy = self.views.iter().filter_map(|view| match &view.place {
            ViewPlace::Copy(name) => Some(name.as_str()),
            ViewPlace::Same | ViewPlace::Home(_) | ViewPlace::GitDir(_) => None,
        });
        let pruned: String = in_copy
            .chain([".git"])
            .map(|name| format!("-path './{}' -prune -o ", name.replace('\'', "'\\''")))
            .collect();
        // On one line with the command, so that the shell's messages name the user's line 1. A failure only makes a build longer.
        format!(
            "find . {pruned}-type f -exec touch -c {{}} + 2>/dev/null; {}",
            self.command
        )
    }
}

/// The place of one run of the command.
struct CheckPlace<'a> {
    checkout: &'a dyn Checkout,
    scratch: &'a RunFolders,
    views: &'a [FolderView],
    /// True if the files are shown through an overlay; false if they are copied.
    overlaid: bool,
}

fn layer_names(report: &SandboxReport) -> Vec<String> {
    let names = report.layers.iter().map(|layer| layer.as_str().to_owned());
    names.collect()
}

/// Writes the candidate's new and changed files.
fn write_files(place: &Path, files: &[CandidateFile]) -> Result<(), AgentError> {
    for file in files {
        if let Some(content) = &file.content {
            let name = Path::new(&file.path);
            replace_file(place, name, content, file.executable)
                .map_err(AgentError::unreadable_at(&place.join(name)))?;
        }
    }
    Ok(())
}

/// Deletes the candidate's deleted files: by removing them from a full copy, or by a whiteout in the overlay's upper directory.
fn delete_files(place: &Path, overlaid: bool, files: &[CandidateFile]) -> Result<(), AgentError> {
    for path in unreplaced_deletions(files) {
        let name = Path::new(path);
        // An overlay hides a lower file behind a whiteout, a device node (see the kernel's `overlayfs` documentation). Not every
        // file system and user may create one; the caller then falls back to a full copy.
        if overlaid {
            let unmarked = |error| {
                let why = format!("`{path}` cannot be marked as deleted: {error}");
                AgentError::Sandbox(SandboxError::NoOverlay(why))
            };
            hide_file(place, name).map_err(unmarked)?;
        } else {
            remove_file(place, name).map_err(AgentError::unreadable_at(&place.join(name)))?;
        }
    }
    Ok(())
}

/// Lists the deleted paths that nothing written replaces. A file that becomes a folder, or whose folder becomes a file, is
/// replaced by the write itself.
fn unreplaced_deletions(files: &[CandidateFile]) -> impl Iterator<Item = &str> {
    let written: BTreeSet<&Path> = files
        .iter()
        .filter(|file| file.content.is_some())
        .map(|file| Path::new(&file.path))
        .collect();
    let folders: BTreeSet<&Path> = written.iter().flat_map(|file| file.ancestors().skip(1)).collect();
    let gone = files.iter().filter(|file| file.content.is_none());
    gone.map(|file| file.path.as_str()).filter(move |path| {
        let path = Path::new(path);
        !folders.contains(path) && !path.ancestors().any(|above| written.contains(above))
    })
}

#[cfg(test)]
mod tests {
    use agentos_beneath::{EntryKind, OpenFolder};

    use super::*;

    fn file(path: &str, there: bool) -> CandidateFile {
        CandidateFile {
            path: path.to_owned(),
            content: there.then(Vec::new),
            executable: false,
        }
    }

    #[test]
    fn what_is_deleted_is_what_nothing_takes_the_place_of() {
        let files = [
            file("-rf", false),
            file("becomes", false),
            file("becomes/a/folder", true),
            file("was/a/folder", false),
            file("was", true),
            file("b c", false),
            file("becomes not", false),
        ];
        assert_eq!(
            unreplaced_deletions(&files).collect::<Vec<_>>(),
            ["-rf", "b c", "becomes not"]
        );
    }

    #[test]
    fn a_file_is_taken_out_of_a_copy_and_marked_over_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        replace_file(place, Path::new("deep/a"), b"x", false).unwrap();
        let files = [file("deep/a", false), file("not/there", false)];
        delete_files(place, false, &files).unwrap();
        let top = OpenFolder::open_root(place).unwrap();
        assert!(
            top.open_path(Path::new("deep"))
                .unwrap()
                .read_names(0)
                .unwrap()
                .is_empty()
        );
        match delete_files(place, true, &files) {
            Ok(()) => {
                for (above, name) in [("deep", "a"), ("not", "there")] {
                    let folder = top.open_path(Path::new(above)).unwrap();
                    let found = folder.inspect_entry(name.as_ref()).unwrap().unwrap();
                    assert_eq!(found.kind, EntryKind::Whiteout, "{above}/{name}");
                }
            }
            Err(error) => {
                assert!(matches!(error, AgentError::Sandbox(SandboxError::NoOverlay(_))));
                eprintln!("skipped: no file can be marked as deleted here: {error}");
            }
        }
    }
}
