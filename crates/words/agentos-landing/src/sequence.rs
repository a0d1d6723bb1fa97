//! Parts of an answer that speak of the same file: all made for the base, or each for what the one before leaves.
//!
//! Owns: which of the two an answer means. Never: reads it in turn without a sign that it is meant so, or takes one
//! of two readings that differ.

mod overlay;
mod signs;

use crate::budget::Budget;
use crate::parse::{Body, FileEdit, Parsed, Stated, repair};
use crate::plan::{Outcome, plan};
use crate::{Base, BaseError, FileReport, LandOptions, Refusal, RefusalCode, Rung};

use overlay::Overlay;
use signs::{Order, order};

/// More parts than this of files with several parts are not read in turn.
const MAX_STEPS: usize = 64;
/// Nor more bytes than these of their files, each counted for each of its parts.
const MAX_BYTES: usize = 32 << 20;

/// Lands all parts, together or in turn, or says for each file why not.
pub(crate) fn settle(
    answer: &[u8],
    parsed: &Parsed<'_>,
    base: &dyn Base,
    options: &LandOptions,
    budget: &mut Budget,
) -> Result<Outcome, BaseError> {
    let order = order(answer, parsed);
    if order != Order::Once && !options.partial && signs::alternatives(answer) {
        let message =
            "the answer edits a file in several parts, and says that one takes the place of another";
        return Ok(refused(
            plan(parsed, base, options, budget)?,
            RefusalCode::Ambiguous,
            message,
        ));
    }
    match order {
        Order::Base => plan(parsed, base, options, budget),
        Order::InTurn => {
            let steps = parsed.files.iter().map(Step::of).collect::<Vec<_>>();
            match in_turn(&steps, base, options, budget)? {
                Some(outcome) => Ok(outcome),
                None => Ok(refused(
                    plan(parsed, base, options, budget)?,
                    RefusalCode::TooLarge,
                    "the answer has too many patches of one file, one after the other",
                )),
            }
        }
        Order::Unknown => {
            let together = plan(parsed, base, options, budget)?;
            let lands = together.states.is_some() && !contradicts(&together);
            if options.partial && !lands {
                return Ok(together);
            }
            let steps = distinct(&parsed.files);
            let outcome = if lands {
                either(together, &steps, base, options, budget)?
            } else {
                made_for_result(together, &steps, base, options, budget)?
            };
            if steps.len() == parsed.files.len() || outcome.states.is_none() {
                return Ok(outcome);
            }
            // What is there twice is meant once, unless it can be done twice.
            let all: Vec<Step<'_>> = parsed.files.iter().map(Step::of).collect();
            either(outcome, &all, base, options, budget)
        }
        Order::Once => {
            let together = plan(parsed, base, options, budget)?;
            if together.states.is_some() || options.partial {
                return Ok(together);
            }
            let steps: Vec<Step<'_>> = parsed.files.iter().flat_map(by_hunk).collect();
            made_for_result(together, &steps, base, options, budget)
        }
    }
}

/// One part, or one hunk of one.
struct Step<'a> {
    edit: FileEdit<'a>,
    /// It goes on with the file of the step before.
    goes_on: bool,
}

impl<'a> Step<'a> {
    fn of(edit: &FileEdit<'a>) -> Self {
        Self {
            edit: edit.clone(),
            goes_on: false,
        }
    }
}

/// The parts, each that is there twice once.
fn distinct<'a>(files: &[FileEdit<'a>]) -> Vec<Step<'a>> {
    let mut kept: Vec<Step<'a>> = Vec::new();
    // The parts are compared only where they are few enough to be read in turn.
    let few = files.len() <= 4 * MAX_STEPS;
    for edit in files {
        if !(few && kept.iter().any(|step| step.edit == *edit)) {
            kept.push(Step::of(edit));
        }
    }
    kept
}

