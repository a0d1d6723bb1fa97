//! One half of the suite: all attempts and runs, with the product started by one user.
//!
//! Owns: the order of the runs, a check for each attempt, and a check for each thing outside that must not change. Never:
//! relies on the rogue's report alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_verdict::{Check, GateTape};
use serde_json::json;

use super::ground::Ground;
use super::runs::{AttemptReport, AttemptVerdict, ProductRunner, RunFinding};
use super::suite::AttemptRow;
use super::table;
use super::toolbox;
use super::watch::OutsideState;
use crate::error::GateError;
use crate::now;

/// A half of the suite: the user who starts the product, and the prefix of the ids of its checks.
pub(super) struct SuiteHalf {
    /// `root` or `user`; the prefix of the id of every check.
    pub(super) name: &'static str,
    /// The user; `None` if it is the one who started the gate.
    pub(super) user: Option<u32>,
}

impl SuiteHalf {
    /// Returns a check of this half.
    pub(super) fn check(&self, id: &str, name: &str, held: bool, said: String) -> Check {
        Check::new(format!("ROGUE-{}/{id}", self.name), name, held, said)
    }

    /// Runs this half. Returns its checks, or the reason why nothing can be judged.
    pub(super) fn judge_half(
        &self,
        agentos: &Path,
        python: &Path,
        tape: &mut GateTape,
    ) -> Result<Result<Vec<Check>, String>, GateError> {
        let ground = Ground::prepare(python, self.user)?;
        let program = ProductRunner {
            agentos,
            python,
            cache: ground.cache(),
            ground: &ground,
        };
        if let Some(why) = program.cannot_confine()? {
            return Ok(Err(why));
        }
        // The first run has created files of the product; they must be open as well before the state is
        // measured.
        ground.open()?;
        let before = ground.measure()?;
        let mut checks = Vec::new();
        self.judge_groups(&program, tape, &mut checks, true)?;
        for scene in ["alone", "proxy"] {
            let made = program.make_attempts(scene)?;
            let changed = ground.changed_paths(&before)?;
            let rows = ground.table.iter().filter(|row| row.scene == scene);
            for verdict in judge_scene(&ground, rows, &made, &changed) {
                tape.append_record(
                    now().as_str(),
                    "attempt",
                    json!({"half": self.name, "verdict": verdict}),
                )?;
                let name = format!("{}: {}", verdict.row.kind, verdict.row.what);
                checks.push(self.check(&verdict.row.attempt, &name, !verdict.succeeded, verdict.said));
            }
            let (id, name) = (format!("scene-{scene}"), "the scene was played to its end");
            let said = made.as_ref().err().cloned();
            let said = said.unwrap_or_else(|| "every attempt of the table was made".to_owned());
            checks.push(self.check(&id, name, made.is_ok(), said));
        }
        self.judge_toolbox(&program, tape, &before, &mut checks)?;
        for verdict in program.widening_runs()? {
            let body = json!({"half": self.name, "verdict": verdict});
            tape.append_record(now().as_str(), "attempt", body)?;
            let name = format!("a repository shows nothing of the user's: {}", verdict.row.what);
            checks.push(self.check(&verdict.row.attempt, &name, !verdict.succeeded, verdict.said));
        }
        self.judge_runs(&program, tape, &mut checks)?;
        for (id, name, held, said) in ground.find_differences(&before)? {
            checks.push(self.check(id, name, held, said));
        }
        // After all runs: refused calls and killed tools must leave a tape that verifies, too.
        let (held, said) = program.evidence_is_whole()?;
        checks.push(self.check("evidence", "the evidence verifies", held, said));
        // At the end, because it changes the files that the product keeps.
        let copies = [program.forged_copies()?, program.forged_caches()?].concat();
        checks.extend(self.record_runs(tape, "a forged copy of the base leads nowhere", copies)?);
        Ok(Ok(checks))
    }

    /// Makes the attempts that fit a tool of a conversation, through a model that calls it. Their ids begin with `toolbox`.
    fn judge_toolbox(
        &self,
        program: &ProductRunner<'_>,
        tape: &mut GateTape,
        before: &OutsideState,
        checks: &mut Vec<Check>,
    ) -> Result<(), GateError> {
        let ground = program.ground;
        let made = program.call_toolbox()?;
        let changed = ground.changed_paths(before)?;
        let rows = ground.table.iter();
        let rows = rows.filter(|row| row.scene == "alone" && toolbox::KINDS.contains(&row.kind.as_str()));
        for verdict in judge_scene(ground, rows, &made, &changed) {
            let body = json!({"half": self.name, "toolbox": true, "verdict": verdict});
            tape.append_record(now().as_str(), "attempt", body)?;
            let (id, row) = (format!("toolbox-{}", verdict.row.attempt), &verdict.row);
            let name = format!("called by a model, {}: {}", row.kind, row.what);
            checks.push(self.check(&id, &name, !verdict.succeeded, verdict.said));
        }
        let said = made.as_ref().err().cloned();
        let said = said.unwrap_or_else(|| {
            format!(
                "every attempt of these classes was made in a conversation: {}",
                toolbox::KINDS.join(", ")
            )
        });
        let name = "a model called the toolbox, and its results came back";
        checks.push(self.check("scene-toolbox", name, made.is_ok(), said));
        Ok(())
    }

