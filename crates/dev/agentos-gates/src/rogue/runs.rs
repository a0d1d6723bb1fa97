//! Runs of the product with the rogue as its tool.
//!
//! Owns: the calls, and judging the runs of the table. Never: passes arguments that a user would not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::basics::PROXIED;
use super::ground::Ground;
use super::suite::AttemptRow;
use super::table::RunRow;
use crate::child::FinishedCall;
use crate::error::GateError;
use crate::witness::IDENTITY;

/// Variable with folders that come first in the search for programs. The shell that starts the product takes it away.
pub(super) const FIRST_FOLDERS: &str = "AGENTOS_ROGUE_PATH";
/// Words of that shell for these folders.
const SET_PATH: &str =
    "[ -z \"$AGENTOS_ROGUE_PATH\" ] || PATH=\"$AGENTOS_ROGUE_PATH:$PATH\"; unset AGENTOS_ROGUE_PATH";
/// A harmless tool, which only writes one file.
pub(super) const HARMLESS: [&str; 3] = ["sh", "-c", "echo x >honest"];
/// Arguments that run a program as the tool without landing its answer.
pub(super) const TOOL: [&str; 5] = ["tool", "run", "-p", "command", "--json"];
/// Arguments that run a program as the tool and land its answer.
pub(super) const LANDING: [&str; 4] = ["run", "-p", "command", "--json"];
/// Outcomes in which nothing landed.
const NOT_LANDED: [&str; 5] = ["consent-needed", "denied", "refused", "nothing-to-do", "failed"];
/// Time limit of one scene in seconds. Some attempts wait for an answer that never arrives.
const SCENE_SECONDS: &str = "400";

/// Observation of one run: its id, whether the sandbox held, and a description.
pub(super) type RunFinding = (String, bool, String);

/// Creates the observation of a run.
pub(super) fn run_finding(id: &str, held: bool, said: impl Into<String>) -> RunFinding {
    (id.to_owned(), held, said.into())
}

/// The product and the surroundings in which it runs.
pub(super) struct ProductRunner<'a> {
    pub(super) agentos: &'a Path,
    pub(super) python: &'a Path,
    pub(super) ground: &'a Ground,
    /// The user's cache folder.
    pub(super) cache: PathBuf,
}

/// The rogue's report about one attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AttemptReport {
    /// Name of the attempt.
    pub(super) attempt: String,
    /// True if the call succeeded.
    pub(super) succeeded: bool,
    /// The reason why it failed; `None` if it succeeded.
    pub(super) said: Option<String>,
    /// The beginning of the text that was read; `None` if nothing was read.
    pub(super) read: Option<String>,
}

/// The gate's verdict about one attempt.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AttemptVerdict {
    #[serde(flatten)]
    pub(super) row: AttemptRow,
    /// True if it reached anything outside.
    pub(super) succeeded: bool,
    /// The observation.
    pub(super) said: String,
}

impl FinishedCall {
    /// Returns the lines that the answer adds.
    pub(super) fn added_lines(&self) -> Vec<&str> {
        let lines = self
            .text_at("diff")
            .lines()
            .filter_map(|line| line.strip_prefix('+'));
        lines.filter(|line| !line.starts_with("++ ")).collect()
    }

    /// Returns the files in the answer; null if there is none.
    pub(super) fn touched_files(&self) -> Value {
        self.json.get("files_touched").cloned().unwrap_or_default()
    }

    /// Describes the end in one line.
    pub(super) fn summarize_end(&self) -> String {
        let end = [self.text_at("status"), self.text_at("outcome")].concat();
        let (code, message, touched) = (
            self.text_at("code"),
            self.text_at("error_message"),
            self.touched_files(),
        );
        format!(
            "ended as `{end}` {code}, exit code {:?} {message}, files in the answer: {touched}",
            self.code
        )
    }
}

impl<'a> ProductRunner<'a> {
    /// Returns the reason why this machine cannot confine a tool, or `None` if it can. This first run also creates the
    /// product's own files, before anything is measured.
    pub(super) fn cannot_confine(&self) -> Result<Option<String>, GateError> {
        let ended = self.run_tool(&[], &HARMLESS)?;
        let message = ended.text_at("error_message");
        if message.contains("could not be confined") {
            return Ok(Some(format!("this machine cannot confine a tool: {message}")));
        }
        Ok((ended.code != Some(0)).then(|| format!("no tool can be run: {message} {}", ended.stderr)))
    }

