//! A user's command, run on a copy of the base in which a candidate's files stand.
//!
//! Owns: putting the candidate into the copy, and what is seen of the command. Never: gives the copy's changes to anybody,
//! shows the command a key, a network or the repository, or runs it where the kernel does not hold it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_sandbox::{
    LaunchSpec, OverlayMount, RunCaps, RunFolders, Sandbox, SandboxError, SandboxReport, SharedFolder,
    StopHandle, ToolInput, hide_file, remove_file, replace_file,
};
use agentos_tool::{Progress, ProgressSink, ToolError};

use crate::adapter::whole;
use crate::background::{Voice, begin};
use crate::checkout::{keep_if_alive, shareable};
use crate::{AgentError, Checkout, Copies, Places, Program};

/// Bytes that a command may write.
const MOST_OUTPUT: usize = 64 << 20;
/// Of them, those at the end that are kept.
const KEPT: usize = 16 << 10;
/// What runs the command; it is on every system on which the sandbox holds anything.
const SHELL: &str = "sh";

/// One file of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its path in the copy: one that landing has let through.
    pub path: String,
    /// Its bytes; none for one that is deleted.
    pub content: Option<Vec<u8>>,
    /// It can be executed.
    pub executable: bool,
}

/// What came of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Its exit code; none where its time was up.
    pub code: Option<u8>,
    /// The end of what it wrote.
    pub said: String,
    /// From start to end.
    pub elapsed_ms: u64,
    /// What held it.
    pub layers: Vec<String>,
}

/// A command that candidates are tried with.
#[derive(Debug, Clone)]
pub struct Trial {
    program: Program,
    places: Places,
    sandbox: Sandbox,
    command: String,
    time: Duration,
}

impl Trial {
    /// A trial by this command, in words of a shell. `program` says what more it may see: see [`Trial::program`].
    #[must_use]
    pub fn new(program: Program, places: Places, sandbox: Sandbox, command: &str, time: Duration) -> Self {
        Self {
            program,
            places,
            sandbox,
            command: command.to_owned(),
            time,
        }
    }

    /// What runs a command: a shell with nothing of the user's.
    #[must_use]
    pub fn program() -> Program {
        Program::new("check", SHELL, &[])
    }

    /// Tries a candidate on a copy of its base. What the command writes goes to `progress` as it comes.
    ///
    /// # Errors
    /// When it could not be tried. A command that fails is no error but a verdict.
    pub async fn run(
        &self,
        name: &str,
        copies: Box<dyn Copies>,
        files: Vec<Written>,
        progress: &dyn ProgressSink,
    ) -> Result<Verdict, ToolError> {
        let stop = StopHandle::default();
        let (trial, name, work_stop) = (self.clone(), name.to_owned(), stop.clone());
        let work = move |voice: &Voice| trial.work(&name, copies.as_ref(), &files, &work_stop, voice);
        let done = match begin(work, move || stop.stop(), progress) {
            Some(background) => background.await,
            None => Err(AgentError::Thread),
        };
        done.map_err(|error| error.into_tool_error(0))
    }

    fn work(
        &self,
        name: &str,
        copies: &dyn Copies,
        files: &[Written],
        stop: &StopHandle,
        voice: &Voice,
    ) -> Result<Verdict, AgentError> {
        let lease = self.sandbox.lease_identity()?;
        let owner = lease.as_ref().map(|lease| lease.identity().tool);
        let checkout = copies.take(owner).map_err(AgentError::Copy)?;
        shareable(checkout.as_ref(), &self.program.shared)?;
        let within = |overlaid| {
            let scratch = RunFolders::new(&copies.folder(), name, lease.clone())?;
            self.tried(checkout.as_ref(), &scratch, overlaid, files, stop, voice)
        };
        let done = match within(true) {
            Err(AgentError::Sandbox(SandboxError::NoOverlay(_))) => within(false),
            done => done,
        };
        keep_if_alive(checkout, &done);
        done
    }

