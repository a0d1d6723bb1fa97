//! Changes, tools and policy files for the other modules.

use std::convert::Infallible;

use agentos_landing::ResultFacts;
pub(crate) use agentos_landing::{Change, FileMode, FileState, RepoPath};
pub(crate) use agentos_policy::{Decision, Layer, PolicySet, PolicySource, ToolFacts};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

/// A change judged by itself: nothing else stands in the base.
pub(crate) trait JudgeAlone {
    fn judge(&self, change: &Change, tool: &ToolFacts) -> Decision;
}

impl JudgeAlone for PolicySet {
    fn judge(&self, change: &Change, tool: &ToolFacts) -> Decision {
        self.decide(change, &facts_alone(change), tool)
    }
}

pub(crate) fn facts_alone(change: &Change) -> ResultFacts {
    ResultFacts::read_with(change, |_| Ok::<_, Infallible>(Vec::new())).unwrap()
}

/// One file of a change: path, old and new content.
pub(crate) type Edit<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

pub(crate) fn change(edits: &[Edit<'_>]) -> Change {
    let state = |text: &str| FileState::regular(text.as_bytes());
    Change::new(
        edits
            .iter()
            .map(|(path, old, new)| (RepoPath::new(path).unwrap(), old.map(state), new.map(state)))
            .collect(),
    )
    .unwrap()
}

pub(crate) fn modify(path: &str) -> Change {
    change(&[(path, Some("a\n"), Some("b\n"))])
}

pub(crate) fn create(path: &str) -> Change {
    change(&[(path, None, Some("b\n"))])
}

pub(crate) fn delete(path: &str) -> Change {
    change(&[(path, Some("a\n"), None)])
}

pub(crate) fn modes(path: &str, old: Option<FileMode>, new: FileMode, new_text: &str) -> Change {
    let state = |mode, text: &str| FileState {
        mode,
        content: text.as_bytes().into(),
    };
    Change::new(vec![(
        RepoPath::new(path).unwrap(),
        old.map(|mode| state(mode, "a\n")),
        Some(state(new, new_text)),
    )])
    .unwrap()
}

pub(crate) fn local() -> ToolFacts {
    ToolFacts {
        provider: "llamacpp".to_owned(),
        model: None,
        execution_mode: ExecutionMode::Local,
        enforcement: Enforcement::Kernel,
        attempt: 1,
        at: Timestamp::from_unix_seconds(0),
        context_bytes: 0,
        target_ref: Some("refs/heads/topic".to_owned()),
        checked: false,
    }
}

pub(crate) fn cloud() -> ToolFacts {
    ToolFacts {
        provider: "openai".to_owned(),
        model: Some("gpt-4o".to_owned()),
        execution_mode: ExecutionMode::Cloud,
        ..local()
    }
}

pub(crate) fn source(layer: Layer, name: &str, text: &str) -> PolicySource {
    PolicySource {
        layer,
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

/// The sources, with the user's agreement to those of the repository.
pub(crate) fn agreed(mut sources: Vec<PolicySource>) -> Vec<PolicySource> {
    let digest = agentos_policy::repository_digest(&sources).expect("the repository has a policy");
    let text = format!("version = 1\nagreed = [\"{digest}\"]\n");
    sources.push(source(Layer::User, "agreed.toml", &text));
    sources
}

/// The built-in rules and one repository file that begins with `version = 1`.
pub(crate) fn with(rules: &str) -> PolicySet {
    let text = format!("version = 1\n{rules}");
    PolicySet::load(&[source(Layer::Repository, ".agentos/policy/team.toml", &text)]).unwrap()
}

/// The answer in one word, with the code of a refusal.
pub(crate) fn word(decision: &Decision) -> String {
    match decision.code() {
        None => decision.effect().as_str().to_owned(),
        Some(code) => format!("{} {code}", decision.effect().as_str()),
    }
}
