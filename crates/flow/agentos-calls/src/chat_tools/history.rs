//! `git_log` and `git_show`: the commits that led to the base.
//!
//! Owns: which commits are shown, and of what. Never: shows the text of a file that policy withholds.

use std::fmt::Write as _;

use agentos_engine::ports::EffectError;
use agentos_executor::{CommitChange, CommitInfo, Repository};
use agentos_landing::{Change, split_diff};
use agentos_tool::Timestamp;

use super::ancestors::{MOST_FILES, MOST_STEPS};
use super::base_reader::{BaseReader, ShownText, with_base};
use super::moved_files::MovedFiles;
use super::{CallArguments, StopSlot, ToolContext};
use agentos_ground::error::usage_error;

/// Commits of a result, if the model names no number, and at most.
const COMMITS: (u64, u64) = (20, 100);

/// Lists the commits that led to the base.
pub(super) fn list_commits(
    context: &ToolContext,
    arguments: &CallArguments<'_>,
) -> Result<String, EffectError> {
    let limit = arguments.number("limit").unwrap_or(COMMITS.0).clamp(1, COMMITS.1);
    let path = arguments.text("path").map(|path| path.trim_end_matches('/'));
    with_base(context, |reader| {
        let path = path.map(|path| reader.path_from_root(path));
        let mut shown = String::new();
        let mut count = 0;
        for commit in walk_first_parents(reader.repo, &reader.target.base_commit).take(MOST_STEPS) {
            if path.is_some_and(|path| !changes_path(reader.repo, &commit.id, path)) {
                continue;
            }
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "{} {} {}", commit.id, commit_day(&commit), commit.subject);
            count += 1;
            if count >= limit {
                break;
            }
        }
        let _ = write!(shown, "[{count} commits]");
        Ok(shown)
    })
}

/// Shows what a commit changed.
pub(super) fn show_commit(
    context: &ToolContext,
    arguments: &CallArguments<'_>,
    stop: &StopSlot,
) -> Result<String, EffectError> {
    let id = arguments.text("commit").unwrap_or_default();
    with_base(context, |reader| {
        let base = &reader.target.base_commit;
        // Another branch may have what the user has not decided to show.
        if id != base && !reader.repo.precedes(id, base) {
            return Err(usage_error(format!(
                "`{id}` is no commit that led to the last one"
            )));
        }
        let Some(commit) = reader.repo.commit(id) else {
            return Err(usage_error(format!("`{id}` is no commit")));
        };
        let mut shown = format!("{} {} {}\n", commit.id, commit_day(&commit), commit.subject);
        match reader.repo.committed(id) {
            Ok((_, change)) => {
                match MovedFiles::find(reader, id, stop)? {
                    Some(moved) => show_files(reader, (id, &change, &moved), &mut shown),
                    // What became of its files is not known.
                    None => show_names(reader, id, &mut shown),
                }
            }
            // The first commit has nothing to be compared with, and a changed submodule has no text.
            Err(_) => show_names(reader, id, &mut shown),
        }
        Ok(shown)
    })
}

/// Walks the commits from one back to the first, along first parents.
fn walk_first_parents<'a>(repo: &'a Repository, from: &str) -> impl Iterator<Item = CommitInfo> + 'a {
    std::iter::successors(repo.commit(from), |commit| repo.commit(commit.parents.first()?))
}

fn changes_path(repo: &Repository, id: &str, path: &str) -> bool {
    let is_inside = |change: &CommitChange| {
        change
            .path
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // A commit with too many files may well change the path, and is not left out in silence.
    repo.commit_changes(id, MOST_FILES)
        .is_none_or(|changes| changes.iter().any(is_inside))
}

fn commit_day(commit: &CommitInfo) -> String {
    // `Name <mail> SECONDS ZONE`; the address is nobody's business here.
    let seconds = commit
        .author_line
        .rsplit(' ')
        .nth(1)
        .and_then(|text| text.parse().ok());
    let at = Timestamp::from_unix_seconds(seconds.unwrap_or(0));
    at.as_str().chars().take(10).collect()
}

/// Shows the difference of each file, if policy allows its name and both of its texts.
fn show_files(
    reader: &BaseReader<'_>,
    (id, change, moved): (&str, &Change, &MovedFiles),
    shown: &mut String,
) {
    let parts = split_diff(change.canonical_diff());
    for (file, part) in change.files().iter().zip(parts) {
        let path = file.path.as_str();
        let text = part.part_text(0..part.hunks.len());
        let sides = [&file.old, &file.new].into_iter().flatten();
        let is_allowed = reader.allows_name(path)
            && !moved.withheld.contains(path)
            && sides
                .into_iter()
                .all(|side| reader.allows_text(path, &side.content));
        let Ok(text) = String::from_utf8(text) else {
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "\n{path} (not a text)");
            continue;
        };
        let part = ShownText {
            by: "git_show",
            path,
            lines: Vec::new(),
            commit: Some(id),
            blobs: moved.list_blobs(path),
            text: text.as_bytes(),
        };
        let _ = match (is_allowed, moved.gone.contains(path)) {
            (true, true) => writeln!(
                shown,
                "\n{path} (not in the last commit, so its text is not shown)"
            ),
            (true, false) if reader.admit_text(part) => write!(shown, "\n{text}"),
            (true, false) | (false, _) => writeln!(shown, "\n{path} (withheld by policy)"),
        };
    }
}

/// Shows the names of the files that a commit changes.
fn show_names(reader: &BaseReader<'_>, id: &str, shown: &mut String) {
    let Some(changes) = reader.repo.commit_changes(id, MOST_FILES) else {
        let _ = write!(shown, "[the commit changes more than {MOST_FILES} files]");
        return;
    };
    for change in &changes {
        let verb = match (&change.old, &change.new) {
            (None, _) => "adds",
            (_, None) => "deletes",
            (Some(_), Some(_)) => "changes",
        };
        let _ = writeln!(shown, "{verb} {}", change.path);
    }
}
