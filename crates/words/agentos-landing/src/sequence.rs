//! Parts of an answer that edit the same file: all made for the base, or each for the result of the one before.
//!
//! Owns: which of the two an answer means. Never: reads parts one after the other without evidence, or picks one of
//! two readings that differ.
//!
//! A model that edits a file twice in one answer may mean both edits for the file as it was, or the second for the
//! result of the first. Most answers land in one of the two readings only; where both land, a wrong choice puts an
//! edit at another place.
//!
//! | evidence | reading |
//! |---|---|
//! | no file has two parts | together |
//! | a series of mails | one after the other |
//! | none | together; the other reading must have the same result or must not land |

use std::collections::{BTreeSet, HashMap, HashSet};
use std::slice;

use crate::context::LandingContext;
use crate::overlay::BaseOverlay;
use crate::parse::{
    EditBody, FileEdit, HeaderName, ParsedAnswer, bare_name, git_pairs, new_repair, same_file,
};
use crate::plan::PlanOutcome;
use crate::{BaseError, FileReport, LandOptions, Refusal, RefusalCode, Rung};

/// Maximum number of parts of repeatedly edited files that are read one after the other.
const MAX_STEPS: usize = 64;
/// Maximum number of bytes of their files, each counted once for each of its parts.
const MAX_BYTES: usize = 32 << 20;

