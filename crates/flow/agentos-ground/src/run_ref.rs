//! References to runs, as people write them: `@`, the short id, the beginning of an id, or a commit.
//!
//! Owns: the one rule by which a reference names a run. Never: guesses: a reference that fits several runs names none.

use std::collections::BTreeSet;

use agentos_api::NextStep;
use agentos_engine::ports::EffectError;
use agentos_engine::recorded::unknown_run;
use agentos_evidence::{RecordKind, RunSummary, Store};
use agentos_profile::nearest_word;
use agentos_tool::{RunId, short_run};

use crate::error::usage_error;
use crate::tape::evidence_error;

/// Fewest characters of a short id or a commit that name a run, as in git.
const FEWEST_DIGITS: usize = 4;
/// Most runs that the error of an ambiguous reference names.
const MOST_CANDIDATES: usize = 5;
/// Steps back for which the newest runs alone are read.
const MOST_BACK: usize = 100;
/// Runs that are read besides those that are counted.
const SPARE_RUNS: usize = 20;

/// Finds the run that a reference names. `current` is the run that asks, which is never meant.
///
/// # Errors
/// If no run or several runs fit, or the tape cannot be read.
pub fn find_run(store: &Store, reference: &str, current: Option<&RunId>) -> Result<String, EffectError> {
    Ok(find_summary(store, reference, current)?.run)
}

/// Finds the run that a reference names, with its summary. `current` is the run that asks, which is never meant.
///
/// # Errors
/// As [`find_run`].
pub fn find_summary(
    store: &Store,
    reference: &str,
    current: Option<&RunId>,
) -> Result<RunSummary, EffectError> {
    let mut runs = match parse_step(reference) {
        // A few more, because some runs do not count. If they are not enough, or the step is none, all are read.
        Some(Ok(back)) if back < MOST_BACK => newest_runs(store, back)?,
        Some(_) | None => store.runs().map_err(|error| evidence_error(&error))?,
    };
    // A recovered landing is recorded under the id of the verb that found it, before that verb begins.
    runs.retain(|run| current.is_none_or(|current| current.as_str() != run.run));
    let run = resolve_run(&runs, reference)?;
    let found = runs.into_iter().find(|summary| summary.run == run);
    found.ok_or_else(|| unknown_run(&run))
}

/// Finds the last run that `@` names, else the one that began last. `None` if there are no runs.
///
/// # Errors
/// If the tape cannot be read.
pub fn find_newest(store: &Store) -> Result<Option<RunSummary>, EffectError> {
    let mut runs = newest_runs(store, 0)?;
    let counted = runs.iter().rposition(is_counted);
    Ok(match counted {
        Some(at) => Some(runs.swap_remove(at)),
        None => runs.pop(),
    })
}

/// Reads enough of the newest runs to count back from the last; all runs if those are not enough.
fn newest_runs(store: &Store, back: usize) -> Result<Vec<RunSummary>, EffectError> {
    let newest = store
        .newest_runs(back + SPARE_RUNS)
        .map_err(|error| evidence_error(&error))?;
    let counted = newest.runs.iter().filter(|run| is_counted(run)).count();
    // One more than the step: the run that asks may be on the tape already.
    if counted > back + 1 || newest.runs.len() == newest.all {
        return Ok(newest.runs);
    }
    store.runs().map_err(|error| evidence_error(&error))
}

/// Finds the run that a reference names among these runs, the newest last.
///
/// # Errors
/// If no run or several runs fit.
fn resolve_run(runs: &[RunSummary], reference: &str) -> Result<String, EffectError> {
    if let Some(back) = parse_step(reference) {
        return step_back(runs, reference, back?);
    }
    if runs.iter().any(|run| run.run == reference) {
        return Ok(reference.to_owned());
    }
    // git prints commits in lower case, and some tools print upper case; an id has both `T` and `Z`.
    let wanted = reference.to_ascii_lowercase();
    // Eight digits can be a complete short id and the beginning of a commit. The complete one is meant.
    let complete = |run: &&RunSummary| short_run(&run.run) == wanted;
    let mut found: Vec<&RunSummary> = runs.iter().filter(complete).collect();
    if found.is_empty() {
        found = runs.iter().filter(|run| fits_run(run, &wanted)).collect();
    }
    match found.as_slice() {
        [run] => Ok(run.run.clone()),
        [] => Err(unfit_reference(runs, reference, &wanted)),
        [_, _, ..] => Err(ambiguous_reference(&found, reference)),
    }
}

