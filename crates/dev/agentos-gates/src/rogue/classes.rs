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

/// From Claude Code's own list of changes (versions), from issues of other agents, and from the findings of a review of
/// this product, by number.
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
        cases: &[
            "disguised-command-backslash",
            "disguised-command-base64",
            "disguised-command-git-alias",
            "disguised-command-variables",
        ],
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
            "git-trace-variable",
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
        cases: &["config-in-the-copy", "hook-in-the-copy", "git-in-disguise"],
    },
    Class {
        name: "a tool outlives its run and has its answer read through a link",
        reported: "review, finding 1",
        cases: &[
            "acp-survivors",
            "spinning-children",
            "outlive",
            "processes-left",
            "process-1-affinity",
            "process-1-scheduler-idle",
            "process-1-nice",
            "process-1-input-output-priority",
        ],
    },
    Class {
        name: "a folder that becomes a git directory by its content",
        reported: "review, finding 2",
        cases: &["embedded-repository"],
    },
    Class {
        name: "the object store shows what the base does not hold",
        reported: "review, finding 3",
        cases: &[
            "history-deleted-file",
            "history-other-branch",
            "history-stash",
            "history-staged-blob",
            "history-dangling-commit",
            "history-alternates",
            "check-history",
            "secrets-in-evidence",
        ],
    },
    Class {
        name: "clean-up follows links",
        reported: "review, finding 4",
        cases: &["clean-up-race", "forged-run"],
    },
    Class {
        name: "a relay or its parent connects to whatever a name leads to",
        reported: "review, findings 5 and 16",
        cases: &[
            "relay-is-seen",
            "relay-is-a-link",
            "relay-is-a-hard-link",
            "relay-folder-is-a-link",
            "relay-leads-to-hidden-service",
            "silence",
        ],
    },
    Class {
        name: "a file that runs as its owner for whoever finds it",
        reported: "review, finding 6",
        cases: &[
            "setuid-chmod",
            "setuid-fchmodat2",
            "setuid-open",
            "setuid-openat2",
            "setuid-mknod",
            "int80-setuid-bit",
            "setuid-visible-to-others",
            "setuid-in-answer",
        ],
    },
    Class {
        name: "more levels of folders than a recursion has room for",
        reported: "review, finding 7",
        cases: &["deep-tree", "deep-tree-in-copy"],
    },
    Class {
        name: "the record of refused calls is blinded",
        reported: "review, finding 8",
        cases: &[
            "blinded-record",
            "process-1-limit-file-size",
            "process-1-limit-open-files",
            "process-1-limit-processor-time",
        ],
    },
    Class {
        name: "a copy of the base that somebody else made is trusted",
        reported: "review, finding 11",
        cases: &[
            "forged-base",
            "forged-run",
            "forged-copies-folder",
            "forged-passing-folder",
            "cache-open-base",
            "cache-open-top",
            "cache-open-copies",
            "cache-open-repository",
            "cache-group-repository",
            "cache-link-top",
            "cache-link-copies",
            "cache-link-repository",
            "cache-linked-base",
            "cache-linked-files",
            "cache-linked-objects",
            "cache-linked-base-lock",
            "cache-linked-salt",
            "cache-linked-run",
            "cache-linked-run-lock",
            "cache-linked-orphan",
        ],
    },
    Class {
        name: "a program by its path shows its whole folder",
        reported: "review, finding 12",
        cases: &["program-by-absolute-path"],
    },
    Class {
        name: "another host than the allowed one inside a tunnel",
        reported: "review, finding 21",
        cases: &["tunnel-host", "tunnel-server-name", "tunnel-server-name-split"],
    },
    Class {
        name: "what one run uses up is missing for another",
        reported: "review, finding 25",
        cases: &[
            "two-runs-at-once",
            "memory-bomb",
            "fork-bomb",
            "large-file",
            "disk-limit",
        ],
    },
    Class {
        name: "what the machine tells of the outside",
        reported: "review, finding 26",
        cases: &[
            "mounts-of-the-outside",
            "keys-of-the-machine",
            "processes-listed",
            "repository-path",
        ],
    },
    Class {
        name: "another set of system call numbers",
        reported: "review, what was tried and held",
        cases: &[
            "int80-any",
            "x32-any",
            "terminal-input-high-bits",
            "terminal-console-paste",
        ],
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
