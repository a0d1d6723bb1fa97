//! Whole runs: a tool that acts around its end, next to another run, against the record of refused calls, or to land.
//!
//! Owns: a run for each finding that needs more than a row of the table. Never: consents to a change.

use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::basics::{AGENT, DIRECT};
use super::ground::remove_below;
use super::runs::{HARMLESS, LANDING, ProductRunner, RunFinding, TOOL, run_finding};
use crate::child::FinishedCall;
use crate::error::GateError;
use crate::witness;

/// Calls that the tool is refused after it tried to disable the record.
const REFUSED_CALLS: [&str; 4] = ["bpf", "keyctl", "ptrace", "socket"];
const SETUID_BITS: u32 = 0o6000;
/// Free space in KiB that the run of the disk limit needs: without the limit it would write 12 GB.
const ROOM: u64 = 20_000_000;

impl ProductRunner<'_> {
    /// Makes every run; each is judged by the state outside after the product has ended.
    pub(super) fn whole_runs(&self) -> Result<Vec<RunFinding>, GateError> {
        Ok(vec![
            self.spinning_children()?,
            self.acp_survivors()?,
            self.clean_up_race()?,
            self.setuid_files()?,
            self.two_runs()?,
            self.deep_tree("deep-tree")?,
            self.deep_tree("deep-tree-in-copy")?,
            self.blinded_record()?,
            self.check_history()?,
        ])
    }

    /// Makes the runs that could land an answer of a tool other than the rogue.
    pub(super) fn other_answers(&self) -> Result<Vec<RunFinding>, GateError> {
        let python = self.python.display().to_string();
        let (script, outside) = (self.ground.top_folder().join("speaker.py"), self.ground.outside());
        let (script, outside) = (script.display().to_string(), outside.display().to_string());
        // A tool that speaks the tool protocol gets no copy, so the script is started at its own path.
        let speaking = ["run", "-p", "tool", "--json", "write outside", "--"];
        let speaking = [&speaking[..], &[&python, &script, &outside]].concat();
        // The agent tries to write elsewhere, which fails, and changes nothing in its copy; so there is nothing to land.
        let direct = ["run", "-p", DIRECT, "--json", "write"];
        let mut all = Vec::new();
        for (id, args, wanted) in [
            ("patch-outside", &speaking[..], ("refused", "path-escape")),
            ("acp-direct-write", &direct, ("nothing-to-do", "empty")),
        ] {
            let ended = self.call(args)?;
            let held = (ended.text_at("outcome"), ended.text_at("code")) == wanted;
            all.push(run_finding(
                id,
                held,
                format!("{} {}", ended.summarize_end(), ended.stderr),
            ));
        }
        all.push(self.inside_itself()?);
        Ok(all)
    }

    /// Runs the product inside its own sandbox, where it cannot create another. It must refuse, and name the layer and the
    /// next step.
    fn inside_itself(&self) -> Result<RunFinding, GateError> {
        let agentos = self.agentos.display().to_string();
        let script = "\"$0\" tool run -p command -- true >said 2>&1; echo \"code $?\" >>said";
        let ended = self.run_tool(&["--read", &agentos], &["sh", "-c", script, &agentos])?;
        // The inner product's output arrives in a file of the outer tool's diff, so its lines begin with `+`.
        let wanted = "+failed|could not be confined|namespaces|+  next: |+code 5";
        let held = wanted
            .split('|')
            .all(|words| ended.text_at("diff").contains(words));
        Ok(run_finding(
            "sandbox-inside-itself",
            held,
            ended.added_lines().join(" / "),
        ))
    }

    /// Runs a tool that ends with success and leaves busy child processes (findings 1, 25).
    fn spinning_children(&self) -> Result<RunFinding, GateError> {
        let ended = self.run_rogue(&["--timeout", "60"], Some("spinning-children"))?;
        let left = self.take_survivors();
        let honest = ended.touched_files() == json!(["honest"]);
        let held = left.is_empty() && (honest || ended.text_at("status") == "failed");
        let said = format!("{}, left: {}", ended.summarize_end(), format_list(&left));
        Ok(run_finding("spinning-children", held, said))
    }

    /// Runs an agent that answers `end_turn` and keeps writing while its difference is read (finding 1).
    fn acp_survivors(&self) -> Result<RunFinding, GateError> {
        let ended = self.call(&["tool", "run", "-p", AGENT, "--json", "--timeout", "60", "do it"])?;
        let left = self.take_survivors();
        // Only a difference that was read during such a write could contain this line.
        let marker = &self.ground.marker;
        let recorded =
            witness::files_containing(&self.ground.blob_folder(), format!("+{marker}\n").as_bytes())?;
        let leaked = ended.stdout.contains(marker) || !recorded.is_empty();
        let said = format!(
            "{}, outside read: {leaked}, left: {}",
            ended.summarize_end(),
            format_list(&left)
        );
        Ok(run_finding("acp-survivors", left.is_empty() && !leaked, said))
    }

    /// Runs a tool that exceeds its time limit and replaces folders by links during the clean-up (finding 4).
    fn clean_up_race(&self) -> Result<RunFinding, GateError> {
        let tree = self.ground.outside().join("tree/a/b");
        let before = permission_bits(&tree)?;
        // With the usual limit of open files, a tree of 1,100 levels cannot be removed level by level.
        let ended = self.run_rogue_with(Some(1024), &["--timeout", "5"], Some("clean-up-race"))?;
        let (left, after) = (self.take_survivors(), permission_bits(&tree)?);
        let held = left.is_empty() && before == after && ended.text_at("status") == "timeout";
        let (summary, left) = (ended.summarize_end(), format_list(&left));
        let said = format!("{summary}, mode outside {before:o} and then {after:o}, left: {left}");
        Ok(run_finding("clean-up-race", held, said))
    }

    /// Runs a tool that creates setuid files, and searches while it runs for those that another user could find (finding 6).
    fn setuid_files(&self) -> Result<RunFinding, GateError> {
        let state = self.ground.repository().join(".git/agentos");
        let folders = [state, self.ground.home(), self.ground.caches().to_owned()];
        let mut found = None;
        let ended = self.while_running("setuid-visible", || {
            found = Some(
                folders
                    .iter()
                    .flat_map(|folder| exposed_files(folder))
                    .collect::<Vec<_>>(),
            );
        })?;
        let held = found.as_ref().is_some_and(Vec::is_empty);
        let said = match found {
            Some(found) => format!("found: {}", format_list(&found)),
            None => format!(
                "the tool did not get so far: {} {}",
                ended.summarize_end(),
                ended.stderr
            ),
        };
        Ok(run_finding("setuid-visible-to-others", held, said))
    }

    /// Makes a second run while the first holds everything that two runs could share (findings 6, 25).
    fn two_runs(&self) -> Result<RunFinding, GateError> {
        let mut second = None;
        let first = self.while_running("pair-first", || {
            second = Some(self.run_rogue(&["--timeout", "60"], Some("pair-second")));
        })?;
        let Some(second) = second.transpose()? else {
            let said = format!("the first did not start: {}", first.summarize_end());
            return Ok(run_finding("two-runs-at-once", false, said));
        };
        let lines = second.added_lines();
        let (summary, added) = (second.summarize_end(), first.added_lines().join(" "));
        let said = format!("{} / {summary} / {added}", lines.join(" / "));
        Ok(run_finding("two-runs-at-once", lines == ["found nothing"], said))
    }

    /// Runs a tool that leaves so many levels of folders that a recursion would overflow the stack (finding 7).
    fn deep_tree(&self, id: &str) -> Result<RunFinding, GateError> {
        let ended = self.run_rogue_with(Some(20_000), &["--timeout", "120"], Some(id))?;
        // The next run cleans up the folders of ended runs, so it meets the deep tree as well.
        let harmless = [&TOOL[..], &["--timeout", "120", "--"], &HARMLESS].concat();
        let next = self.call_with(Some(20_000), &harmless)?;
        let left = self.run_folders();
        // 128 and above means a signal, so a crash. An answer of that size may be refused with an error.
        let held = ended.code.is_some_and(|code| code < 128) && next.code == Some(0) && left.is_empty();
        let said = format!(
            "{}, next {}, left: {}",
            ended.summarize_end(),
            next.summarize_end(),
            format_list(&left)
        );
        // The next runs must not be blamed for these folders.
        left.iter().for_each(|place| remove_below(Path::new(place)));
        Ok(run_finding(id, held, said))
    }

    /// Runs a tool that takes process 1's right to write before four of its calls are refused (finding 8).
    fn blinded_record(&self) -> Result<RunFinding, GateError> {
        let ended = self.run_rogue(&["--timeout", "30"], Some("blinded-record"))?;
        let refused = find_key(&ended.json, "refused").cloned().unwrap_or_default();
        let text = refused.to_string();
        // The record adds arguments to the name of a call, such as `socket (netlink, raw)`.
        let is_recorded = |call: &&str| text.contains(&format!("\"{call}"));
        // On a kernel that cannot report refused calls, the field `refused` is absent.
        let held = REFUSED_CALLS.iter().all(is_recorded) || refused.is_null();
        let said = format!("{}, recorded: {text}", ended.summarize_end());
        Ok(run_finding("blinded-record", held, said))
    }

    /// Runs a check that prints objects of the repository's history. Its output would be sent to the model (finding 3).
    fn check_history(&self) -> Result<RunFinding, GateError> {
        let check = format!("{} rogue.py rogue.json check-history", self.python.display());
        let (once, tool) = (
            ["--attempts", "1", "--check", &check, "--"],
            ["sh", "-c", "echo x > new.txt"],
        );
        let ended = self.call(&[&LANDING[..], &once, &tool].concat())?;
        let text = format!("in-check:{}", self.ground.marker);
        let kept = witness::files_containing(&self.ground.blob_folder(), text.as_bytes())?;
        let leaked = !kept.is_empty() || ended.stdout.contains(&text);
        let said = format!(
            "printed a secret: {leaked}, ended as `{}`",
            ended.text_at("outcome")
        );
        Ok(run_finding(
            "check-history",
            !leaked && ended.code != Some(0),
            said,
        ))
    }

    /// Runs a tool that writes 12 GB in files of 1 GB and then waits (finding 25). Returns the observation, or the reason why it
    /// is not run here.
    pub(super) fn disk_limit(&self) -> Result<Result<RunFinding, String>, GateError> {
        let output = FinishedCall::run(Command::new("df").arg("-Pk").arg(&self.cache), "", None)?;
        // df(1p): the fourth field of the second line.
        let field = output
            .stdout
            .lines()
            .nth(1)
            .and_then(|line| line.split_whitespace().nth(3));
        let unknown = || {
            GateError::Usage(format!(
                "`df` does not report the free space: {}",
                output.stdout.trim_end()
            ))
        };
        let free: u64 = field.and_then(|field| field.parse().ok()).ok_or_else(unknown)?;
        if free < ROOM {
            return Ok(Err(format!(
                "not run: {free} KiB are free where the copies lie, and it needs {ROOM}"
            )));
        }
        let ended = self.run_rogue(&["--timeout", "60"], Some("disk-limit"))?;
        let left = self.run_folders().len();
        let is_reported = ended.text_at("error_message").contains("MiB to the disk");
        let held = ended.text_at("status") == "failed" && is_reported && left == 0;
        let said = format!("{}, {left} folders left", ended.summarize_end());
        Ok(Ok(run_finding("disk-limit", held, said)))
    }

    /// Returns the processes that a run left, and ends them.
    fn take_survivors(&self) -> Vec<String> {
        let left = self.ground.left_behind();
        if !left.is_empty() {
            self.ground.end_left_behind();
        }
        left
    }

    /// Runs one of the rogue's modes and calls `act` while it waits. `act` is not called if the rogue ends before.
    fn while_running(&self, mode: &str, act: impl FnOnce()) -> Result<FinishedCall, GateError> {
        let shown = self.ground.shown();
        let args = self.rogue_args(
            &["--timeout", "60", "--read", &shown.display().to_string()],
            Some(mode),
        );
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let failed = || GateError::file(self.agentos);
        let mut command = self.command(None, &args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(failed())?;
        let gate = shown.join("gate");
        let output = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let output = child.wait_with_output();
                // If the tool never opened the FIFO, the open for writing below would block for ever.
                let other = OpenOptions::new().read(true).write(true).open(&gate);
                (output, other)
            });
            // Opening blocks until the tool has opened its end (fifo(7)); closing lets the tool continue.
            let open = OpenOptions::new().write(true).open(&gate);
            if open.is_ok() && !waiting.is_finished() {
                act();
            }
            drop(open);
            waiting.join()
        });
        let gone = |_| GateError::Usage("the thread that waits for a run is gone".to_owned());
        let (output, _) = output.map_err(gone)?;
        Ok(output.map_err(failed())?.into())
    }

    /// Returns the folders that ended runs left: in the cache, and in the git directory, which is used if no cache is safe.
    pub(super) fn run_folders(&self) -> Vec<String> {
        let copies = list_entries(&self.cache.join("agentos/copies"));
        let state = list_entries(&self.ground.repository().join(".git/agentos"));
        let passing = state.into_iter().filter(|place| is_named(place, "copies"));
        let runs = copies
            .into_iter()
            .chain(passing)
            .flat_map(|place| list_entries(&place));
        let runs = runs.filter(|place| is_named(place, "run-"));
        runs.map(|place| place.display().to_string()).collect()
    }
}

