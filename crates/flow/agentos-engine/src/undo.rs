//! Undo: the inverse of a landed run, judged and landed like every change.
//!
//! Owns: which landing is undone, where, and the message about it. Never: resets or rewrites history.

use std::collections::BTreeMap;

use agentos_api::NextStep;
use agentos_evidence::{Record, RecordKind, UNDO_RUN};
use agentos_landing::ChangeError;
use agentos_policy::ToolFacts;
use agentos_tool::RunId;
use serde::Deserialize;

use crate::ports::{
    CancelSignal, EffectError, LandingCommit, LandingHistory, LandingPlace, RecordReader, RecordedLanding,
    Writes,
};
use crate::recorded::{explain_unfit, parse_record, usage_error};
use crate::settle::{self, Proposal, RunEffects, UNDO_PROVIDER, patch_facts};
use crate::{Cause, Outcome};

/// Most commits that are searched for one whose receipt is missing.
const MOST_SEARCHED: usize = 100_000;

/// The order to undo a run.
#[derive(Debug, Clone, Copy)]
pub struct UndoOrder<'a> {
    /// The run that does the undo.
    pub run: &'a RunId,
    /// The run to undo. `None` means the last one that wrote something.
    pub named: Option<&'a str>,
    /// True if nothing is written.
    pub is_dry: bool,
}

/// Undoes the landing of an earlier run.
///
/// # Errors
/// If no such run landed anything, or its change has no inverse.
pub async fn undo_run(
    effects: &mut RunEffects<'_>,
    tape: &dyn RecordReader,
    history: &dyn LandingHistory,
    order: &UndoOrder<'_>,
    cancel: &mut CancelSignal<'_>,
) -> Result<Outcome, EffectError> {
    let FoundLanding { landing, undid } = find_landing(tape, history, order.named)?;
    let change = history.read_change(&landing)?;
    // The inverse as a diff, and not a reset: work that was committed since then stays, or the undo has no place.
    let inverse = change.inverse().map_err(|error| no_way_back(&error))?;
    effects.repo.aim(&place_of(history, &landing, order.is_dry)?)?;
    let instruction = format!("{UNDO_RUN}{}", landing.run);
    let proposal = Proposal {
        run: order.run,
        answer: inverse.canonical_diff(),
        seen: Vec::new(),
        tool: ToolFacts {
            // A name of its own, so that rules can treat the way back differently from a patch.
            provider: UNDO_PROVIDER.to_owned(),
            ..patch_facts(effects.clock.now())
        },
        reported_model: None,
        message: commit_message(&landing),
        // Without the tape, the history still says which run this commit undoes.
        trailers: vec![("AgentOS-Undo".to_owned(), landing.run.clone())],
        author: None,
        attempt: 1,
        partial: false,
        answers: None,
        source: None,
        proved: None,
    };
    let mut outcome = settle::apply_answer(effects, "undo", &instruction, &proposal, cancel).await;
    if outcome.is_done() {
        let words = describe_undone(&landing, undid.as_deref(), order.is_dry);
        outcome.message.push_str(&words);
    }
    if outcome.cause == Cause::Landing {
        let is_undone = outcome.code.as_deref() == Some("empty");
        let (hint, steps) = explain_no_place(history, &landing, is_undone);
        outcome.hint = Some(hint);
        outcome.next = steps;
    }
    // A rule's own advice, such as another branch, is about changes that can land elsewhere. An undo lands where the run did.
    if outcome.cause == Cause::Policy {
        outcome.hint = Some(suggest_git(&landing));
        outcome.next.clear();
    }
    Ok(outcome)
}

/// Words the advice to use git where policy denies the undo.
fn suggest_git(landing: &RecordedLanding) -> String {
    let way = match &landing.commit {
        // `git revert` makes a commit of its own. Without one to revert, the files are restored from the base.
        Some(commit) => format!("git revert {commit}"),
        None => format!(
            "git restore --source={} --staged --worktree -- FILE",
            landing.parent
        ),
    };
    format!("policy judges an undo like every change; a person can undo it with `{way}`")
}

/// Returns the place where a landing is undone, which is where it landed.
fn place_of(
    history: &dyn LandingHistory,
    landing: &RecordedLanding,
    is_dry: bool,
) -> Result<LandingPlace, EffectError> {
    let real = if landing.writes == Writes::WorkTreeOnly {
        LandingPlace::WorkTreeWith {
            files: landing.files.clone(),
        }
    } else {
        let branch = landing.refname.trim_start_matches("refs/heads/");
        // The branch may be deleted after a merge: then its commit is on the checked-out branch, or nothing has a place.
        if history.has_branch(branch)? {
            LandingPlace::Branch(branch.to_owned())
        } else {
            LandingPlace::CheckedOut
        }
    };
    Ok(if is_dry {
        LandingPlace::DryRun(Box::new(real))
    } else {
        real
    })
}

/// Describes what an undo did, for the end of its message. `undid` is set if the undone run was itself an undo: the run that
/// it had undone.
fn describe_undone(landing: &RecordedLanding, undid: Option<&str>, is_dry: bool) -> String {
    let commit = short_commit(landing)
        .map(|commit| format!(" (commit {commit})"))
        .unwrap_or_default();
    let (takes, lands) = if is_dry {
        ("would undo", "would land")
    } else {
        ("undoes", "lands")
    };
    let again = undid
        .map(|run| format!("; this undoes an undo: it {lands} the change of run {run} again"))
        .unwrap_or_default();
    format!("; {takes} run {}{commit}{again}", landing.run)
}

/// Returns the short id of the commit that a run made. `None` if it made none.
fn short_commit(landing: &RecordedLanding) -> Option<&str> {
    let commit = landing.commit.as_deref()?;
    Some(commit.get(..10).unwrap_or(commit))
}