/// A part that edits a file, hunk by hunk. Only the first keeps its line: the others' may be of either state.
fn by_hunk<'a>(edit: &FileEdit<'a>) -> Vec<Step<'a>> {
    let extended = &edit.extended;
    let moves = extended.from.is_some() || extended.new_file.is_some() || extended.deleted.is_some();
    let hunks = match &edit.body {
        Body::Hunks(hunks) if hunks.len() > 1 && hunks.len() <= MAX_STEPS && !moves => hunks,
        Body::Hunks(_) | Body::Whole(_) => return vec![Step::of(edit)],
    };
    let steps = hunks.iter().enumerate().map(|(at, hunk)| {
        let mut step = Step::of(edit);
        let mut hunk = hunk.clone();
        if at > 0 {
            hunk.stated = Stated::default();
            step.edit.extended.new_mode = None;
            step.edit.extended.old_mode = None;
            step.goes_on = true;
        }
        step.edit.body = Body::Hunks(vec![hunk]);
        step
    });
    steps.collect()
}

/// The parts land in one reading. In turn they must come to the same, and not have several places: an edit that is
/// there twice may then be meant twice, and one that an earlier one makes room for may be meant there.
fn either(
    together: Outcome,
    steps: &[Step<'_>],
    base: &dyn Base,
    options: &LandOptions,
    budget: &mut Budget,
) -> Result<Outcome, BaseError> {
    let Some(turns) = in_turn(steps, base, options, budget)? else {
        return Ok(together);
    };
    let has_places = |report: &FileReport| {
        let mut hunks = report.hunks.iter().filter_map(|hunk| hunk.refusal.as_ref());
        hunks.any(|refusal| refusal.code == RefusalCode::Ambiguous)
    };
    if turns.states.is_none() && turns.reports.iter().any(has_places) {
        return Ok(refused(
            together,
            RefusalCode::Ambiguous,
            "several parts of the answer edit the same file, and have several places when they are read one after the other",
        ));
    }
    Ok(the_same(together, &turns))
}

/// What was read in turn must come to the same, where it lands.
fn the_same(together: Outcome, turns: &Outcome) -> Outcome {
    let sorted = |outcome: &Outcome| {
        let mut states = outcome.states.clone()?;
        states.sort_by(|a, b| a.0.cmp(&b.0));
        Some(states)
    };
    match sorted(turns) {
        Some(states) if Some(&states) != sorted(&together).as_ref() => refused(
            together,
            RefusalCode::Ambiguous,
            "several parts of the answer edit the same file, and land elsewhere when they are read one after the other",
        ),
        Some(_) | None => together,
    }
}

/// The parts do not land together. In turn they do, where one of them was made for what others leave: it has no
/// place in the base, and exactly one in the result.
fn made_for_result(
    together: Outcome,
    steps: &[Step<'_>],
    base: &dyn Base,
    options: &LandOptions,
    budget: &mut Budget,
) -> Result<Outcome, BaseError> {
    let may = steps.len() > 1 && (contradicts(&together) || stands_nowhere(&together));
    if !may || !shows_it(steps, base, options, budget)? {
        return Ok(together);
    }
    let loose = unstated(steps);
    match in_turn(&loose, base, options, budget)? {
        Some(mut turns) if turns.states.is_some() && turns.reports.iter().all(stands_exactly) => {
            for report in &mut turns.reports {
                report.repairs.push(repair(
                    "in-turn",
                    "the edits were read one after the other: a later one was made for the result of an earlier one",
                ));
            }
            Ok(turns)
        }
        Some(_) | None => Ok(together),
    }
}

/// The steps, without the stated lines of those that go on with a file: they may be of either state.
fn unstated<'a>(steps: &[Step<'a>]) -> Vec<Step<'a>> {
    let later = signs::later(steps.iter().map(|step| &step.edit));
    let loose = steps.iter().enumerate().map(|(at, step)| {
        let mut edit = step.edit.clone();
        if later.contains(&at)
            && let Body::Hunks(hunks) = &mut edit.body
        {
            for hunk in hunks {
                hunk.stated.old_start = None;
                hunk.stated.new_start = None;
            }
        }
        Step {
            edit,
            goes_on: step.goes_on,
        }
    });
    loose.collect()
}

/// Two parts of one path, of which not both can be of the base.
fn contradicts(outcome: &Outcome) -> bool {
    let refused = |report: &FileReport| {
        let refusal = report.refusal.as_ref();
        refusal.is_some_and(|refusal| refusal.code == RefusalCode::Malformed)
    };
    let mut paths: Vec<&str> = outcome
        .states
        .iter()
        .flatten()
        .map(|(path, _, _)| path.as_str())
        .collect();
    paths.sort_unstable();
    paths.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) || outcome.reports.iter().any(refused)
}