/// Returns whether a reference in lower case is the beginning of the run's id, its short id or its commit.
fn fits_run(run: &RunSummary, wanted: &str) -> bool {
    if wanted.is_empty() {
        return false;
    }
    let is_long = wanted.len() >= FEWEST_DIGITS;
    run.run.to_ascii_lowercase().starts_with(wanted)
        || (is_long && short_run(&run.run).starts_with(wanted))
        || (is_long && run.commit.as_ref().is_some_and(|id| id.starts_with(wanted)))
}

/// Parses a reference that counts from the last run. `None` if it does not begin with `@`.
fn parse_step(reference: &str) -> Option<Result<usize, EffectError>> {
    let rest = reference.strip_prefix('@')?;
    let back = match rest.strip_prefix('~') {
        Some("") => Some(1),
        Some(count) => count.parse().ok(),
        // As in jj: `@`, `@-`, `@--`.
        None if rest.bytes().all(|b| b == b'-') => Some(rest.len()),
        None => None,
    };
    let wrong = || {
        usage_error(format!("`{reference}` names no run"))
            .hint("`@` is the last run, `@-` the one before it, `@~3` the third before it")
    };
    Some(back.ok_or_else(wrong))
}

/// Returns true for a run that a person remembers. A verb that only found an interrupted landing is none, and neither is a `deny`,
/// which is about the run that it answers: it records an answer, and neither a task nor an end of its own.
fn is_counted(run: &RunSummary) -> bool {
    let only_answers = run.verb.is_none() && run.code.is_none() && run.commit.is_none();
    run.last != RecordKind::Recovered && !only_answers
}

fn step_back(runs: &[RunSummary], reference: &str, back: usize) -> Result<String, EffectError> {
    let is_run = |run: &&RunSummary| is_counted(run);
    let found = runs.iter().rev().filter(is_run).nth(back);
    found.map(|run| run.run.clone()).ok_or_else(|| {
        let count = runs.iter().filter(is_run).count();
        let there = match count {
            0 => "there are no runs yet".to_owned(),
            1 => "there is one run".to_owned(),
            count => format!("there are {count} runs"),
        };
        usage_error(format!("`{reference}` names no run: {there}")).suggest_steps([NextStep::ListRuns])
    })
}

