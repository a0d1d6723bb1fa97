//! One half of the suite: everything, with the product started by one user.
//!
//! Owns: the order of the runs, one check for each attempt and for each thing outside that must be as it was. Never:
//! believes the rogue alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::ground::Ground;
use super::runs::{AttemptReport, AttemptVerdict, Program};
use super::suite::AttemptRow;
use super::{check_of, now, skipped};
use crate::error::GateError;
use crate::evidence::Tape;
use crate::results::Check;

/// Who starts the product in one half, and how its checks are named.
pub(super) struct Half {
    /// `root` or `user`; stands before the id of every check.
    pub(super) name: &'static str,
    /// The user; `None` if it is the one who starts the gate.
    pub(super) user: Option<u32>,
}

impl Half {
    fn check(&self, id: &str, name: &str, held: bool, said: String) -> Check {
        check_of(&format!("{}/{id}", self.name), name, held, said)
    }

    /// Runs this half; inside the error position, why it cannot be judged.
    pub(super) fn judge(
        &self,
        agentos: &Path,
        python: &Path,
        tape: &mut Tape,
    ) -> Result<Result<Vec<Check>, String>, GateError> {
        let ground = Ground::prepare(python, self.user)?;
        let program = Program {
            agentos,
            python,
            cache: ground.cache(),
            ground: &ground,
        };
        if let Some(why) = program.cannot_confine()? {
            return Ok(Err(why));
        }
        ground.open()?;
        let before = ground.measure()?;
        let mut checks = Vec::new();
        for scene in ["alone", "proxy"] {
            let made = program.scene(scene)?;
            let changed = ground.changed_paths(&before)?;
            let rows = ground.table.iter().filter(|row| row.scene == scene);
            let verdicts = judge_scene(&ground, rows, &made, &changed);
            let reached = made.as_ref().err().cloned();
            for verdict in verdicts {
                let body = json!({"half": self.name, "verdict": verdict});
                tape.add(&now(), "attempt", &body)?;
                let name = format!("{}: {}", verdict.row.kind, verdict.row.what);
                checks.push(self.check(&verdict.row.attempt, &name, !verdict.succeeded, verdict.said));
            }
            let said = reached.unwrap_or_else(|| "every attempt of the table was made".to_owned());
            checks.push(self.check(
                &format!("scene-{scene}"),
                "the scene was played to its end",
                made.is_ok(),
                said,
            ));
        }
        self.judge_runs(&program, tape, &mut checks)?;
        for (id, name, held, said) in ground.differences(&before)? {
            checks.push(self.check(id, name, held, said));
        }
        let (held, said) = program.evidence_is_whole()?;
        checks.push(self.check("evidence", "the evidence verifies", held, said));
        // Last: it changes what the product itself keeps.
        for (id, held, said) in [program.forged_copies()?, program.forged_caches()?].concat() {
            tape.add(
                &now(),
                "run",
                json!({"half": self.name, "run": id, "held": held, "said": said}),
            )?;
            checks.push(self.check(id, "a forged copy of the base leads nowhere", held, said));
        }
        Ok(Ok(checks))
    }

    /// Makes the runs that are more than one attempt.
    fn judge_runs(
        &self,
        program: &Program<'_>,
        tape: &mut Tape,
        checks: &mut Vec<Check>,
    ) -> Result<(), GateError> {
        for (name, runs) in [
            ("what does not end is ended", program.endless()?),
            ("the answer does not land", program.answers()?),
            ("the run reaches nothing of the outside", program.whole_runs()?),
        ] {
            for (id, held, said) in runs {
                tape.add(
                    &now(),
                    "run",
                    json!({"half": self.name, "run": id, "held": held, "said": said}),
                )?;
                checks.push(self.check(id, name, held, said));
            }
        }
        let id = "disk-limit";
        match program.disk_limit()? {
            Err(why) => checks.push(skipped(&format!("{}/{id}", self.name), &why)),
            Ok((held, said)) => {
                tape.add(
                    &now(),
                    "run",
                    json!({"half": self.name, "run": id, "held": held, "said": said}),
                )?;
                checks.push(self.check(id, "a run that takes too much of the disk is ended", held, said));
            }
        }
        Ok(())
    }
}

/// Judges every row of the table: by what the gate saw first, by what the rogue reports else. One that was not made has
/// not been held.
fn judge_scene<'a>(
    ground: &Ground,
    rows: impl Iterator<Item = &'a AttemptRow>,
    made: &Result<Vec<AttemptReport>, String>,
    changed: &[PathBuf],
) -> Vec<AttemptVerdict> {
    let reports: BTreeMap<&str, &AttemptReport> = made
        .iter()
        .flatten()
        .map(|report| (report.attempt.as_str(), report))
        .collect();
    let judged = rows.map(|row| {
        let (succeeded, said) = match reports.get(row.attempt.as_str()) {
            None => (true, "the attempt was not made".to_owned()),
            Some(report) => judge_report(ground, report, changed),
        };
        AttemptVerdict {
            row: row.clone(),
            succeeded,
            said,
        }
    });
    judged.collect()
}

fn judge_report(ground: &Ground, report: &AttemptReport, changed: &[PathBuf]) -> (bool, String) {
    let name = report.attempt.as_str();
    let own = [format!("canary-{name}"), format!("new-{name}")];
    let is_own = |path: &&PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        own.iter().any(|own| file == own.as_str())
    };
    let listeners = &ground.listeners;
    if let Some(path) = changed.iter().find(is_own) {
        return (true, format!("seen from outside: {}", path.display()));
    }
    let left = ground.places_left();
    if let Some(place) = left
        .iter()
        .find(|place| place.ends_with(&format!("-{name}")) && Path::new(place).exists())
    {
        return (true, format!("seen from outside: {place}"));
    }
    if listeners.allowed_heard(&format!("attacker-{name}."))
        || listeners.forbidden_heard(&format!("{name}\n"))
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
