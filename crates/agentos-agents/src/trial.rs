//! A user's command, run on a copy of the base in which a candidate's files stand.
//!
//! Owns: putting the candidate into the copy, and what is seen of the command. Never: gives the copy's changes to anybody,
//! shows the command a key, a network or the repository, or runs it where the kernel does not hold it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_sandbox::{
    Caps, Input, Order, Overlay, Report, Sandbox, SandboxError, Scratch, Share, Stop, lay,
};
use agentos_tool::{Progress, ProgressSink, ToolError};

use crate::adapter::whole;
use crate::background::{Voice, begin};
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
        let stop = Stop::default();
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
        stop: &Stop,
        voice: &Voice,
    ) -> Result<Verdict, AgentError> {
        let checkout = copies.take().map_err(AgentError::Copy)?;
        let checkout = checkout.as_ref();
        let mut shared = self.program.shared.iter();
        if let Some((_, name)) = shared.find(|(_, name)| !checkout.is_ignored(&format!("{name}/"))) {
            return Err(AgentError::NotIgnored(name.clone()));
        }
        let within = |overlaid| {
            let scratch = Scratch::new(&copies.folder(), name)?;
            self.tried(checkout, &scratch, overlaid, files, stop, voice)
        };
        match within(true) {
            Err(AgentError::Sandbox(SandboxError::NoOverlay(_))) => within(false),
            done => done,
        }
    }

    /// Runs the command over an overlay of the copy, or in a whole copy of it.
    fn tried(
        &self,
        checkout: &dyn Checkout,
        scratch: &Scratch,
        overlaid: bool,
        files: &[Written],
        stop: &Stop,
        voice: &Voice,
    ) -> Result<Verdict, AgentError> {
        let (place, lower) = if overlaid {
            (scratch.changes(), Some(checkout.files()))
        } else {
            scratch.fill(&checkout.files())?;
            (scratch.copy(), None)
        };
        let borrowed = checkout.give_history(&place).map_err(AgentError::Copy)?;
        write(&place, files)?;
        let mut order = self.order(scratch, lower, files)?;
        order.readable.extend(borrowed);
        let caps = Caps {
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
        let ended = self
            .sandbox
            .run(&order, Input::Bytes(Vec::new()), caps, stop, &mut seen);
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

    fn order(
        &self,
        scratch: &Scratch,
        lower: Option<PathBuf>,
        files: &[Written],
    ) -> Result<Order, AgentError> {
        let copy = scratch.copy();
        let mut order = self.program.order(&self.places, scratch, &copy, copy.clone())?;
        order.args = arguments(&self.command, files);
        match lower {
            None => order.writable.push(copy.clone()),
            Some(lower) => order.overlays.push(Overlay {
                lower,
                upper: scratch.changes(),
                work: scratch.kernel(),
                at: copy.clone(),
            }),
        }
        let shares = self.program.shared.iter().map(|(from, name)| Share {
            from: from.clone(),
            at: copy.join(name),
        });
        order.shares = shares.collect();
        Ok(order)
    }
}

fn layers(report: &Report) -> Vec<String> {
    let names = report.layers.iter().map(|layer| layer.as_str().to_owned());
    names.collect()
}

/// Writes what the candidate writes; what it deletes goes first, from inside.
fn write(place: &Path, files: &[Written]) -> Result<(), AgentError> {
    for file in files {
        if let Some(content) = &file.content {
            let name = Path::new(&file.path);
            lay(place, name, content, file.executable).map_err(AgentError::unreadable(&place.join(name)))?;
        }
    }
    Ok(())
}

/// The shell's arguments: what the candidate deletes goes before the command begins, by the shell's own hand, because only
/// inside does the copy show that it is gone.
fn arguments(command: &str, files: &[Written]) -> Vec<String> {
    let below = |path: &str, folder: &str| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    // A file that becomes a folder is gone already.
    let is_folder = |gone: &str| {
        files
            .iter()
            .any(|file| file.content.is_some() && below(&file.path, gone))
    };
    let gone = files
        .iter()
        .filter(|file| file.content.is_none() && !is_folder(&file.path));
    let gone: Vec<String> = gone.map(|file| file.path.clone()).collect();
    if gone.is_empty() {
        return vec!["-c".to_owned(), command.to_owned()];
    }
    let script = format!("rm -f -- \"$@\" || exit 125\nset --\n{command}");
    let begin = ["-c".to_owned(), script, SHELL.to_owned()];
    begin.into_iter().chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, there: bool) -> Written {
        Written {
            path: path.to_owned(),
            content: there.then(Vec::new),
            executable: false,
        }
    }

    #[test]
    fn what_is_deleted_is_deleted_first_and_is_no_argument_of_the_command() {
        assert_eq!(arguments("make test", &[file("a", true)]), ["-c", "make test"]);
        let files = [
            file("-rf", false),
            file("d", false),
            file("d/x", true),
            file("b c", false),
        ];
        let all = arguments("echo \"$@\"", &files);
        assert_eq!(all.first().map(String::as_str), Some("-c"));
        assert_eq!(all.get(2..), Some(&["sh", "-rf", "b c"].map(str::to_owned)[..]));
        assert!(
            all.get(1)
                .is_some_and(|script| script.ends_with("set --\necho \"$@\""))
        );
    }
}
