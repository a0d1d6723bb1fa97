//! The gates that need no server: each judges the built program from outside, on repositories of its own.
//!
//! Owns: the list of these gates and their functions. Never: relies on the program's own report where git or the files can
//! be examined.

mod evidence;
mod flow;
mod ground;
mod kill;
mod scenes;
mod secrets;
mod tools;
mod types;

use agentos_verdict::{Check, GateSpec, GateTape};

use crate::error::GateError;
use crate::now;
use crate::options::GateRun;
use ground::Ground;

/// Checks of a gate that are code rather than rows of `cases.toml`.
type GateJudge = fn(&Ground, &mut GateChecks<'_>) -> Result<(), GateError>;

const JUDGES: &[(&str, GateJudge)] = &[
    ("tl_r1_end_to_end", flow::end_to_end),
    ("tl_r1_power_boundary", flow::own_program),
    ("okind_n1", tools::output_kinds),
    ("cap_sanity", tools::check_capabilities),
    ("no_selection", tools::no_selection),
    ("type_robustness", types::wrong_records),
    ("hostile_inputs", scenes::nothing_escaped),
    ("evidence_tampering", evidence::check_tampering),
    ("secrets_canary", secrets::check_canaries),
    ("kill_points", kill::kill_points),
];

/// Makes the checks of a gate: first its cases in `cases.toml`, then the checks that are code.
pub(crate) fn make_checks(asked: &GateRun, tape: &mut GateTape) -> Result<Vec<Check>, GateError> {
    let ground = Ground::new(asked)?;
    let mut checks = GateChecks {
        gate: &asked.gate,
        made: Vec::new(),
    };
    scenes::play_scenes(&ground, &mut checks)?;
    for (_, judge) in JUDGES.iter().filter(|(name, _)| *name == asked.gate.name) {
        judge(&ground, &mut checks)?;
    }
    // Every call is recorded, so that a reader of the evidence can repeat it.
    for call in ground.all_calls() {
        tape.append_record(now().as_str(), "call", call)?;
    }
    Ok(checks.made)
}

/// The checks of a gate so far.
struct GateChecks<'a> {
    gate: &'a GateSpec,
    made: Vec<Check>,
}

impl GateChecks<'_> {
    /// Adds a check that held or did not hold.
    fn add_check(&mut self, id: &str, held: bool, said: impl Into<String>) {
        self.made.push(Check::new(id, &self.name(id), held, said));
    }

    /// Adds a check that could not be made.
    fn skip_check(&mut self, id: &str, why: &str) {
        self.made.push(Check::skipped(id, &self.name(id), why));
    }

    /// Returns the name of a check in the list of gates, or its id if it has none. `<…>` in an id of the list matches any
    /// text.
    fn name(&self, id: &str) -> String {
        let fits = |pattern: &str| match pattern.split_once('<') {
            Some((before, rest)) => {
                let after = rest.split_once('>').map_or("", |(_, after)| after);
                id.starts_with(before) && id.ends_with(after)
            }
            None => id == pattern,
        };
        let found = self.gate.checks.iter().find(|(pattern, _)| fits(pattern));
        found.map_or_else(|| id.to_owned(), |(_, name)| name.clone())
    }
}
