//! A rule that has been checked and compiled.
//!
//! Owns: what one rule says of one question. Never: knows the other rules.

use agentos_diff::RefusalCode;
use agentos_tool::{Enforcement, ExecutionMode};
use globset::GlobSet;

use crate::file::{Action, FindingKind, Kind, RuleText};
use crate::question::{Bits, Question};
use crate::touch::Touches;
use crate::{Effect, Layer, PolicyError, Reason, glob};

/// A rule of a policy set.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(crate) id: String,
    pub(crate) layer: Layer,
    pub(crate) source: String,
    pub(crate) line: u32,
    pub(crate) effect: Effect,
    pub(crate) why: String,
    pub(crate) fix: Option<String>,
    pub(crate) code: RefusalCode,
    /// Whether the path must be among the set's hits for this rule.
    needs_path: bool,
    conditions: Conditions,
}

#[derive(Debug, Clone)]
struct Conditions {
    action: Option<Bits<Action>>,
    kinds: Option<Bits<Kind>>,
    provider: Option<GlobSet>,
    model: Option<GlobSet>,
    execution_mode: Option<ExecutionMode>,
    enforcement: Option<Enforcement>,
    findings: Option<Bits<FindingKind>>,
    touches: Option<Touches>,
    limits: [Limit; 6],
}

/// A number must be over the one and at most the other.
#[derive(Debug, Clone, Copy)]
struct Limit {
    name: &'static str,
    over: Option<u64>,
    max: Option<u64>,
}

impl Limit {
    fn holds(self, number: u64) -> bool {
        self.over.is_none_or(|over| number > over) && self.max.is_none_or(|max| number <= max)
    }
}

impl Rule {
    /// The rule's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where its file stands.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// The file it is in, and the line on which it begins.
    #[must_use]
    pub fn place(&self) -> (&str, u32) {
        (&self.source, self.line)
    }

    /// What it answers.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Why it is there.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> Option<&str> {
        self.fix.as_deref()
    }

    pub(crate) fn new(source: &str, layer: Layer, line: u32, text: &RuleText) -> Result<Self, PolicyError> {
        let fault = |(message, hint): (String, Option<String>)| PolicyError::Rule {
            source_name: source.to_owned(),
            line,
            rule: text.id.clone(),
            message,
            hint,
        };
        check(text).map_err(fault)?;
        Ok(Self {
            id: text.id.clone(),
            layer,
            source: source.to_owned(),
            line,
            effect: text.effect,
            why: text.why.trim().to_owned(),
            fix: text.fix.clone(),
            code: text.code.unwrap_or(RefusalCode::ProtectedPath),
            needs_path: text.paths.is_some() || text.except_paths.is_some(),
            conditions: Conditions {
                action: text.action.as_deref().map(Bits::of),
                kinds: text.kinds.as_deref().map(Bits::of),
                provider: names("provider", text.provider.as_deref()).map_err(fault)?,
                model: names("model", text.model.as_deref()).map_err(fault)?,
                execution_mode: text.execution_mode,
                enforcement: text.enforcement,
                findings: text.findings.as_deref().map(Bits::of),
                touches: text.touches.as_ref().map(|list| list.iter().copied().collect()),
                limits: limits(text),
            },
        })
    }

    /// Whether all conditions hold. `path_hit` says whether the path is one of the rule's.
    pub(crate) fn matches(&self, question: &Question<'_>, path_hit: bool) -> bool {
        let conditions = &self.conditions;
        let tool = question.tool;
        let numbers = question.numbers();
        (!self.needs_path || path_hit)
            && conditions.action.is_none_or(|set| set.has(question.action))
            && conditions.kinds.is_none_or(|set| set.meets(question.kinds))
            && conditions.findings.is_none_or(|set| set.meets(question.findings))
            && conditions.touches.is_none_or(|set| set.meets(question.touches))
            && conditions
                .execution_mode
                .is_none_or(|mode| mode == tool.execution_mode)
            && conditions.enforcement.is_none_or(|held| held == tool.enforcement)
            && conditions
                .limits
                .iter()
                .zip(numbers)
                .all(|(limit, number)| limit.holds(number))
            && conditions
                .provider
                .as_ref()
                .is_none_or(|globs| globs.is_match(glob::fold(&tool.provider)))
            && conditions
                .model
                .as_ref()
                .is_none_or(|globs| globs.is_match(glob::fold(tool.model.as_deref().unwrap_or_default())))
    }

    pub(crate) fn reason(&self, path: Option<&str>) -> Reason {
        Reason {
            rule: self.id.clone(),
            layer: self.layer,
            source: self.source.clone(),
            line: Some(self.line),
            effect: self.effect,
            why: self.why.clone(),
            fix: self.fix.clone(),
            path: path.map(str::to_owned),
            and_more: 0,
            code: self.code,
        }
    }
}

