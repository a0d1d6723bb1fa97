//! Whole runs: what a tool does around its end, beside another run, or to the record of what it was refused.
//!
//! Owns: one run for each finding of the review that needs a real tool. Never: lands what they answer.

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::answers::Seen;
use super::ground::remove_below;
use super::runs::{Ended, HARMLESS, Program};
use crate::error::GateError;
use crate::witness;

/// A profile of the user's own: an agent that outlives its turn.
pub(super) const AGENT: &str = "rogue-survivor";

/// Calls that the tool is refused after it tried to blind the record.
const REFUSED_CALLS: [&str; 4] = ["bpf", "keyctl", "ptrace", "socket"];

const SETUID_BITS: u32 = 0o6000;

impl Program<'_> {
    /// Makes every run; each is judged by what is outside when the product has ended.
    pub(super) fn whole_runs(&self) -> Result<Vec<Seen>, GateError> {
        Ok(vec![
            self.spinning_children()?,
            self.survivors()?,
            self.clean_up_race()?,
            self.setuid_files()?,
            self.two_runs()?,
            self.deep_tree("deep-tree")?,
            self.deep_tree("deep-tree-in-copy")?,
            self.blinded_record()?,
            self.check_history()?,
            self.setuid_in_answer()?,
            self.program_by_path()?,
            self.repository_path()?,
        ])
    }

    /// A tool that ends with success and leaves spinning children (findings 1, 25).
    fn spinning_children(&self) -> Result<Seen, GateError> {
        let ended = self.rogue(&["--timeout", "60"], Some("spinning-children"))?;
        let left = self.take_survivors();
        let honest = ended.touched() == json!(["honest"]);
        let failed = ended.text("status") == "failed";
        let said = format!("{}, left: {}", ended.summary(), list(&left));
        Ok(("spinning-children", left.is_empty() && (honest || failed), said))
    }

    /// An agent that answers `end_turn` and races the reader of its difference (finding 1).
    fn survivors(&self) -> Result<Seen, GateError> {
        let ended = self.call(&["tool", "run", "-p", AGENT, "--json", "--timeout", "60", "do it"])?;
        let left = self.take_survivors();
        let leaked = ended.stdout.contains(&self.ground.marker) || self.recorded("survivors")?;
        let held = left.is_empty() && !leaked;
        let said = format!(
            "{}, outside read: {leaked}, left: {}",
            ended.summary(),
            list(&left)
        );
        Ok(("acp-survivors", held, said))
    }

    /// A tool that runs into its time-out and exchanges folders for links while they are cleaned up (finding 4).
    fn clean_up_race(&self) -> Result<Seen, GateError> {
        let tree = self.ground.outside().join("tree/a/b");
        let before = mode(&tree)?;
        let python = self.python.display().to_string();
        let fixed = ["tool", "run", "-p", "command", "--json", "--timeout", "5", "--"];
        let command = [python.as_str(), "rogue.py", "rogue.json", "clean-up-race"];
        // With the usual limit of open files, a tree of 1,100 levels cannot be removed level by level.
        let ended = self.call_with(Some(1024), &[&fixed[..], &command].concat())?;
        let left = self.take_survivors();
        let after = mode(&tree)?;
        let held = left.is_empty() && before == after && ended.text("status") == "timeout";
        let said = format!(
            "{}, mode outside {before:o} and then {after:o}, left: {}",
            ended.summary(),
            list(&left)
        );
        Ok(("clean-up-race", held, said))
    }

    /// A tool that leaves setuid files where another user may find them, looked for while it runs (finding 6).
    fn setuid_files(&self) -> Result<Seen, GateError> {
        let folders = [
            self.ground.repository().join(".git/agentos"),
            self.ground.home(),
            self.ground.caches().to_owned(),
        ];
        let mut found = None;
        let ended = self.while_running("setuid-visible", || {
            found = Some(
                folders
                    .iter()
                    .flat_map(|folder| exposed(folder))
                    .collect::<Vec<_>>(),
            );
        })?;
        let held = found.as_ref().is_some_and(Vec::is_empty);
        let said = match found {
            Some(found) => format!("found: {}", list(&found)),
            None => format!(
                "the tool did not get so far: {} {}",
                ended.summary(),
                ended.stderr
            ),
        };
        Ok(("setuid-visible-to-others", held, said))
    }

    /// A second run while the first holds everything that it could share with it (findings 6, 25).
    fn two_runs(&self) -> Result<Seen, GateError> {
        let mut second = None;
        let first = self.while_running("pair-first", || {
            second = Some(self.rogue(&["--timeout", "60"], Some("pair-second")));
        })?;
        let Some(second) = second.transpose()? else {
            return Ok((
                "two-runs-at-once",
                false,
                format!("the first did not start: {}", first.summary()),
            ));
        };
        let lines = second.added();
        let said = format!(
            "{} / {} / {}",
            lines.join(" / "),
            second.summary(),
            first.added().join(" ")
        );
        Ok(("two-runs-at-once", lines == ["found nothing"], said))
    }

    /// A tool that leaves more levels of folders than a recursion has room for (finding 7).
    fn deep_tree(&self, id: &'static str) -> Result<Seen, GateError> {
        let python = self.python.display().to_string();
        let fixed = ["tool", "run", "-p", "command", "--json", "--timeout", "120", "--"];
        let ended = self.call_with(
            Some(20_000),
            &[&fixed[..], &[&python, "rogue.py", "rogue.json", id]].concat(),
        )?;
        let next = self.call_with(Some(20_000), &[&fixed[..], &HARMLESS].concat())?;
        let left = self.run_folders();
        // A signal would mean a crash. That much of an answer may be refused, in words.
        let held = ended.code.is_some_and(|code| code < 128) && next.code == Some(0) && left.is_empty();
        let said = format!(
            "{}, next {}, left: {}",
            ended.summary(),
            next.summary(),
            list(&left)
        );
        if !left.is_empty() {
            // What follows must be judged for itself.
            self.remove_run_folders();
        }
        Ok((id, held, said))
    }

    /// A tool that takes process 1's right to write before it is refused four calls (finding 8).
    fn blinded_record(&self) -> Result<Seen, GateError> {
        let ended = self.rogue(&["--timeout", "30"], Some("blinded-record"))?;
        let refused = find_key(&ended.result, "refused").cloned().unwrap_or_default();
        let text = refused.to_string();
        let missing: Vec<&str> = REFUSED_CALLS
            .into_iter()
            // The record adds what was asked, as in `socket (netlink, raw)`.
            .filter(|call| !text.contains(&format!("\"{call}")))
            .collect();
        // A kernel that reports to nobody is said to: then nothing is known, and `refused` is absent.
        let held = missing.is_empty() || refused.is_null();
        Ok((
            "blinded-record",
            held,
            format!("{}, recorded: {text}", ended.summary()),
        ))
    }

    /// A check that prints what the object store holds; its output goes to the model (finding 3).
    fn check_history(&self) -> Result<Seen, GateError> {
        let check = format!("{} rogue.py rogue.json check-history", self.python.display());
        let fixed = [
            "run",
            "-p",
            "command",
            "--json",
            "--attempts",
            "1",
            "--check",
            &check,
            "--",
        ];
        let ended = self.call(&[&fixed[..], &["sh", "-c", "echo x > new.txt"]].concat())?;
        let text = format!("in-check:{}", self.ground.marker);
        let blobs = self.ground.repository().join(".git/agentos/blobs");
        let kept = witness::containing(&blobs, text.as_bytes())?;
        let leaked = !kept.is_empty() || ended.stdout.contains(&text);
        let held = !leaked && ended.code != Some(0);
        let said = format!("printed a secret: {leaked}, ended as `{}`", ended.text("outcome"));
        Ok(("check-history", held, said))
    }

    /// A tool whose answer has a setuid bit: nothing of it stands in the diff.
    fn setuid_in_answer(&self) -> Result<Seen, GateError> {
        let ended = self.rogue(&[], Some("setuid-bits-left"))?;
        // The second file is only made where the bit could be set.
        let touched = ended.touched();
        let held = touched == json!(["tool.sh"]);
        Ok((
            "setuid-in-answer",
            held,
            format!("files in the answer: {touched}, {}", ended.summary()),
        ))
    }

    /// A program that is started by its absolute path, at the top of the repository (finding 12).
    fn program_by_path(&self) -> Result<Seen, GateError> {
        let program = self.ground.repository().join("beside.sh").display().to_string();
        let ended = self.tool(&[], &[&program])?;
        let lines = ended.added();
        let said = format!("{}, {}", lines.join(" / "), ended.summary());
        Ok(("program-by-absolute-path", lines == ["looked"], said))
    }

    /// A tool that looks for the repository's real path in all that it can read (finding 26).
    fn repository_path(&self) -> Result<Seen, GateError> {
        let ended = self.rogue(&["--timeout", "60"], Some("repository-path"))?;
        let lines = ended.added();
        let said = format!("{}, {}", lines.join(" / "), ended.summary());
        Ok(("repository-path", lines == ["found nothing"], said))
    }

    /// Names what is left of the ground's processes, and ends it.
    fn take_survivors(&self) -> Vec<String> {
        let left = self.ground.left_behind();
        if !left.is_empty() {
            self.ground.end_left_behind();
        }
        left
    }

    /// Does the evidence hold what only the race could have read?
    fn recorded(&self, _run: &str) -> Result<bool, GateError> {
        let blobs = self.ground.repository().join(".git/agentos/blobs");
        let text = format!("+{}\n", self.ground.marker);
        Ok(!witness::containing(&blobs, text.as_bytes())?.is_empty())
    }

    /// Runs one of the rogue's modes and calls `act` while it waits; `act` is not called where it ends before.
    fn while_running(&self, mode: &str, act: impl FnOnce()) -> Result<Ended, GateError> {
        let shown = self.ground.shown().display().to_string();
        let python = self.python.display().to_string();
        let fixed = [
            "tool",
            "run",
            "-p",
            "command",
            "--json",
            "--timeout",
            "60",
            "--read",
            &shown,
            "--",
        ];
        let command = [python.as_str(), "rogue.py", "rogue.json", mode];
        let failed = || GateError::file(self.agentos);
        let mut command = self.command(None, &[&fixed[..], &command].concat());
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed())?;
        let gate = self.ground.shown().join("gate");
        let output = std::thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let output = child.wait_with_output();
                // Where the tool never came, nobody else opens the other end.
                let other = OpenOptions::new().read(true).write(true).open(&gate);
                (output, other)
            });
            let gate = self.ground.shown().join("gate");
            // Opens when the tool has opened its end (fifo(7)), and closes after the look.
            let open = OpenOptions::new().write(true).open(gate);
            if open.is_ok() && !waiting.is_finished() {
                act();
            }
            drop(open);
            waiting.join()
        });
        let Ok((output, _)) = output else {
            return Err(GateError::Usage(
                "the thread that waits for a run is gone".to_owned(),
            ));
        };
        let output = output.map_err(failed())?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Ended {
            code: output.status.code(),
            result: serde_json::from_str(&stdout).unwrap_or_default(),
            stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Returns the folders of runs that are over: below the cache, and below the git directory, where they lie if no cache is
    /// safe.
    pub(super) fn run_folders(&self) -> Vec<String> {
        let copies = entries(&self.cache.join("agentos/copies"));
        let state = entries(&self.ground.repository().join(".git/agentos"));
        let passing = state.into_iter().filter(|place| is_named(place, "copies"));
        let places = copies.into_iter().chain(passing);
        let runs = places.flat_map(|place| entries(&place));
        let runs = runs.filter(|place| is_named(place, "run-"));
        runs.map(|place| place.display().to_string()).collect()
    }

    fn remove_run_folders(&self) {
        for place in self.run_folders() {
            // Judged already.
            remove_below(Path::new(&place));
        }
    }
}

