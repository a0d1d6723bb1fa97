//! Policy: rules that load decide, always in the same way, the strictest wins, and narrower sources only narrow.
//!
//! Owns: the claims about loading and deciding. Never: reads a file or a clock.

use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, RepoPath, ResultFacts};
use agentos_policy::{Decision, Effect, Layer, PolicySet, PolicySource, ToolFacts};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

use crate::bytes::{ByteReader, read_text, split_parts};

const LAYERS: [Layer; 4] = [Layer::Machine, Layer::Repository, Layer::User, Layer::CommandLine];

/// Paths that several kinds of rules are about.
const PATHS: [&str; 12] = [
    "src/main.rs",
    ".github/workflows/ci.yml",
    "Cargo.toml",
    ".agentos/policy/x.toml",
    "tests/a.rs",
    "docs/\u{e9}.md",
    "package.json",
    ".env",
    "Makefile",
    "a b/c.txt",
    "CLAUDE.md",
    "infra/main.tf",
];

const CONTENTS: [&str; 4] = [
    "one\n",
    "one\ntwo\n",
    "key = \"AKIAIOSFODNN7EXAMPLE\"\n",
    "#[test]\nfn a() {\n    assert!(true);\n}\n",
];

/// Reads two bytes for the layers of the sources, four for the change, and the parts between NUL bytes as the texts
/// of the sources and a path.
///
/// # Panics
/// If a claim does not hold.
pub fn check_policy(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let (layers, facts) = (bytes.next(), bytes.next());
    let edits = [bytes.next(), bytes.next(), bytes.next(), bytes.next()];
    let parts = split_parts(bytes.0);
    let texts = parts
        .split_last()
        .map_or(&parts[..], |(_, texts)| texts)
        .iter()
        .take(3);
    let sources: Vec<PolicySource> = texts
        .enumerate()
        .map(|(at, text)| PolicySource {
            layer: LAYERS
                .get(usize::from(layers >> (2 * at) & 3))
                .copied()
                .unwrap_or(Layer::User),
            name: format!("{at}.toml"),
            text: read_text(Some(text)),
        })
        .collect();
    let Ok(set) = PolicySet::load(&sources) else {
        return;
    };
    // Callers list files in the order of a folder, which differs between systems.
    let reversed: Vec<PolicySource> = sources.iter().rev().cloned().collect();
    let other = PolicySet::load(&reversed);
    let other = other.as_ref().ok();
    assert_eq!(
        other.map(PolicySet::sha256),
        Some(set.sha256()),
        "the order of sources counts"
    );
    let Some(change) = change_of(edits, parts.last().copied().unwrap_or_default()) else {
        return;
    };
    let tool = tool_facts(facts);
    let decision = set.decide(&change, &ResultFacts::default(), &tool);
    check_strictest(&decision);
    for again in [Some(&set), other].into_iter().flatten() {
        assert_eq!(
            again.decide(&change, &ResultFacts::default(), &tool),
            decision,
            "it is decided otherwise"
        );
    }
    check_floor(&change, &tool, &decision);
    check_narrowing(&sources, &change, &tool, &decision);
    // Reading is decided on a way of its own, without a change.
    for path in PATHS {
        check_strictest(&set.decide_read(path, b"text\n", &tool));
    }
}

fn check_strictest(decision: &Decision) {
    let strictest = decision.reasons().iter().map(|reason| reason.effect).max();
    assert_eq!(Some(decision.effect()), strictest, "the strictest reason decides");
    assert!(decision.deciding().next().is_some(), "something decides");
    assert_eq!(decision.code().is_none(), decision.effect() == Effect::Allow);
    assert!(!decision.explanation().is_empty(), "an explanation has words");
}

/// With any sources the decision must be at least as strict as the floor alone.
fn check_floor(change: &Change, tool: &ToolFacts, decision: &Decision) {
    // The floor alone cannot be loaded; its reasons are selected from those of the built-in policy.
    let Ok(built_in) = PolicySet::builtin() else {
        return;
    };
    let floor = built_in.decide(change, &ResultFacts::default(), tool);
    let reasons = floor
        .reasons()
        .iter()
        .filter(|reason| reason.layer == Layer::Floor);
    let strictest = reasons.map(|reason| reason.effect).max().unwrap_or(Effect::Allow);
    assert!(decision.effect() >= strictest, "a source loosened the floor");
}

/// Without the command line's sources the answer must not be stricter: that layer only narrows.
fn check_narrowing(sources: &[PolicySource], change: &Change, tool: &ToolFacts, decision: &Decision) {
    let wider: Vec<PolicySource> = sources
        .iter()
        .filter(|source| source.layer != Layer::CommandLine)
        .cloned()
        .collect();
    match PolicySet::load(&wider) {
        Ok(wider) => assert!(
            wider.decide(change, &ResultFacts::default(), tool).effect() <= decision.effect(),
            "a policy of the command line loosened others"
        ),
        Err(error) => panic!("fewer sources do not load: {error}"),
    }
}

/// Creates a change of up to four paths, one of which may be the fuzzer's own. `None` if nothing changes.
fn change_of(edits: [u8; 4], own_path: &[u8]) -> Option<Change> {
    let own_path = String::from_utf8_lossy(own_path);
    let mut files: Vec<(RepoPath, Option<FileState>, Option<FileState>)> = Vec::new();
    for (at, edit) in edits.into_iter().enumerate() {
        let known = PATHS.get(usize::from(edit & 15)).copied();
        let path = if at == 0 {
            own_path.as_ref()
        } else {
            known.unwrap_or("README.md")
        };
        let Ok(path) = RepoPath::new(path) else { continue };
        if files.iter().any(|(known, ..)| *known == path) {
            continue;
        }
        let state = |number: u8, is_executable: bool| {
            let content = CONTENTS.get(usize::from(number & 3))?;
            let mode = if is_executable {
                FileMode::Executable
            } else {
                FileMode::Regular
            };
            Some(FileState {
                mode,
                content: Arc::from(content.as_bytes()),
            })
        };
        let (old, new) = match edit >> 6 {
            0 => (None, state(edit >> 4, false)),
            1 => (state(edit >> 4, false), None),
            2 => (state(edit >> 4, false), state((edit >> 4) + 1, false)),
            _ => (state(edit >> 4, false), state((edit >> 4) + 1, true)),
        };
        files.push((path, old, new));
    }
    Change::new(files).ok().filter(|change| !change.is_empty())
}

fn tool_facts(bits: u8) -> ToolFacts {
    ToolFacts {
        provider: if bits & 1 == 0 { "patch" } else { "lmstudio" }.to_owned(),
        model: (bits & 2 != 0).then(|| "tiny".to_owned()),
        execution_mode: if bits & 4 == 0 {
            ExecutionMode::Local
        } else {
            ExecutionMode::Cloud
        },
        enforcement: if bits & 8 == 0 {
            Enforcement::Kernel
        } else {
            Enforcement::Observed
        },
        attempt: u32::from(bits >> 4 & 3) + 1,
        at: Timestamp::from_unix_seconds(1_795_252_440),
        context_bytes: u64::from(bits) << 8,
        target_ref: (bits & 64 != 0).then(|| "refs/heads/main".to_owned()),
        checked: bits & 128 != 0,
    }
}
