//! Feedback to a tool about an answer that did not land.
//!
//! Owns: which lines of the base it quotes. Never: quotes a file that policy withholds from the tool.

use std::collections::BTreeSet;

use agentos_landing::{Base, EntryKind, FileReport, LandingReport, Refusal};
use agentos_policy::{Decision, Effect, PolicySet, ToolFacts};

use crate::context::unreadable_base;
use crate::ports::{EffectError, Repository};

/// View of a file in a report, as far as a tool may have it.
enum FileView {
    Shown,
    Withheld,
    /// The base has no such file, but the edits may be about one that has another name.
    Unknown,
}

/// Writes a report for a tool, with the lines of those files that policy lets it read.
///
/// # Errors
/// If the base cannot be read.
pub fn write_feedback(
    report: &LandingReport,
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<String, EffectError> {
    let mut report = report.clone();
    let mut withheld = BTreeSet::new();
    for file in &mut report.files {
        match view_file(&file.path, base, policy, tool)? {
            FileView::Shown => {}
            FileView::Withheld => {
                withhold_file(file);
                withheld.insert(file.path.clone());
            }
            FileView::Unknown => {
                for hunk in &mut file.hunks {
                    hunk.actual.clear();
                    hunk.candidates.clear();
                }
            }
        }
    }
    // The reason of the whole repeats that of a file, and not each names the file.
    if !withheld.is_empty()
        && let Some(refusal) = &mut report.refusal
        && refusal.path.as_ref().is_none_or(|path| withheld.contains(path))
    {
        *refusal = Refusal::new(refusal.code, "the change does not land");
    }
    Ok(report.feedback())
}

/// Writes a report for the tool of a task, by the base and the policy of now.
pub(crate) fn write_for_task(
    report: &LandingReport,
    repo: &dyn Repository,
    tool: ToolFacts,
) -> Result<String, EffectError> {
    let target = repo.target()?;
    let policy = repo.policy(&target)?;
    let tool = ToolFacts {
        target_ref: Some(target.refname.clone()),
        ..tool
    };
    write_feedback(report, repo.base(&target)?.as_ref(), &policy.set, &tool)
}

fn view_file(
    path: &str,
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<FileView, EffectError> {
    let decided = decide_file(path, base, policy, tool)?;
    Ok(match (decided.exists, decided.refused) {
        (false, _) => FileView::Unknown,
        (true, Some(_)) => FileView::Withheld,
        (true, None) => FileView::Shown,
    })
}

/// Decision of policy about a file of the base.
pub(crate) struct FileDecision {
    /// True if the base has the file.
    pub(crate) exists: bool,
    /// Decision that withholds it. `None` if the tool may read it, as far as it exists.
    pub(crate) refused: Option<Decision>,
}

/// Asks policy whether a tool may read a file: by its name, and then by its whole text if the base has it.
///
/// # Errors
/// If the base cannot be read.
pub(crate) fn decide_file(
    path: &str,
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<FileDecision, EffectError> {
    let refuse = |text: &[u8]| {
        let decision = policy.decide_read(path, text, tool);
        match decision.effect() {
            Effect::Allow => None,
            Effect::Ask | Effect::Deny => Some(decision),
        }
    };
    let entry = base.entry(path).map_err(|error| unreadable_base(&error))?;
    let entry = entry.filter(|entry| matches!(entry.kind, EntryKind::File(_)));
    // By its name first: a file that must not be read is not even opened.
    let by_name = refuse(b"");
    let refused = match (&entry, by_name) {
        (Some(entry), None) => {
            // The whole text, because some lines alone may not look like a secret.
            let text = base.read(&entry.id).map_err(|error| unreadable_base(&error))?;
            refuse(&text)
        }
        (None, by_name) | (Some(_), by_name) => by_name,
    };
    Ok(FileDecision {
        exists: entry.is_some(),
        refused,
    })
}

/// Leaves the path and the code of a file's report.
fn withhold_file(file: &mut FileReport) {
    let of_hunk = file.hunks.iter().find_map(|hunk| hunk.refusal.as_ref());
    let code = file.refusal.as_ref().or(of_hunk).map(|refusal| refusal.code);
    file.hunks.clear();
    file.repairs.clear();
    file.refusal = code.map(|code| {
        Refusal::new(
            code,
            format!("the edits do not land ({code}), and policy withholds the file from this provider"),
        )
    });
}

#[cfg(test)]
mod tests {
    use agentos_landing::{LandError, LandOptions, land};
    use agentos_tool::RunId;

    use super::*;
    use crate::test_ports::TestRepository;
    use crate::test_runs::propose;

    /// Withholds a folder by its name, and every file with a secret.
    const RULES: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
        paths = [\"private/**\"]\n[[rule]]\nid = \"ours.secret\"\neffect = \"deny\"\nwhy = \"a secret\"\naction = [\"read\"]\n\
        findings = [\"secret\", \"maybe-secret\"]\n";

    #[test]
    fn only_lines_of_files_that_the_tool_may_read_are_quoted() {
        let key = format!(
            "hello\nREAL\nkey = ghp_{}\n",
            "Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5aZq7R"
        );
        let repo = TestRepository::with_files(&[
            ("a.txt", "one\nREAL\nthree\n"),
            ("private/a.txt", "one\nREAL\nthree\n"),
            ("key.txt", &key),
        ]);
        repo.set_policy(RULES);
        let moved = |hunk: &str| {
            format!("diff --git a/private/a.txt b/b.txt\nrename from private/a.txt\nrename to b.txt\n{hunk}")
        };
        let hunk = "@@ -1,3 +1,3 @@\n one\n-WRONG\n+two\n three\n";
        let plain = |path: &str, hunk: &str| format!("--- a/{path}\n+++ b/{path}\n{hunk}");
        let cases = [
            (plain("a.txt", hunk), true),
            (plain("private/a.txt", hunk), false),
            (plain("key.txt", "@@ -1,2 +1,2 @@\n hello\n-WRONG\n+two\n"), false),
            (moved(&format!("--- a/private/a.txt\n+++ b/b.txt\n{hunk}")), false),
        ];
        for (answer, is_shown) in cases {
            let target = repo.target().unwrap();
            let base = repo.base(&target).unwrap();
            let Err(LandError::Refused(report)) =
                land(answer.as_bytes(), base.as_ref(), &LandOptions::default())
            else {
                panic!("it is refused: {answer}");
            };
            let run = RunId::parse("t-1").unwrap();
            let text = write_for_task(&report, &repo, propose(&run, "").tool).unwrap();
            assert!(
                text.contains("does-not-apply") != is_shown || answer.contains("rename"),
                "{text}"
            );
            assert_eq!(text.contains("REAL"), is_shown, "{text}");
            assert_eq!(text.contains("from line"), is_shown, "{text}");
        }
    }
}