/// Makes the error of a reference that fits no run, with the most similar one.
fn unfit_reference(runs: &[RunSummary], reference: &str, wanted: &str) -> EffectError {
    let ids = runs
        .iter()
        .rev()
        .flat_map(|run| [run.run.as_str(), short_run(&run.run)]);
    // A mistyped id differs in a character or two. A word that is no id at all is similar to some of thousands of ids.
    let like_id = wanted.len() >= FEWEST_DIGITS && wanted.bytes().any(|b| b.is_ascii_digit());
    let near = nearest_word(wanted, ids).filter(|_| like_id).map(str::to_owned);
    let error = unknown_run(reference);
    match near {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// Makes the error of a reference that fits several runs, with the newest of them.
fn ambiguous_reference(found: &[&RunSummary], reference: &str) -> EffectError {
    let shorts: BTreeSet<&str> = found.iter().map(|run| short_run(&run.run)).collect();
    let name = |run: &RunSummary| {
        // Two runs of a long tape can have the same short id by chance, and then only the whole id names one of them.
        let id = match shorts.len() == found.len() {
            true => short_run(&run.run),
            false => run.run.as_str(),
        };
        let task = run.task.as_deref().unwrap_or("no task");
        let title: String = task.chars().take(40).collect();
        format!("{id} ({title})")
    };
    // The newest are named: a person usually means one of the last runs.
    let newest = found.iter().rev().take(MOST_CANDIDATES);
    let names: Vec<String> = newest.map(|run| name(run)).collect();
    let more = match found.len().saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "`{reference}` fits {} runs: {}{more}",
        found.len(),
        names.join(", ")
    );
    usage_error(message)
        .hint("write more of the id")
        .suggest_steps([NextStep::ListRuns])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(run: &str, commit: Option<&str>) -> RunSummary {
        let document = serde_json::json!({
            "run": run, "task": "fix the typo", "paths": [], "signed": false, "began": "", "ended": "",
            "records": 1, "last": "receipt", "commit": commit, "verb": "apply",
        });
        serde_json::from_value(document).unwrap()
    }

    fn runs() -> Vec<RunSummary> {
        vec![
            summary("20261121T091400Z-1a2b3c4d", Some("ffee00112233")),
            summary("20261121T091500Z-1a2bffff", None),
            summary("20261122T091500Z-ffee9999", Some("1234567890")),
        ]
    }

    #[test]
    fn a_denial_is_no_run_to_count_back_from() {
        let mut all = runs();
        all.push(RunSummary {
            verb: None,
            ..summary("20261123T091500Z-dddd0000", None)
        });
        assert_eq!(resolve_run(&all, "@").unwrap(), "20261122T091500Z-ffee9999");
        assert_eq!(resolve_run(&all, "dddd").unwrap(), "20261123T091500Z-dddd0000");
    }

    #[test]
    fn a_run_is_named_in_every_way() {
        let (first, second, third) = (
            "20261121T091400Z-1a2b3c4d",
            "20261121T091500Z-1a2bffff",
            "20261122T091500Z-ffee9999",
        );
        for (reference, run) in [
            ("@", third),
            ("@-", second),
            ("@--", first),
            ("@~", second),
            ("@~0", third),
            ("@~2", first),
            (first, first),
            ("20261122", third),
            ("20261121t0914", first),
            ("1a2b3c4d", first),
            ("1A2B3", first),
            ("1a2bf", second),
            ("ffee0", first),
            ("1234", third),
        ] {
            assert_eq!(
                resolve_run(&runs(), reference).ok().as_deref(),
                Some(run),
                "{reference}"
            );
        }
    }

    #[test]
    fn a_reference_that_names_no_one_run_says_what_it_fits() {
        for (reference, message, hint) in [
            (
                "2026",
                "`2026` fits 3 runs: ffee9999 (fix the typo), 1a2bffff",
                "write more",
            ),
            ("1a2b", "`1a2b` fits 2 runs: 1a2bffff", "write more"),
            ("ffee", "`ffee` fits 2 runs: ffee9999", "write more"),
            ("1a2", "there is no run `1a2`", ""),
            ("", "there is no run ``", ""),
            ("@~3", "`@~3` names no run: there are 3 runs", ""),
            ("@x", "`@x` names no run", "`@-` the one before"),
            ("@~x", "`@~x` names no run", "`@-` the one before"),
            (
                "1a2b3c4e",
                "there is no run `1a2b3c4e`",
                "did you mean `1a2b3c4d`?",
            ),
            ("yesterday", "there is no run `yesterday`", ""),
        ] {
            let error = resolve_run(&runs(), reference).unwrap_err();
            assert!(
                error.message.starts_with(message),
                "{reference}: {}",
                error.message
            );
            let words = error.hint.as_deref().unwrap_or_default();
            assert!(
                words.contains(hint) && words.is_empty() == hint.is_empty(),
                "{reference}: {words}"
            );
        }
    }

    #[test]
    fn runs_with_the_same_short_id_are_named_by_their_whole_ids() {
        let both = [
            summary("20261121T091400Z-1a2b3c4d", None),
            summary("20261122T091400Z-1a2b3c4d", None),
        ];
        let error = resolve_run(&both, "1a2b3c4d").unwrap_err();
        assert!(
            error.message.contains("20261122T091400Z-1a2b3c4d (fix"),
            "{error:?}"
        );
        assert_eq!(resolve_run(&both, "20261122").ok(), Some(both[1].run.clone()));
    }
}