/// Returns the entries of a folder; none if there is no such folder.
pub(super) fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Returns true if the file name of a path has this beginning.
pub(super) fn is_named(place: &Path, beginning: &str) -> bool {
    let name = place.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(beginning)
}

/// Returns everything below a folder that another user could abuse: files with setuid or setgid bits, and folders of runs that
/// are open to others.
fn exposed_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = list_entries(folder);
    while let Some(path) = rest.pop() {
        let Ok(about) = path.symlink_metadata() else {
            continue;
        };
        let (mode, shown) = (about.permissions().mode(), path.display());
        if !about.is_symlink() && mode & SETUID_BITS != 0 {
            found.push(format!("{shown} has mode {mode:o}"));
        }
        if about.is_dir() {
            if is_named(&path, "run-") && mode & 0o077 != 0 {
                found.push(format!("{shown} is open to others, mode {mode:o}"));
            }
            rest.extend(list_entries(&path));
        }
    }
    found
}

/// Returns the first value of this name anywhere in a document, or `None` if there is none.
fn find_key<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .or_else(|| fields.values().find_map(|value| find_key(value, name))),
        Value::Array(values) => values.iter().find_map(|value| find_key(value, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Returns the permission bits of a path.
pub(super) fn permission_bits(place: &Path) -> Result<u32, GateError> {
    let about = std::fs::metadata(place).map_err(GateError::file(place))?;
    Ok(about.permissions().mode() & 0o7777)
}

/// Lists a folder and everything in it, with modes, owners and hashes of the files.
pub(super) fn list_folder(folder: &Path) -> Result<String, GateError> {
    let mut found = witness::FileMap::new();
    witness::list_files(folder, folder, &|_| false, &mut found)?;
    found.insert(PathBuf::new(), format!("mode {:o}", permission_bits(folder)?));
    let mut lines = String::new();
    for (path, seen) in found {
        let place = folder.join(&path);
        let about = place.symlink_metadata().map_err(GateError::file(&place))?;
        lines.push_str(&format!("{}: {seen}, user {}\n", path.display(), about.uid()));
    }
    Ok(lines)
}

/// Formats a list as its length and its first element.
fn format_list(all: &[String]) -> String {
    match all {
        [] => "nothing".to_owned(),
        [first, ..] => format!("{} ({first})", all.len()),
    }
}
