//! Every input that is committed keeps to the claims of its target.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use agentos_fuzz::TARGETS;
use agentos_testkit::repo::read_file;

/// The inputs of a target: named by a person, or by the SHA-1 of what a fuzzer found.
pub fn inputs(target: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpora().join(target))
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn corpora() -> PathBuf {
    workspace().join("crates/dev/agentos-testkit/fixtures/fuzz")
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn replay(target: &str) {
    let known = TARGETS.iter().find(|known| known.name == target);
    assert!(known.is_some(), "`{target}` is no target");
    let Some(known) = known else { return };
    let inputs = inputs(target);
    assert!(inputs.len() >= 5, "{target} has {} inputs", inputs.len());
    for input in inputs {
        let data = read_file(&input);
        let kept = std::panic::catch_unwind(|| (known.check)(&data));
        assert!(kept.is_ok(), "{}", input.display());
    }
}

macro_rules! replayed {
    ($($name:ident: $target:literal,)*) => {
        $(#[test]
        fn $name() {
            replay($target);
        })*

        const REPLAYED: &[&str] = &[$($target),*];
    };
}

replayed! {
    whatever_an_agent_says_the_client_keeps_to_the_protocol: "acp",
    a_file_of_keys_gives_its_keys_and_shows_none: "credentials",
    a_stream_is_the_same_however_it_is_cut: "event-stream",
    a_changed_export_is_found: "export",
    an_index_is_written_as_it_was_read: "git-index",
    an_answer_says_nothing_that_is_not_in_its_body: "http-answer",
    an_ignore_file_means_what_its_patterns_mean: "ignore",
    a_journal_leads_nowhere_else: "journal",
    any_answer_lands_as_itself_or_is_refused: "land",
    rules_that_load_decide_and_the_strictest_wins: "policy",
    a_repository_gets_no_key_and_names_no_program: "profile",
    a_proxy_request_names_a_target_that_can_be_shown: "proxy-head",
    a_report_that_is_cut_off_says_less: "refused-calls",
    an_edit_lands_as_itself_and_back: "roundtrip",
    a_series_of_edits_lands_as_its_last_state: "series",
    a_stream_of_a_server_is_an_answer_or_a_failure: "server-stream",
    a_changed_tape_is_found: "tape",
    an_answer_of_a_tool_is_the_same_however_it_arrives: "tool-protocol",
}

#[test]
fn every_target_has_a_program_a_corpus_and_a_test() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let programs = names_in(&workspace().join("scripts/fuzz/targets"));
    let programs: BTreeSet<String> = programs.iter().map(|name| name.replace(".rs", "")).collect();
    let replayed: BTreeSet<String> = REPLAYED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(programs, targets);
    assert_eq!(names_in(&corpora()), targets);
    assert_eq!(replayed, targets);
}
