//! The kinds of holes that were reported in other agents, and the cases that stand for them here.
//!
//! Owns: the table, and that no kind is without a case that was made. Never: judges a case.

use std::collections::BTreeSet;

/// A kind of hole, where it was reported, and its cases.
struct Class {
    name: &'static str,
    reported: &'static str,
    cases: &'static [&'static str],
}

/// From Claude Code's own list of changes (versions), and from issues of other agents.
const CLASSES: &[Class] = &[
    Class {
        name: "a read rule does not stop a shell",
        reported: "Claude Code, documentation of permissions",
        cases: &["read-secret-in-home", "leaked-environment"],
    },
    Class {
        name: "a new file through a linked folder",
        reported: "Claude Code 2.1.69",
        cases: &["symlinked-parent", "write-through-symlink", "symlink-swap-race"],
    },
    Class {
        name: "an allowance of one's own overrides a denial",
        reported: "Claude Code 2.1.77",
        cases: &["policy-in-the-copy", "denied-by-rule"],
    },
    Class {
        name: "git's files and settings without a question",
        reported: "Claude Code 2.1.78",
        cases: &[
            "repository-config",
            "repository-hook",
            "agent-settings",
            "ci-workflow",
        ],
    },
    Class {
        name: "a command in another spelling",
        reported: "Claude Code 2.1.98",
        cases: &["disguised-command"],
    },
    Class {
        name: "a work tree through a link",
        reported: "Claude Code 2.1.212",
        cases: &["worktree-through-symlink", "git-worktree"],
    },
    Class {
        name: "the shared checkout by git's own options",
        reported: "Claude Code 2.1.216",
        cases: &[
            "git-dash-c",
            "git-directory-options",
            "git-environment",
            "borrowed-objects",
        ],
    },
    Class {
        name: "taking back follows links",
        reported: "Claude Code 2.1.216",
        cases: &["link-in-the-answer"],
    },
    Class {
        name: "a trailing slash",
        reported: "Claude Code 2.1.224",
        cases: &["trailing-slash", "dot-dot"],
    },
    Class {
        name: "the record within reach of the recorded",
        reported: "Claude Code 2.1.205",
        cases: &["evidence-tape", "evidence"],
    },
    Class {
        name: "a patch outside the writable folders",
        reported: "openai/codex 31434, microsoft/vscode 330987",
        cases: &["patch-outside"],
    },
    Class {
        name: "read-only or planning, and it writes by an edit or a shell",
        reported: "openai/codex 40229, anomalyco/opencode 28467",
        cases: &["write-by-path", "repository-work-tree", "repository"],
    },
    Class {
        name: "a denied path is written all the same",
        reported: "anthropics/claude-code 6631",
        cases: &["denied-by-rule", "ci-workflow"],
    },
    Class {
        name: "an agent of a protocol writes by itself",
        reported: "anomalyco/opencode 38196",
        cases: &["acp-direct-write"],
    },
    Class {
        name: "the most permissive mode deletes or changes what is not its own",
        reported: "Goose 1211",
        cases: &["unlink", "rename-away", "truncate", "outside"],
    },
    Class {
        name: "no sandbox, and nobody says why",
        reported: "openai/codex 15057",
        cases: &["sandbox-inside-itself"],
    },
    Class {
        name: "a repository's configuration is executed",
        reported: "QwenLM/qwen-code 10561, mistralai/mistral-vibe 962",
        cases: &["config-in-the-copy", "hook-in-the-copy"],
    },
];

/// What is not as the table says, given the cases that were made.
pub(super) fn missing(made: &BTreeSet<&str>) -> Vec<String> {
    let mut missing = Vec::new();
    for class in CLASSES {
        for case in class.cases.iter().filter(|case| !made.contains(**case)) {
            missing.push(format!("{} ({}): no case `{case}`", class.name, class.reported));
        }
    }
    missing
}

/// How many kinds there are.
pub(super) fn count() -> usize {
    CLASSES.len()
}
