//! Every refusal has a code of its own, and every code a test that meets it.

use std::collections::BTreeSet;
use std::path::Path;

use agentos_testkit::repo::read_file;

const HERE: &str = "tests/it";
const PROGRAM: &str = "../../apps/agentos-cli/tests/it";

/// Each code, and where a repository is brought into the state that it stands for.
#[rustfmt::skip]
const MET: [(&str, &str, &str, &str); 56] = [
    ("approval-void", HERE, "refuse", "an_approval_is_good_for_exactly_what_it_was_given_for"),
    ("bad-branch-name", HERE, "refuse", "a_branch_that_cannot_move_is_refused_by_name"),
    ("bad-journal", HERE, "recover", "a_journal_that_cannot_be_read_stops_everything"),
    ("bad-setting", HERE, "config", "a_condition_that_is_not_decided_here_is_refused"),
    ("bare-without-branch", HERE, "refuse", "a_bare_repository_has_no_work_tree_and_no_current_branch"),
    ("base-moved", HERE, "settings", "a_change_made_for_one_work_tree_does_not_land_in_another"),
    ("bisect-in-progress", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("branch-checked-out", HERE, "refuse", "a_branch_that_two_work_trees_have_is_refused"),
    ("branch-conflict", HERE, "refuse", "a_branch_is_not_made_where_its_name_is_a_folder_of_branches_or_the_reverse"),
    ("branch-in-use", HERE, "refuse", "a_branch_that_a_rebase_or_bisect_will_move_is_refused_by_name"),
    ("cherry-pick-in-progress", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("detached-head", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("dirty-overlap", HERE, "work_tree", "what_is_in_the_way_is_named_and_nothing_is_written"),
    ("disk-full", PROGRAM, "disk", "fill_up"),
    ("empty", PROGRAM, "undo", "every_kind_of_change_is_taken_back_to_the_same_tree_and_again"),
    ("evidence-not-durable", HERE, "refuse", "without_a_durable_intent_nothing_is_written"),
    ("filtered-path", HERE, "filters", "a_file_that_a_filter_makes_is_refused_on_every_target"),
    ("foreign-git-dir", HERE, "hostile", "a_git_directory_that_does_not_point_back_is_somebody_elses"),
    ("git-dir", HERE, "embedded", "files_that_no_commit_shows_make_no_git_directory_with_a_landing"),
    ("head-locked", HERE, "races", "a_switch_of_branches_under_way_is_seen_and_nothing_is_written"),
    ("index-locked", HERE, "refuse", "a_locked_index_is_told_before_anything_is_written"),
    ("interrupted", HERE, "config", "a_signature_that_the_user_stops_leaves_nothing_behind"),
    ("line-ends", HERE, "line_ends", "a_commit_whose_line_ends_git_would_not_keep_is_refused"),
    ("link-in-git-dir", HERE, "hostile", "what_a_landing_writes_in_the_git_directory_is_not_written_through_a_link"),
    ("mailbox-in-progress", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("merge-in-progress", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("no-identity", HERE, "refuse", "a_commit_needs_an_identity_and_a_work_tree_change_does_not"),
    ("no-work-tree", HERE, "refuse", "a_bare_repository_has_no_work_tree_and_no_current_branch"),
    ("not-a-repository", HERE, "refuse", "a_folder_outside_any_repository_is_told"),
    ("not-owned", PROGRAM, "hostile", "a_repository_of_another_user_is_refused_as_git_refuses_it"),
    ("not-permitted", HERE, "work_tree", "a_folder_that_cannot_be_written_is_found_before_the_branch_moves"),
    ("not-signed", PROGRAM, "signing", "a_signature_that_cannot_be_made_stops_everything_and_says_why"),
    ("not-fetched", HERE, "sparse", "a_copy_for_a_program_is_not_made_with_holes"),
    ("partial-clone", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("read-only", PROGRAM, "disk", "a_read_only_place_is_told_and_nothing_is_half_done"),
    ("rebase-in-progress", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("recovery-blocked", PROGRAM, "recover", "what_cannot_be_finished_now_stops_every_verb_that_lands_and_is_named"),
    ("ref-locked", HERE, "refuse", "a_locked_branch_is_told_and_what_was_begun_is_taken_back"),
    ("reftable", HERE, "refuse", "an_unsupported_format_is_refused_by_name"),
    ("revert-in-progress", HERE, "refuse", "a_repository_that_is_not_ready_is_refused_by_name"),
    ("second-opinion", "src", "opinion", "a_result_that_is_not_the_approved_change_is_not_believed"),
    ("sha256-repository", HERE, "refuse", "an_unsupported_format_is_refused_by_name"),
    ("split-index", HERE, "refuse", "an_unsupported_format_is_refused_by_name"),
    ("stale", HERE, "settings", "nothing_lands_in_a_submodule"),
    ("submodule", HERE, "refuse", "a_repository_of_its_own_in_the_work_tree_is_not_written_to"),
    ("symbolic-branch", HERE, "refuse", "a_branch_that_cannot_move_is_refused_by_name"),
    ("symlink-traversal", HERE, "work_tree", "a_path_through_a_tracked_link_is_refused_on_every_target"),
    ("unborn-branch", HERE, "refuse", "without_any_commit_there_is_no_base_for_another_branch"),
    ("unfinished", HERE, "recover", "a_change_that_is_made_is_finished_by_the_next_call"),
    ("unknown-revision", HERE, "read", "a_name_that_means_no_commit_is_told"),
    ("unreadable-file", HERE, "read", "what_is_gone_from_the_disk_is_told_by_its_place"),
    ("unreadable-policy", HERE, "read", "policy_that_cannot_be_read_is_not_passed_over"),
    ("unreadable-repository", HERE, "read", "an_object_that_is_gone_is_told_and_nothing_is_written"),
    ("unsupported-extension", HERE, "refuse", "an_unsupported_format_is_refused_by_name"),
    ("work-tree-elsewhere", HERE, "hostile", "a_configured_work_tree_elsewhere_is_refused"),
    ("write-failed", HERE, "hostile", "our_own_folder_is_not_followed_out"),
];

fn text_of(folder: &str, name: &str) -> String {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    String::from_utf8(read_file(&place.join(format!("{name}.rs")))).unwrap()
}

/// The body of a function, by the line end that closes it.
fn body<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let (before, rest) = text.split_once(head)?;
    let line = before.rsplit('\n').next().unwrap_or_default();
    let margin: String = line.chars().take_while(|c| *c == ' ').collect();
    rest.split(&format!("\n{margin}}}\n")).next()
}

/// What stands between quotes on the right of an arrow.
fn codes_in(text: &str) -> BTreeSet<String> {
    let is_code = |word: &&str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let words = text.split('"').skip(1).step_by(2);
    words.filter(is_code).map(str::to_owned).collect()
}

#[test]
fn every_code_is_met_by_a_test() {
    let mut codes = BTreeSet::new();
    for (file, head) in [
        ("error", "fn code(&self)"),
        ("error/kinds", "fn code(self)"),
        ("error/places", "fn unwritable_code("),
    ] {
        let text = text_of("src", file);
        for part in text.match_indices(head).filter_map(|(at, _)| text.get(at..)) {
            let margin = if head == "fn unwritable_code(" { "" } else { "    " };
            codes.extend(codes_in(part.split(&format!("\n{margin}}}\n")).next().unwrap()));
        }
    }
    let listed: BTreeSet<_> = MET.iter().map(|(code, ..)| (*code).to_owned()).collect();
    assert_eq!(codes, listed);
    for (code, folder, file, test) in MET {
        let text = text_of(folder, file);
        let found = body(&text, &format!("fn {test}("));
        assert!(
            found.is_some_and(|body| body.contains(code)),
            "`{code}` is not met by `{file}::{test}`"
        );
    }
}
