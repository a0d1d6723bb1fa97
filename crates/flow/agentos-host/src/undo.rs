//! `agentos undo`: the inverse of a landed run, through the same door.
//!
//! Owns: finding what to take back. Never: resets or rewrites history.

use std::collections::BTreeMap;

use agentos_engine::Cause;
use agentos_engine::ports::{Cancel, EffectError};
use agentos_engine::recorded::{explain_unfit, parse_record};
use agentos_engine::settle::{self, Proposal};
use agentos_evidence::{Record, RecordKind, Store};
use agentos_executor::{CommitInfo, Intent, RUN_TRAILER, Receipt, Repository, TargetSpec, Writes};
use agentos_landing::ChangeError;
use agentos_policy::ToolFacts;
use agentos_tool::RunId;

use crate::error::usage;
use crate::repository;
use crate::run_end::RunEnd;
use crate::session::Session;
use crate::tape::{TapeReader, broken};
use crate::tasks::patch_facts;

/// Takes back what the named run landed, or the last one that wrote something.
///
/// # Errors
/// If no such run landed anything, or its change has no inverse.
pub(crate) async fn undo_run(
    session: &mut Session,
    run: &RunId,
    named: Option<&str>,
    is_dry: bool,
    cancel: &mut Cancel<'_>,
) -> Result<RunEnd, EffectError> {
    let (receipt, undid) = receipt(session.store(), session.repo(), named)?;
    let change = session
        .repo()
        .change_of(&receipt.files)
        .map_err(|error| repository::failed(&error))?;
    let inverse = change.inverse().map_err(|error| no_way_back(&error))?;
    session.port().aim_at(place(session.repo(), &receipt, is_dry)?);
    let instruction = format!("{UNDO_RUN}{}", receipt.run);
    let proposal = Proposal {
        run,
        answer: inverse.canonical_diff(),
        seen: Vec::new(),
        tool: ToolFacts {
            provider: "undo".to_owned(),
            ..patch_facts()
        },
        reported_model: None,
        message: message(&receipt),
        trailers: vec![("AgentOS-Undo".to_owned(), receipt.run.clone())],
        attempt: 1,
        partial: false,
        answers: None,
        proved: None,
    };
    let mut outcome = settle::apply(&mut session.deps(), "undo", &instruction, &proposal, cancel).await;
    if outcome.is_done() {
        let what = taken_back(&receipt, undid.as_deref(), is_dry);
        outcome.message.push_str(&what);
    }
    if outcome.cause == Cause::Landing {
        let there = outcome.code.as_deref() == Some("empty");
        outcome.hint = Some(no_place(session.repo(), &receipt, there));
        outcome.next.clear();
    }
    if (outcome.cause, &outcome.hint) == (Cause::Policy, &None) && outcome.next.is_empty() {
        outcome.hint = Some(git_way(&receipt));
    }
    Ok(outcome.into())
}

/// How a person takes a change back where policy denies it here.
fn git_way(receipt: &Receipt) -> String {
    let way = match &receipt.commit {
        Some(commit) => format!("git revert {commit}"),
        None => format!(
            "git restore --source={} --staged --worktree -- FILE",
            receipt.parent
        ),
    };
    format!("policy judges the way back like every change; a person can take it with `{way}`")
}

/// Where it is taken back: where it landed.
fn place(repo: &Repository, receipt: &Receipt, dry_run: bool) -> Result<TargetSpec, EffectError> {
    let real = if receipt.writes == Writes::WorkTreeOnly {
        TargetSpec::WorkTreeWith {
            files: receipt.files.clone(),
        }
    } else {
        let branch = receipt.refname.trim_start_matches("refs/heads/").to_owned();
        let spec = TargetSpec::Branch(branch);
        let target = repo
            .resolve(&spec)
            .map_err(|error| repository::unusable(&error))?;
        // The branch may be gone: then its commit has come here, or there is nothing to take back.
        if target.creates_branch {
            TargetSpec::CurrentBranch
        } else {
            spec
        }
    };
    Ok(if dry_run {
        TargetSpec::DryRun(Box::new(real))
    } else {
        real
    })
}

/// What an undo took back, for the end of its sentence. `undid` is the run that the one taken back had itself taken back.
fn taken_back(receipt: &Receipt, undid: Option<&str>, dry_run: bool) -> String {
    let commit = commit_of(receipt)
        .map(|commit| format!(" (commit {commit})"))
        .unwrap_or_default();
    let (takes, lands) = if dry_run {
        ("would take back", "would land")
    } else {
        ("takes back", "lands")
    };
    let again = undid
        .map(|run| format!("; this undoes an undo: it {lands} the change of run {run} again"))
        .unwrap_or_default();
    format!("; {takes} run {}{commit}{again}", receipt.run)
}

/// The short id of the commit that a run made.
fn commit_of(receipt: &Receipt) -> Option<&str> {
    let commit = receipt.commit.as_deref()?;
    Some(commit.get(..10).unwrap_or(commit))
}