    /// Makes the attempts of one scene. Returns the rogue's reports, or the reason why there are none.
    pub(super) fn make_attempts(&self, scene: &str) -> Result<Result<Vec<AttemptReport>, String>, GateError> {
        let shown = self.ground.shown().display().to_string();
        let flags = ["--timeout", SCENE_SECONDS, "--read", &shown, "--share", "target"];
        let ended = if scene == "proxy" {
            self.call(&[&["tool", "run", "-p", PROXIED, "--json"], &flags[..], &["try"]].concat())?
        } else {
            self.run_rogue(&flags, None)?
        };
        let rows = self.ground.table.iter().filter(|row| row.scene == scene);
        let names: BTreeSet<&str> = rows.map(|row| row.attempt.as_str()).collect();
        // If the product noticed that the tool wrote outside, it withholds the diff; the evidence contains the answer.
        let diff = match ended.text_at("diff") {
            "" => self.recorded_answer()?.unwrap_or_default(),
            diff => diff.to_owned(),
        };
        let lines = diff.lines().filter_map(|line| line.strip_prefix('+'));
        let lines = lines.filter(|line| line.starts_with("{\"attempt\""));
        let reports: Result<Vec<AttemptReport>, _> = lines.map(serde_json::from_str).collect();
        Ok(match reports {
            // The last answer in the evidence may belong to another scene.
            Ok(all) if all.iter().any(|report| names.contains(report.attempt.as_str())) => Ok(all),
            Ok(_) => Err(format!(
                "the rogue left no lines: {} {}",
                ended.summarize_end(),
                ended.stderr
            )),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Makes a run of the table.
    pub(super) fn make_run(&self, row: &RunRow) -> Result<RunFinding, GateError> {
        let mode = row.mode.as_ref().unwrap_or(&row.id);
        let repository = self.ground.repository().display().to_string();
        let words: Vec<String> = match &row.program {
            Some(words) => words
                .iter()
                .map(|word| word.replace("{repository}", &repository))
                .collect(),
            None => self.rogue_words(Some(mode)),
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let flags: Vec<&str> = row.flags.iter().map(String::as_str).collect();
        let verb = if row.lands { &LANDING[..] } else { &TOOL };
        let ended = self.call(&[verb, &flags, &["--"], &words].concat())?;
        let is = |wanted: &Option<String>, field: &str| {
            wanted
                .as_ref()
                .is_none_or(|wanted| ended.text_at(field) == wanted)
        };
        let touches = row
            .touched
            .as_ref()
            .is_none_or(|touched| ended.touched_files() == json!(touched));
        let adds = row
            .added
            .as_ref()
            .is_none_or(|lines| ended.added_lines() == *lines);
        // Control characters of a file name must be escaped in the result, because a terminal would interpret them.
        let is_raw = ended.stdout.contains(['\u{202e}', '\u{1b}', '\u{9b}']);
        let is_refused = NOT_LANDED.contains(&ended.text_at("outcome")) && ended.code != Some(0) && !is_raw;
        let is_recorded = !row.recorded || self.is_recorded(&ended)?;
        let is_end = is(&row.status, "status") && is(&row.outcome, "outcome") && is(&row.code, "code");
        let held = is_end && touches && adds && is_recorded && (is_refused || !row.refused);
        let (lines, summary) = (ended.added_lines().join(" / "), ended.summarize_end());
        let said = format!("{summary}, adds: {lines} {}", ended.stderr);
        Ok(run_finding(&row.id, held, said))
    }

    /// Returns true if a run ended with its answer, and its record has the layers of a harmless run, and the call `bpf`, which the rogue
    /// was refused.
    fn is_recorded(&self, ended: &FinishedCall) -> Result<bool, GateError> {
        let harmless = self.run_tool(&[], &HARMLESS)?;
        let parts = ["layers", "landlock_abi", "enforcement"].map(|part| format!("/boundary/{part}"));
        let is_same = parts
            .iter()
            .all(|part| ended.json.pointer(part) == harmless.json.pointer(part));
        let refused = |call: &FinishedCall| {
            call.json
                .pointer("/boundary/refused")
                .cloned()
                .unwrap_or_default()
        };
        let is_listed = refused(ended).to_string().contains("\"bpf\"");
        // On a kernel that cannot report refused calls, no run has the list.
        let is_whole = is_listed || !refused(&harmless).is_array();
        let has_ended = [ended, &harmless].map(|call| call.touched_files() == json!(["honest"]));
        Ok(has_ended == [true, true] && is_same && is_whole)
    }

    /// Returns the last answer in the product's evidence, or `None` if it contains none.
    fn recorded_answer(&self) -> Result<Option<String>, GateError> {
        let ended = self.call(&["evidence", "show", "--json"])?;
        let answers = ended.texts_at("records", "/body/answer_sha256");
        let name = answers.last().and_then(|name| name.strip_prefix("sha256:"));
        let blobs = self.ground.blob_folder();
        Ok(name.and_then(|name| std::fs::read_to_string(blobs.join(name)).ok()))
    }

    /// Verifies the product's evidence. Returns true if it is intact, and the exit code in words.
    pub(super) fn evidence_is_whole(&self) -> Result<(bool, String), GateError> {
        let ended = self.call(&["evidence", "verify", "--json"])?;
        Ok((ended.code == Some(0), format!("exit code {:?}", ended.code)))
    }

    /// Returns the words that start the rogue with one of its modes, or with the attempts of the scene `alone`.
    fn rogue_words(&self, mode: Option<&str>) -> Vec<String> {
        let python = self.python.display().to_string();
        let words = [python.as_str(), "rogue.py", "rogue.json"];
        words.into_iter().chain(mode).map(str::to_owned).collect()
    }

    /// Returns the arguments that run the rogue as a tool.
    pub(super) fn rogue_args(&self, flags: &[&str], mode: Option<&str>) -> Vec<String> {
        let fixed = TOOL
            .iter()
            .chain(flags)
            .chain(&["--"])
            .map(|word| (*word).to_owned());
        fixed.chain(self.rogue_words(mode)).collect()
    }

    /// Runs the rogue with one of its modes, or with the attempts of the scene `alone` if there is none.
    pub(super) fn run_rogue(&self, flags: &[&str], mode: Option<&str>) -> Result<FinishedCall, GateError> {
        self.run_rogue_with(None, flags, mode)
    }

    /// Runs the rogue with a limit on open files; with `None`, the gate's limit.
    pub(super) fn run_rogue_with(
        &self,
        open_files: Option<u32>,
        flags: &[&str],
        mode: Option<&str>,
    ) -> Result<FinishedCall, GateError> {
        let args = self.rogue_args(flags, mode);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.call_with(open_files, &args)
    }

    /// Runs a program as the tool, without landing its answer.
    pub(super) fn run_tool(&self, flags: &[&str], command: &[&str]) -> Result<FinishedCall, GateError> {
        self.call(&[&TOOL, flags, &["--"], command].concat())
    }

    /// Runs the product to its end.
    pub(super) fn call(&self, args: &[&str]) -> Result<FinishedCall, GateError> {
        self.call_with(None, args)
    }

    /// Runs the product with a limit on open files; with `None`, the gate's limit.
    pub(super) fn call_with(
        &self,
        open_files: Option<u32>,
        args: &[&str],
    ) -> Result<FinishedCall, GateError> {
        FinishedCall::run(&mut self.command(open_files, args), "", None)
    }

    /// Returns the command that starts the product as the chosen user.
    pub(super) fn command(&self, open_files: Option<u32>, args: &[&str]) -> Command {
        self.command_in(self.ground.repository(), open_files, args)
    }

    /// Returns the command that starts the product as the chosen user in a repository.
    pub(super) fn command_in(&self, repository: &Path, open_files: Option<u32>, args: &[&str]) -> Command {
        // An open descriptor and a variable with a secret, which a shell may leave to the programs that it starts.
        let leaked = self.ground.outside().join("canary-inherited");
        let limit = open_files.map_or_else(String::new, |count| format!("ulimit -n {count}; "));
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{SET_PATH}; {limit}exec 9<>\"$0\"; exec \"$@\"")])
            .arg(leaked);
        command.arg(self.agentos).arg("--repo").arg(repository).args(args);
        command
            .env("AGENTOS_ROGUE_SECRET", "leaked")
            .env("HOME", self.ground.home());
        // With an author set, only the product's own decision can prevent a landing.
        command.envs(IDENTITY).env("XDG_CACHE_HOME", &self.cache);
        command
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_RUNTIME_DIR");
        command.current_dir(repository);
        self.ground.as_user(&mut command);
        command
    }

    /// Returns the product with another cache.
    pub(super) fn with_cache(&self, cache: PathBuf) -> ProductRunner<'a> {
        ProductRunner { cache, ..*self }
    }
}
