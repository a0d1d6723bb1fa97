//! A second, naive model of the decision, in its own words.
//!
//! Owns: what a policy means, written for reading. Never: shares code with the program; `agree` compares the two.

use crate::support::*;
use agentos_policy::Effect::{self, Allow, Ask, Deny};

#[derive(Debug, Clone)]
pub(crate) struct NaiveRule {
    pub(crate) layer: Layer,
    pub(crate) effect: Effect,
    pub(crate) actions: Vec<&'static str>,
    pub(crate) paths: Vec<&'static str>,
    pub(crate) except: Vec<&'static str>,
    pub(crate) cloud: Option<bool>,
    /// `true`: only on `main`; `false`: anywhere else.
    pub(crate) on_main: Option<bool>,
    pub(crate) over_lines: Option<u64>,
    pub(crate) max_files: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) action: &'static str,
    pub(crate) path: Option<String>,
    pub(crate) cloud: bool,
    pub(crate) target: &'static str,
    pub(crate) lines: u64,
    pub(crate) files: u64,
}

/// `None`: the layer names no preset; `Some(())`: it stands on its own rules.
pub(crate) type Stands = [(Layer, Option<()>); 3];

pub(crate) const LAYERS: [Layer; 3] = [Layer::Machine, Layer::Repository, Layer::User];
fn hits(pattern: &str, path: &str) -> bool {
    match pattern {
        "**" => true,
        "**/*.rs" => path.ends_with(".rs"),
        "docs/*.md" => path.starts_with("docs/") && path.ends_with(".md") && path.matches('/').count() == 1,
        "Cargo.toml" => path == "Cargo.toml",
        folder => path.starts_with(folder.trim_end_matches("**")),
    }
}

fn matches(rule: &NaiveRule, request: &Request) -> bool {
    let any = |patterns: &[&str]| {
        request
            .path
            .as_ref()
            .is_some_and(|path| patterns.iter().any(|p| hits(p, path)))
    };
    let path = match (rule.paths.is_empty(), rule.except.is_empty()) {
        (true, true) => true,
        (true, false) => request.path.is_some() && !any(&rule.except),
        (false, _) => any(&rule.paths) && !any(&rule.except),
    };
    path && (rule.actions.is_empty() || rule.actions.contains(&request.action))
        && rule.cloud.is_none_or(|cloud| cloud == request.cloud)
        && rule
            .on_main
            .is_none_or(|main| main == (request.target == "refs/heads/main"))
        && rule.over_lines.is_none_or(|over| request.lines > over)
        && rule.max_files.is_none_or(|max| request.files <= max)
}

/// The floor and the default, as far as these requests can tell.
fn built_in(request: &Request) -> (Vec<Effect>, Vec<Effect>) {
    let path = request.path.as_deref().unwrap_or_default();
    let edit = ["create", "modify", "delete"].contains(&request.action);
    let unread = request.action == "read" && path == ".env" && request.cloud;
    let policy = edit && path.starts_with(".agentos/");
    let asked = edit && (path == "Cargo.toml" || path == ".env");
    let some = |holds: bool, effect| holds.then_some(effect).into_iter();
    let floor = some(policy, Ask).chain(some(unread, Deny)).collect();
    (floor, some(true, Allow).chain(some(asked, Ask)).collect())
}

pub(crate) fn naive(rules: &[NaiveRule], stands: &Stands, request: &Request) -> Effect {
    let (mut answers, default) = built_in(request);
    let there = |layer| rules.iter().any(|rule| rule.layer == layer) || stands.contains(&(layer, Some(())));
    let stood = |layer| stands.contains(&(layer, Some(())));
    // The user agrees to no policy of a repository here.
    let users = stood(Layer::User)
        && !there(Layer::Machine)
        && (!there(Layer::Repository) || stood(Layer::Repository));
    if !(stood(Layer::Machine) || users) {
        answers.extend(default);
    }
    for layer in LAYERS {
        let said: Vec<Effect> = rules
            .iter()
            .filter(|rule| rule.layer == layer && matches(rule, request))
            .map(|rule| rule.effect)
            .collect();
        if stood(layer) && said.is_empty() {
            answers.push(Deny)
        }
        answers.extend(said.into_iter().filter(|effect| *effect != Allow || stood(layer)));
    }
    answers.into_iter().max().unwrap_or(Deny)
}