/// Why the inverse has no place, and what can be done: the landing may be gone from the history.
fn no_place(repo: &Repository, receipt: &Receipt, there: bool) -> String {
    let run = &receipt.run;
    let commits = repo.agentos_commits(MOST_SEARCHED).unwrap_or_default();
    let is_its = |commit: &CommitInfo| {
        Some(&commit.id) == receipt.commit.as_ref() || commit.trailer(RUN_TRAILER) == Some(run.as_str())
    };
    match commit_of(receipt) {
        Some(commit) if !commits.iter().any(is_its) => format!(
            "this was to take back run {run}, whose commit {commit} is on no branch any more; name another with `agentos undo RUN`: `agentos evidence list` shows them"
        ),
        Some(_) | None if there => {
            format!("run {run} is taken back already; `agentos evidence list` shows the others")
        }
        Some(_) | None => format!(
            "the files have changed since run {run}; take the later change back first, or edit by hand"
        ),
    }
}

fn no_way_back(error: &ChangeError) -> EffectError {
    EffectError::new(Cause::Landing, "no-way-back", error.to_string()).hint(
        "a link cannot be made by a change: make it by hand, with `ln -s`, and take the rest back with git",
    )
}

fn message(receipt: &Receipt) -> String {
    match &receipt.commit {
        Some(commit) => format!("Undo run {}\n\nTakes back commit {commit}.", receipt.run),
        None => format!("Undo run {}", receipt.run),
    }
}

/// The receipt of the named run, or of the last one that wrote something; an undo counts as well. A run that was
/// killed between its commit and its receipt is known by its intent and the commit's trailer.
/// With it the run that it had taken back, if it was an undo.
fn receipt(
    store: &Store,
    repo: &Repository,
    run: Option<&str>,
) -> Result<(Receipt, Option<String>), EffectError> {
    let mut undone: BTreeMap<String, String> = BTreeMap::new();
    let mut landed: Vec<(u64, Receipt)> = Vec::new();
    let mut intents: Vec<(u64, Intent)> = Vec::new();
    for record in store.records().map_err(|error| broken(&error))? {
        let record = record.map_err(|error| broken(&error))?;
        if record.kind == RecordKind::Receipt {
            landed.push((record.seq, parse_record(&TapeReader(store), &record)?));
        } else if record.kind == RecordKind::Intent {
            let intended: Intended = parse_record(&TapeReader(store), &record)?;
            intents.push((record.seq, intended.plan));
        } else if let Some(of) = undone_by(&record) {
            undone.insert(record.run, of);
        }
    }
    intents.retain(|(_, intent)| landed.iter().all(|(_, receipt)| receipt.run != intent.run));
    if !intents.is_empty() {
        let commits = repo
            .agentos_commits(MOST_SEARCHED)
            .map_err(|error| repository::unusable(&error))?;
        landed.extend(
            intents
                .into_iter()
                .filter_map(|(seq, intent)| Some((seq, made(&commits, intent)?))),
        );
        landed.sort_by_key(|(seq, _)| *seq);
    }
    let mut found = landed.into_iter().map(|(_, receipt)| receipt).rev();
    let found = match run {
        Some(run) => found.find(|receipt| receipt.run == run),
        None => found.find(|receipt| receipt.writes != Writes::Nothing),
    };
    match (found, run) {
        (Some(receipt), _) => {
            let undid = undone.remove(&receipt.run);
            Ok((receipt, undid))
        }
        (None, Some(run)) => {
            let other = usage(format!("run `{run}` has landed nothing"))
                .hint("`agentos evidence list` shows what each run ended with");
            Err(explain_unfit(&TapeReader(store), run, other)?)
        }
        (None, None) => Err(EffectError::new(
            Cause::Usage,
            "nothing-to-undo",
            "no run has landed anything here yet",
        )),
    }
}

/// The instruction of an undo's task, before the run that it takes back.
const UNDO_RUN: &str = "Undo run ";

/// The run that the task of an undo is to take back.
fn undone_by(record: &Record) -> Option<String> {
    let text = |name: &str| record.body.get(name)?.as_str();
    if record.kind != RecordKind::Task || text("verb") != Some("undo") {
        return None;
    }
    text("instruction")?.strip_prefix(UNDO_RUN).map(str::to_owned)
}

/// The intent as the executor made it.
#[derive(serde::Deserialize)]
struct Intended {
    plan: Intent,
}

/// Commits looked at for one whose receipt is missing.
const MOST_SEARCHED: usize = 100_000;

/// What the receipt of an intent would say, if its commit was made.
fn made(commits: &[CommitInfo], intent: Intent) -> Option<Receipt> {
    let commit = commits
        .iter()
        .find(|commit| commit.trailer(RUN_TRAILER) == Some(intent.run.as_str()))?;
    Some(Receipt {
        run: intent.run,
        commit: Some(commit.id.clone()),
        tree: intent.tree,
        parent: intent.parent,
        refname: intent.refname,
        writes: intent.writes,
        diff_sha256: intent.diff_sha256,
        files: intent.files,
        signed: None,
        work_tree_updated: intent.writes.touches_work_tree(),
        kept: Vec::new(),
        recovered: None,
    })
}