/// Returns what lies in a folder; nothing if there is none.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Tells whether the name of a place begins so.
pub(super) fn is_named(place: &Path, beginning: &str) -> bool {
    let name = place.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(beginning)
}

/// What another user could use below a folder: files with setuid or setgid bits, and a run's folder that is open to them.
fn exposed(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = vec![folder.to_owned()];
    while let Some(folder) = rest.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path: PathBuf = entry.path();
            let Ok(about) = path.symlink_metadata() else {
                continue;
            };
            let mode = about.permissions().mode();
            let name = entry.file_name().to_string_lossy().into_owned();
            if !about.is_symlink() && mode & SETUID_BITS != 0 {
                found.push(format!("{} has mode {mode:o}", path.display()));
            }
            if about.is_dir() {
                if name.starts_with("run-") && mode & 0o077 != 0 {
                    found.push(format!("{} is open to others, mode {mode:o}", path.display()));
                }
                rest.push(path);
            }
        }
    }
    found
}

/// First value of this name anywhere in a document.
fn find_key<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .or_else(|| fields.values().find_map(|value| find_key(value, name))),
        Value::Array(values) => values.iter().find_map(|value| find_key(value, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Returns the permissions of a place.
pub(super) fn mode(place: &Path) -> Result<u32, GateError> {
    let about = std::fs::metadata(place).map_err(GateError::file(place))?;
    Ok(about.permissions().mode() & 0o7777)
}

fn list(all: &[String]) -> String {
    match all {
        [] => "nothing".to_owned(),
        [first, ..] => format!("{} ({first})", all.len()),
    }
}