/// Explains why the inverse has no place, and returns possible next steps. The landing may be gone from the history.
fn explain_no_place(
    history: &dyn LandingHistory,
    landing: &RecordedLanding,
    is_undone: bool,
) -> (String, Vec<NextStep>) {
    let run = &landing.run;
    // Only for a better hint: an unreadable history must not replace the outcome.
    let commits = history.landing_commits(MOST_SEARCHED).unwrap_or_default();
    let is_its = |commit: &LandingCommit| {
        Some(&commit.id) == landing.commit.as_ref() || commit.run.as_ref() == Some(run)
    };
    match short_commit(landing) {
        Some(commit) if !commits.iter().any(is_its) => (
            format!("this was to undo run {run}, whose commit {commit} is on no branch any more"),
            vec![NextStep::ListRuns, NextStep::NameUndone],
        ),
        Some(_) | None if is_undone => (
            format!("run {run} was undone already"),
            vec![NextStep::ListRuns, NextStep::NameUndone],
        ),
        Some(_) | None => (
            format!("the files have changed since run {run}; undo the later change first, or edit by hand"),
            Vec::new(),
        ),
    }
}

fn no_way_back(error: &ChangeError) -> EffectError {
    EffectError::new(Cause::Landing, "no-way-back", error.to_string())
        .hint("undo it by hand with `git revert`")
}

fn commit_message(landing: &RecordedLanding) -> String {
    match &landing.commit {
        Some(commit) => format!("Undo run {}\n\nUndoes commit {commit}.", landing.run),
        None => format!("Undo run {}", landing.run),
    }
}

/// A landing that can be taken back.
struct FoundLanding {
    landing: RecordedLanding,
    /// The run that this landing undid. `None` if it is no undo.
    undid: Option<String>,
}

/// Finds the landing of the named run, or of the last one that wrote something; an undo counts as well.
fn find_landing(
    tape: &dyn RecordReader,
    history: &dyn LandingHistory,
    named: Option<&str>,
) -> Result<FoundLanding, EffectError> {
    let RecordedLandings { landings, mut undos } = read_landings(tape, history)?;
    let mut newest_first = landings.into_iter().rev();
    let found = match named {
        Some(run) => newest_first.find(|landing| landing.run == run),
        // A dry run leaves a receipt too, and wrote nothing that could be taken back.
        None => newest_first.find(|landing| landing.writes != Writes::Nothing),
    };
    match (found, named) {
        (Some(landing), _) => {
            let undid = undos.remove(&landing.run);
            Ok(FoundLanding { landing, undid })
        }
        (None, Some(run)) => {
            let other =
                usage_error(format!("run `{run}` landed nothing")).suggest_steps([NextStep::ListRuns]);
            Err(explain_unfit(tape, run, other)?)
        }
        (None, None) => Err(EffectError::new(
            Cause::Usage,
            "nothing-to-undo",
            "no run has landed anything here yet",
        )),
    }
}

/// The landings on a tape.
struct RecordedLandings {
    /// In the order of the tape.
    landings: Vec<RecordedLanding>,
    /// The undone run, by the run that undid it.
    undos: BTreeMap<String, String>,
}

/// Reads every landing. One that was killed between its commit and its receipt is recognised by its intent and the
/// trailer of its commit.
fn read_landings(
    tape: &dyn RecordReader,
    history: &dyn LandingHistory,
) -> Result<RecordedLandings, EffectError> {
    let mut undos = BTreeMap::new();
    let mut landed: Vec<(u64, RecordedLanding)> = Vec::new();
    let mut intents: Vec<(u64, RecordedLanding)> = Vec::new();
    for record in tape.records()? {
        let record = record?;
        if record.kind == RecordKind::Receipt {
            landed.push((record.seq, parse_record(tape, &record)?));
        } else if record.kind == RecordKind::Intent {
            let intended: RecordedIntent = parse_record(tape, &record)?;
            intents.push((record.seq, intended.plan));
        } else if let Some(of) = undone_by(&record) {
            undos.insert(record.run, of);
        }
    }
    intents.retain(|(_, intent)| landed.iter().all(|(_, landing)| landing.run != intent.run));
    // Usually every intent has its receipt, and the history, which can be long, is not read.
    if !intents.is_empty() {
        let commits = history.landing_commits(MOST_SEARCHED)?;
        let made = intents
            .into_iter()
            .filter_map(|(seq, intent)| Some((seq, complete_intent(&commits, intent)?)));
        landed.extend(made);
        // By their places on the tape, because "the last one that landed" is the default of an undo.
        landed.sort_by_key(|(seq, _)| *seq);
    }
    Ok(RecordedLandings {
        landings: landed.into_iter().map(|(_, landing)| landing).collect(),
        undos,
    })
}

/// Returns the run that an undo's task names. `None` if the record is not the beginning of an undo.
fn undone_by(record: &Record) -> Option<String> {
    let text = |name: &str| record.body.get(name)?.as_str();
    if record.kind != RecordKind::Task || text("verb") != Some("undo") {
        return None;
    }
    text("instruction")?.strip_prefix(UNDO_RUN).map(str::to_owned)
}

/// An intent as it was recorded.
#[derive(Deserialize)]
struct RecordedIntent {
    plan: RecordedLanding,
}

/// Returns the landing that an intent led to. `None` if its commit was not made.
fn complete_intent(commits: &[LandingCommit], intent: RecordedLanding) -> Option<RecordedLanding> {
    let commit = commits
        .iter()
        .find(|commit| commit.run.as_ref() == Some(&intent.run))?;
    Some(RecordedLanding {
        commit: Some(commit.id.clone()),
        ..intent
    })
}

#[cfg(test)]
mod tests;