/// What is refused, has no place, or what it speaks of is not there, or is there already.
fn stands_nowhere(outcome: &Outcome) -> bool {
    let mut refusals = outcome
        .reports
        .iter()
        .filter_map(|report| report.refusal.as_ref())
        .peekable();
    refusals.peek().is_some() && refusals.all(|refusal| refusal.code.has_no_place())
}

/// A step that shares a file with an earlier one has no place in the base alone, or moves what was edited.
fn shows_it(
    steps: &[Step<'_>],
    base: &dyn Base,
    options: &LandOptions,
    budget: &mut Budget,
) -> Result<bool, BaseError> {
    let later = signs::later(steps.iter().map(|step| &step.edit));
    if later.len() > MAX_STEPS {
        return Ok(false);
    }
    for step in later.iter().filter_map(|at| steps.get(*at)) {
        if step.edit.extended.from.is_some() && !step.edit.extended.copy {
            return Ok(true);
        }
        let alone = plan(&one(&step.edit), base, options, budget)?;
        if alone.states.is_none() && stands_nowhere(&alone) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is read in a way that nothing says must stand in the file to the letter.
pub(crate) fn stands_exactly(report: &FileReport) -> bool {
    report.hunks.iter().all(|hunk| match hunk.rung {
        Some(Rung::ExactStated | Rung::ExactMoved | Rung::TrailingBlanks | Rung::WholeFile) => true,
        Some(Rung::Indentation | Rung::Blanks | Rung::Typography | Rung::Merged) | None => false,
    })
}

fn one<'a>(edit: &FileEdit<'a>) -> Parsed<'a> {
    Parsed {
        files: vec![edit.clone()],
        ..Parsed::default()
    }
}

/// Lands each step on what the steps before it leave. None when that is more work than it may be.
fn in_turn(
    steps: &[Step<'_>],
    base: &dyn Base,
    options: &LandOptions,
    budget: &mut Budget,
) -> Result<Option<Outcome>, BaseError> {
    let repeated = signs::repeated(steps.iter().map(|step| &step.edit));
    if repeated.len() > MAX_STEPS {
        return Ok(None);
    }
    let mut options = LandOptions {
        partial: false,
        ..options.clone()
    };
    let mut now = Overlay::new(base);
    let mut reports: Vec<FileReport> = Vec::new();
    let mut bytes = 0;
    for (at, step) in steps.iter().enumerate() {
        let outcome = plan(&one(&step.edit), &now, &options, budget)?;
        for report in outcome.reports {
            file_away(&mut reports, report, step.goes_on);
        }
        let Some(states) = outcome.states else {
            return Ok(Some(Outcome {
                reports,
                states: None,
                partial: false,
            }));
        };
        if repeated.contains(&at) {
            let sizes = states.iter().flat_map(|(_, old, new)| [old, new]).flatten();
            bytes += sizes.map(|state| state.content.len()).sum::<usize>();
        }
        if bytes > MAX_BYTES {
            return Ok(None);
        }
        now.put(states);
        // What was sent has been edited since: the next part speaks of the result.
        options.seen.retain(|seen| {
            let first = now.first(seen.path.as_str());
            first.is_none_or(|first| first.content != seen.content)
        });
    }
    Ok(Some(Outcome {
        reports,
        states: Some(now.states()),
        partial: false,
    }))
}

/// One report for each part: the hunks of one that was read hunk by hunk come together again.
fn file_away(reports: &mut Vec<FileReport>, mut report: FileReport, goes_on: bool) {
    match reports.last_mut().filter(|_| goes_on) {
        Some(last) => {
            let before = u32::try_from(last.hunks.len()).unwrap_or(u32::MAX);
            for hunk in &mut report.hunks {
                hunk.index = hunk.index.saturating_add(before);
            }
            last.hunks.append(&mut report.hunks);
            last.refusal = last.refusal.take().or(report.refusal);
        }
        None => reports.push(report),
    }
}

/// The outcome, refused for this reason.
fn refused(mut outcome: Outcome, code: RefusalCode, message: &str) -> Outcome {
    outcome.states = None;
    outcome.partial = false;
    if let Some(report) = outcome.reports.first_mut() {
        report.refusal = Some(
            Refusal::new(code, message)
                .at(&report.path)
                .hint("give all edits of a file in one diff, made for the file as it is"),
        );
    }
    outcome
}