    /// Makes the runs that consist of more than one attempt.
    fn judge_runs(
        &self,
        program: &ProductRunner<'_>,
        tape: &mut GateTape,
        checks: &mut Vec<Check>,
    ) -> Result<(), GateError> {
        self.judge_groups(program, tape, checks, false)?;
        let answers = program.other_answers()?;
        checks.extend(self.record_runs(tape, "the answer does not land", answers)?);
        let whole = program.whole_runs()?;
        checks.extend(self.record_runs(tape, "the run reaches nothing of the outside", whole)?);
        let name = "a run that takes too much of the disk is ended";
        match program.disk_limit()? {
            Err(why) => checks.push(super::skipped_part(&format!("{}/disk-limit", self.name), &why)),
            Ok(seen) => checks.extend(self.record_runs(tape, name, vec![seen])?),
        }
        Ok(())
    }

    /// Makes the runs of the table: those before the attempts, or the others.
    fn judge_groups(
        &self,
        program: &ProductRunner<'_>,
        tape: &mut GateTape,
        checks: &mut Vec<Check>,
        is_first: bool,
    ) -> Result<(), GateError> {
        let groups = table::run_groups()?;
        for group in groups.iter().filter(|group| group.is_first == is_first) {
            let all: Result<Vec<RunFinding>, _> =
                group.runs.iter().map(|row| program.make_run(row)).collect();
            checks.extend(self.record_runs(tape, &group.name, all?)?);
        }
        Ok(())
    }

    /// Records runs and returns a check for each.
    fn record_runs(
        &self,
        tape: &mut GateTape,
        name: &str,
        all: Vec<RunFinding>,
    ) -> Result<Vec<Check>, GateError> {
        let mut checks = Vec::new();
        for (id, held, said) in all {
            let body = json!({"half": self.name, "run": id, "held": held, "said": said});
            tape.append_record(now().as_str(), "run", body)?;
            checks.push(self.check(&id, name, held, said));
        }
        Ok(checks)
    }
}

/// Judges every row of the table, first by the gate's own observations, otherwise by the rogue's report. An attempt that was
/// not made counts as one that succeeded.
fn judge_scene<'a>(
    ground: &Ground,
    rows: impl Iterator<Item = &'a AttemptRow>,
    made: &Result<Vec<AttemptReport>, String>,
    changed: &[PathBuf],
) -> Vec<AttemptVerdict> {
    let reports = made
        .iter()
        .flatten()
        .map(|report| (report.attempt.as_str(), report));
    let reports: BTreeMap<&str, &AttemptReport> = reports.collect();
    let judged = rows.map(|row| {
        let report = reports.get(row.attempt.as_str());
        // Silence must not count as success of the sandbox: a rogue that crashed early would pass otherwise.
        let unmade = || (true, "the attempt was not made".to_owned());
        let (succeeded, said) = report.map_or_else(unmade, |report| judge_report(ground, report, changed));
        AttemptVerdict {
            row: row.clone(),
            succeeded,
            said,
        }
    });
    judged.collect()
}

/// Judges one attempt. Returns true if it reached something outside, and the observation.
fn judge_report(ground: &Ground, report: &AttemptReport, changed: &[PathBuf]) -> (bool, String) {
    let name = report.attempt.as_str();
    let own = [format!("canary-{name}"), format!("new-{name}")];
    let is_own = |path: &&PathBuf| own.iter().any(|own| path.ends_with(own));
    if let Some(path) = changed.iter().find(is_own) {
        return (true, format!("seen from outside: {}", path.display()));
    }
    let is_left = |place: &&String| place.ends_with(&format!("-{name}")) && Path::new(place).exists();
    if let Some(place) = ground.places_left().iter().find(is_left) {
        return (true, format!("seen from outside: {place}"));
    }
    let listeners = &ground.listeners;
    if listeners.allowed.has_heard(&format!("attacker-{name}."))
        || listeners.forbidden.has_heard(&format!("{name}\n"))
    {
        return (true, "heard outside".to_owned());
    }
    if report
        .read
        .as_ref()
        .is_some_and(|text| text.contains(&ground.marker))
    {
        return (true, "a secret of the outside was read".to_owned());
    }
    let said = report.said.clone().unwrap_or_else(|| "it worked".to_owned());
    (report.succeeded, said)
}