impl LandingContext<'_> {
    /// Plans all parts, together or one after the other, or reports for each file why it is refused.
    ///
    /// # Errors
    /// Fails if the base cannot be read.
    pub(crate) fn plan_sequence(self, parsed: &ParsedAnswer) -> Result<PlanOutcome, BaseError> {
        let refused =
            |code, message: &str| Ok(refuse_outcome(self.plan_parts(&parsed.files)?, code, message));
        if shared_parts(&parsed.files).all.is_empty() {
            return self.plan_parts(&parsed.files);
        }
        // "Alternatively: …" offers two versions. To land both would land neither as it was meant.
        if !self.options.partial && parsed.has_alternatives {
            let message = "the answer edits a file in several parts, and states that one replaces another";
            return refused(RefusalCode::Ambiguous, message);
        }
        if parsed.mails > 1 {
            if let Some(outcome) = self.land_in_turn(&parsed.files)? {
                return Ok(outcome);
            }
            let message = "the answer has too many patches of one file, one after the other";
            return refused(RefusalCode::TooLarge, message);
        }
        let together = self.plan_parts(&parsed.files)?;
        let lands = together.states.is_some() && !contradicts_itself(&together);
        if self.options.partial && !lands {
            return Ok(together);
        }
        let steps = distinct_steps(&parsed.files);
        let outcome = if lands {
            self.check_readings(together, &steps)?
        } else {
            self.try_in_turn(together, &steps)?
        };
        if steps.len() == parsed.files.len() || outcome.states.is_none() {
            return Ok(outcome);
        }
        // A repeated part is meant once, unless it can also be applied twice.
        self.check_readings(outcome, &parsed.files)
    }

    /// Compares with the other reading after the parts landed together. In turn they must have the same result and no
    /// several places: a repeated edit may be meant twice, and an edit may be meant for a place that an earlier one made.
    fn check_readings(self, together: PlanOutcome, steps: &[FileEdit]) -> Result<PlanOutcome, BaseError> {
        let Some(turns) = self.land_in_turn(steps)? else {
            return Ok(together);
        };
        let has_places = |report: &FileReport| {
            let mut hunks = report.hunks.iter().filter_map(|hunk| hunk.refusal.as_ref());
            hunks.any(|refusal| refusal.code == RefusalCode::Ambiguous)
        };
        // In turn, a hunk fits more than one place. That it fits only one in the base may then be an accident.
        if turns.states.is_none() && turns.reports.iter().any(has_places) {
            return Ok(refuse_outcome(
                together,
                RefusalCode::Ambiguous,
                "several parts of the answer edit the same file, and fit several places if applied one after the other",
            ));
        }
        Ok(require_same_result(together, &turns))
    }

    /// Tries the parts in turn after they did not land together. They land if one of them was made for the result of
    /// others: it has no place in the base, and exactly one in the result.
    fn try_in_turn(self, together: PlanOutcome, steps: &[FileEdit]) -> Result<PlanOutcome, BaseError> {
        let may = steps.len() > 1 && (contradicts_itself(&together) || has_no_place(&together));
        if !may || !self.shows_sequence(steps)? {
            return Ok(together);
        }
        let loose = without_stated_lines(steps);
        // This reading has only weak evidence, so each hunk must match exactly.
        match self.land_in_turn(&loose)? {
            Some(mut turns) if turns.states.is_some() && turns.reports.iter().all(is_exact) => {
                for report in &mut turns.reports {
                    report.repairs.push(new_repair(
                        "in-turn",
                        "the edits were applied one after the other: a later one was made for the result of an earlier one",
                    ));
                }
                Ok(turns)
            }
            Some(_) | None => Ok(together),
        }
    }

    /// Returns true if a step that shares a file with an earlier one has no place in the base alone, or moves a file that
    /// was edited.
    fn shows_sequence(self, steps: &[FileEdit]) -> Result<bool, BaseError> {
        let later = shared_parts(steps).later;
        if later.len() > MAX_STEPS {
            return Ok(false);
        }
        for step in later.iter().filter_map(|at| steps.get(*at)) {
            // A move of a file that another part edits only makes sense after that edit.
            if step.extended.from.is_some() && !step.extended.copy {
                return Ok(true);
            }
            let alone = self.plan_parts(slice::from_ref(step))?;
            if alone.states.is_none() && has_no_place(&alone) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Plans each step on the result of the steps before it. Returns `None` if that would exceed the limits.
    fn land_in_turn(self, steps: &[FileEdit]) -> Result<Option<PlanOutcome>, BaseError> {
        let repeated = shared_parts(steps).all;
        if repeated.len() > MAX_STEPS {
            return Ok(None);
        }
        // A step that lands in part would leave a base that the next step was not made for.
        let mut options = LandOptions {
            partial: false,
            ..self.options.clone()
        };
        let mut now = BaseOverlay::new(self.base);
        let mut reports: Vec<FileReport> = Vec::new();
        let mut bytes = 0;
        for (at, step) in steps.iter().enumerate() {
            let context = LandingContext {
                base: &now,
                options: &options,
                ..self
            };
            let outcome = context.plan_parts(slice::from_ref(step))?;
            reports.extend(outcome.reports);
            // One step without a place ends this reading, with the reports up to it.
            let Some(states) = outcome.states else {
                let states = None;
                return Ok(Some(PlanOutcome { reports, states }));
            };
            if repeated.contains(&at) {
                let sizes = states.iter().flat_map(|(_, old, new)| [old, new]).flatten();
                bytes += sizes.map(|state| state.content.len()).sum::<usize>();
            }
            if bytes > MAX_BYTES {
                return Ok(None);
            }
            now.put_states(states);
            // The file was edited since it was sent, so the next part speaks of the result and not of what was sent.
            options.seen.retain(|seen| {
                let first = now.first_state(seen.path.as_str());
                first.is_none_or(|first| first.content != seen.content)
            });
        }
        let states = Some(now.into_states());
        Ok(Some(PlanOutcome { reports, states }))
    }
}

/// Returns the parts, each repeated one once unless they are too many to be read in turn.
fn distinct_steps(files: &[FileEdit]) -> Vec<FileEdit> {
    let few = files.len() <= 4 * MAX_STEPS;
    let mut seen = HashSet::new();
    let steps = files.iter().filter(|edit| !few || seen.insert(*edit));
    steps.cloned().collect()
}

/// Refuses the outcome if the parts land in turn with another result.
fn require_same_result(together: PlanOutcome, turns: &PlanOutcome) -> PlanOutcome {
    let sorted = |outcome: &PlanOutcome| {
        let mut states = outcome.states.clone()?;
        states.sort_by(|a, b| a.0.cmp(&b.0));
        Some(states)
    };
    match sorted(turns) {
        Some(states) if Some(&states) != sorted(&together).as_ref() => refuse_outcome(
            together,
            RefusalCode::Ambiguous,
            "several parts of the answer edit the same file, and land elsewhere if applied one after the other",
        ),
        Some(_) | None => together,
    }
}

/// Returns the steps without the stated lines of those that continue a file: they may be of either state.
fn without_stated_lines(steps: &[FileEdit]) -> Vec<FileEdit> {
    let later = shared_parts(steps).later;
    let loose = steps.iter().enumerate().map(|(at, step)| {
        let mut edit = step.clone();
        if later.contains(&at)
            && let EditBody::Hunks(hunks) = &mut edit.body
        {
            for hunk in hunks {
                hunk.stated.old_start = None;
                hunk.stated.new_start = None;
            }
        }
        edit
    });
    loose.collect()
}

/// Returns true if two parts of one path cannot both be made for the base.
fn contradicts_itself(outcome: &PlanOutcome) -> bool {
    let mut refusals = outcome.refusals();
    let is_refused = refusals.any(|refusal| refusal.code == RefusalCode::Malformed);
    let paths = outcome.states.iter().flatten().map(|(path, _, _)| path.as_str());
    let mut paths: Vec<&str> = paths.collect();
    paths.sort_unstable();
    paths.array_windows().any(|[a, b]| a == b) || is_refused
}

/// Returns true if something is refused, and every refusal is for a missing text or one that is there already.
fn has_no_place(outcome: &PlanOutcome) -> bool {
    let mut refusals = outcome.refusals().peekable();
    refusals.peek().is_some() && refusals.all(|refusal| refusal.code.has_no_place())
}

/// Returns true if every hunk of the file matches exactly. A reading that the answer does not state needs this much
/// evidence.
pub(crate) fn is_exact(report: &FileReport) -> bool {
    report.hunks.iter().all(|hunk| match hunk.rung {
        Some(Rung::ExactStated | Rung::ExactMoved | Rung::TrailingBlanks | Rung::WholeFile) => true,
        Some(Rung::Indentation | Rung::Blanks | Rung::Typography | Rung::Merged) | None => false,
    })
}

/// Refuses the outcome for this reason.
fn refuse_outcome(mut outcome: PlanOutcome, code: RefusalCode, message: &str) -> PlanOutcome {
    if let Some(report) = outcome.reports.first_mut() {
        let refusal = Refusal::new(code, message).at(&report.path);
        report.refusal =
            Some(refusal.hint("give all edits of a file in one diff, made for the file as it is"));
    }
    outcome.states = None;
    outcome
}

/// Indexes of the parts that share a file with others.
#[derive(Default)]
struct SharedParts {
    /// All of them.
    all: BTreeSet<usize>,
    /// Indexes of the parts that share a file with an earlier one.
    later: BTreeSet<usize>,
}

/// Finds the parts that share a file.
fn shared_parts(edits: &[FileEdit]) -> SharedParts {
    let mut by_name: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut found = SharedParts::default();
    for (at, edit) in edits.iter().enumerate() {
        for name in part_names(edit) {
            if let Some(other) = by_name.insert(name, at).filter(|other| *other != at) {
                found.all.extend([other, at]);
                found.later.insert(at);
            }
        }
    }
    found
}

/// Returns the names of a part without prefixes.
fn part_names(edit: &FileEdit) -> Vec<Vec<u8>> {
    let written = [&edit.old, &edit.new]
        .into_iter()
        .filter_map(HeaderName::written)
        .map(|name| bare_name(name).to_vec());
    let moved = [&edit.extended.from, &edit.extended.to]
        .into_iter()
        .flatten()
        .cloned();
    let mut names: Vec<Vec<u8>> = written.chain(moved).collect();
    if names.is_empty()
        && let Some(git) = &edit.extended.git_line
    {
        let same = git_pairs(git).into_iter().filter(|(a, b)| same_file(a, b));
        names.extend(same.map(|(a, _)| bare_name(&a).to_vec()));
    }
    names.sort_unstable();
    names.dedup();
    names
}