type Fault = (String, Option<String>);

fn check(text: &RuleText) -> Result<(), Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.id.is_empty() || text.id.len() > 64 || !text.id.chars().all(fits) {
        let hint = "use 1 to 64 letters, digits, `-`, `_` and `.`".to_owned();
        return Err(("the id is not a plain name".to_owned(), Some(hint)));
    }
    if text.why.trim().is_empty() {
        let hint = "say in one sentence what the rule protects; it is shown with every refusal".to_owned();
        return Err(("`why` is empty".to_owned(), Some(hint)));
    }
    for (field, len) in [
        ("action", text.action.as_ref().map(Vec::len)),
        ("paths", text.paths.as_ref().map(Vec::len)),
        ("except_paths", text.except_paths.as_ref().map(Vec::len)),
        ("kinds", text.kinds.as_ref().map(Vec::len)),
        ("provider", text.provider.as_ref().map(Vec::len)),
        ("model", text.model.as_ref().map(Vec::len)),
        ("findings", text.findings.as_ref().map(Vec::len)),
        ("touches", text.touches.as_ref().map(Vec::len)),
    ] {
        if len == Some(0) {
            let hint = "leave it out if it should not matter".to_owned();
            return Err((
                format!("`{field}` is empty, so the rule would never match"),
                Some(hint),
            ));
        }
    }
    if let Some(limit) = limits(text)
        .into_iter()
        .find(|limit| limit.over.zip(limit.max).is_some_and(|(o, m)| o >= m))
    {
        return Err((
            format!("no number is over `over_{0}` and within `max_{0}`", limit.name),
            None,
        ));
    }
    let path_condition = text.paths.is_some() || text.except_paths.is_some();
    if path_condition && text.action.as_deref() == Some(&[Action::Land]) {
        let hint = "leave out `action`, or use `touches`".to_owned();
        return Err((
            "`land` asks about the change as a whole and has no path".to_owned(),
            Some(hint),
        ));
    }
    Ok(())
}

fn limits(text: &RuleText) -> [Limit; 6] {
    let limit = |name, over, max| Limit { name, over, max };
    [
        limit("added", text.over_added, text.max_added),
        limit("removed", text.over_removed, text.max_removed),
        limit("lines", text.over_lines, text.max_lines),
        limit("files", text.over_files, text.max_files),
        limit("deleted", text.over_deleted, text.max_deleted),
        limit("attempt", text.over_attempt, text.max_attempt),
    ]
}

fn names(field: &str, patterns: Option<&[String]>) -> Result<Option<GlobSet>, Fault> {
    let Some(patterns) = patterns else {
        return Ok(None);
    };
    let mut set = GlobSet::builder();
    for pattern in patterns {
        if glob::hides_sign(pattern) {
            return Err((
                format!("`{pattern}` in `{field}` has a wide form of a glob sign"),
                None,
            ));
        }
        // Names of models hold slashes, and `*` means any of them.
        let glob = globset::GlobBuilder::new(&glob::fold(pattern))
            .backslash_escape(false)
            .build()
            .map_err(|error| {
                (
                    format!("`{pattern}` in `{field}` is not a glob: {}", error.kind()),
                    None,
                )
            })?;
        set.add(glob);
    }
    set.build()
        .map(Some)
        .map_err(|error| (format!("`{field}` cannot be compiled: {}", error.kind()), None))
}