    /// Runs the command over an overlay of the copy, or in a whole copy of it.
    fn tried(
        &self,
        checkout: &dyn Checkout,
        scratch: &RunFolders,
        overlaid: bool,
        files: &[Written],
        stop: &StopHandle,
        voice: &Voice,
    ) -> Result<Verdict, AgentError> {
        let (place, lower) = if overlaid {
            (scratch.changes(), Some(checkout.files()))
        } else {
            scratch.fill(&checkout.files())?;
            (scratch.copy(), None)
        };
        let borrowed = checkout.give_history(&place).map_err(AgentError::Copy)?;
        take_out(&place, overlaid, files)?;
        write(&place, files)?;
        let mut order = self.order(scratch, lower)?;
        order.readable.extend(borrowed);
        let caps = RunCaps {
            time: self.time,
            output: MOST_OUTPUT,
        };
        let mut kept = Vec::new();
        let mut seen = |_, bytes: &[u8]| {
            kept.extend_from_slice(bytes);
            let extra = kept.len().saturating_sub(KEPT);
            kept.drain(..extra);
            let text = String::from_utf8_lossy(bytes).into_owned();
            voice.say(Progress::Transcript(text));
        };
        let input = ToolInput::Bytes(Vec::new());
        let ended = scratch.run(&self.sandbox, &order, input, caps, stop, &mut seen);
        let (code, report, elapsed) = match ended {
            Ok(ended) => {
                whole(&ended.report)?;
                (Some(ended.code), Some(ended.report), ended.elapsed)
            }
            Err(SandboxError::OutOfTime(_)) => (None, None, self.time),
            Err(error) => return Err(error.into()),
        };
        Ok(Verdict {
            code,
            said: String::from_utf8_lossy(&kept).into_owned(),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            layers: report.map(|report| layers(&report)).unwrap_or_default(),
        })
    }

    fn order(&self, scratch: &RunFolders, lower: Option<PathBuf>) -> Result<LaunchSpec, AgentError> {
        let copy = scratch.copy();
        let mut order = self.program.order(&self.places, scratch, &copy, copy.clone())?;
        order.args = vec!["-c".to_owned(), self.command.clone()];
        match lower {
            None => order.writable.push(copy.clone()),
            Some(lower) => order.overlays.push(OverlayMount {
                lower,
                upper: scratch.changes(),
                work: scratch.kernel(),
                at: copy.clone(),
            }),
        }
        let shares = self.program.shared.iter().map(|(from, name)| SharedFolder {
            from: from.clone(),
            at: copy.join(name),
        });
        order.shares = shares.collect();
        Ok(order)
    }
}

fn layers(report: &SandboxReport) -> Vec<String> {
    let names = report.layers.iter().map(|layer| layer.as_str().to_owned());
    names.collect()
}

/// Writes what the candidate writes.
fn write(place: &Path, files: &[Written]) -> Result<(), AgentError> {
    for file in files {
        if let Some(content) = &file.content {
            let name = Path::new(&file.path);
            replace_file(place, name, content, file.executable)
                .map_err(AgentError::unreadable(&place.join(name)))?;
        }
    }
    Ok(())
}

/// Takes away what the candidate deletes, before anything is written: from a whole copy, or by a mark for the overlay.
fn take_out(place: &Path, overlaid: bool, files: &[Written]) -> Result<(), AgentError> {
    for path in deleted(files) {
        let name = Path::new(path);
        if overlaid {
            let unmarked = |error| {
                let why = format!("`{path}` cannot be marked as deleted: {error}");
                AgentError::Sandbox(SandboxError::NoOverlay(why))
            };
            hide_file(place, name).map_err(unmarked)?;
        } else {
            remove_file(place, name).map_err(AgentError::unreadable(&place.join(name)))?;
        }
    }
    Ok(())
}

/// What the candidate deletes and does not put anything else in the place of: a file that becomes a folder, or that lies in
/// a folder which becomes a file, goes with what is written there.
fn deleted(files: &[Written]) -> impl Iterator<Item = &str> {
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

    fn file(path: &str, there: bool) -> Written {
        Written {
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
        assert_eq!(deleted(&files).collect::<Vec<_>>(), ["-rf", "b c", "becomes not"]);
    }

    #[test]
    fn a_file_is_taken_out_of_a_copy_and_marked_over_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        replace_file(place, Path::new("deep/a"), b"x", false).unwrap();
        let files = [file("deep/a", false), file("not/there", false)];
        take_out(place, false, &files).unwrap();
        let top = OpenFolder::open_root(place).unwrap();
        assert!(
            top.open_path(Path::new("deep"))
                .unwrap()
                .read_names(0)
                .unwrap()
                .is_empty()
        );
        match take_out(place, true, &files) {
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
