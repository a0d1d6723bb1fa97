//! A set of rules from all sources, and the decision.
//!
//! Owns: loading with every check, and asking each question of each rule. Never: stops at the first match, prefers
//! a source, or allows what nothing allows.

use agentos_diff::{Change, Findings, RefusalCode, RepoPath};
use agentos_tool::{Enforcement, ExecutionMode};
use globset::{Candidate, GlobSet};
use sha2::{Digest, Sha256};

use crate::file::{Action, Example, FindingKind, RuleText};
use crate::hooks_path::HooksPath;
use crate::question::{self, Bits, Question};
use crate::reasons::Reasons;
use crate::touch::{TouchTable, Touches};
use crate::{
    Decision, FactsSummary, Layer, PolicyError, PolicySource, Reason, Rule, ToolFacts, Touch, file, glob,
};

/// Rules from all sources. The built-in ones are always among them.
#[derive(Debug, Clone)]
pub struct PolicySet {
    rules: Vec<Rule>,
    globs: GlobSet,
    /// For each glob, its rule and which of the rule's lists it is in.
    owners: Vec<(usize, PathList)>,
    /// For each rule, whether it names paths at all (it may only exclude some).
    names_paths: Vec<bool>,
    touches: TouchTable,
    hooks: Option<HooksPath>,
    sha256: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathList {
    Paths,
    Except,
}

impl PolicySet {
    /// The built-in rules and those of `sources`, in whatever order they come.
    ///
    /// # Errors
    /// Any mistake in any source: nothing is loaded then.
    pub fn load(sources: &[PolicySource]) -> Result<Self, PolicyError> {
        let mut all = builtin_sources();
        all.extend_from_slice(sources);
        all.sort_by(|a, b| (a.layer, &a.name, &a.text).cmp(&(b.layer, &b.name, &b.text)));
        let mut texts = Vec::new();
        let mut rules = Vec::new();
        for source in &all {
            let parsed = file::parse(&source.name, &source.text)?;
            let first = rules.len();
            for spanned in parsed.rule {
                let (line, _) = file::place(&source.text, spanned.span().start);
                let text = spanned.into_inner();
                let rule = Rule::new(&source.name, source.layer, line, &text)?;
                check_id(&rule, rules.get(first..).unwrap_or_default())?;
                rules.push(rule);
                texts.push(text);
            }
        }
        let set = Self::compile(rules, &texts, digest(&all))?;
        set.check_examples(&texts)?;
        Ok(set)
    }

    /// The built-in rules alone.
    ///
    /// # Errors
    /// Never for the rules as they stand; a test loads them.
    pub fn builtin() -> Result<Self, PolicyError> {
        Self::load(&[])
    }

    /// The same rules for a repository whose `core.hooksPath` is `value`, relative to its root: whatever is in that
    /// folder belongs to the hooks. Nothing changes without one, or with one outside the repository. The hash names
    /// the folder too, so a consent is void once it is another.
    #[must_use]
    pub fn with_hooks_path(self, value: Option<&str>) -> Self {
        let Some(hooks) = value.and_then(HooksPath::new) else {
            return self;
        };
        let sha256 = hash(["agentos hooks path 1", &self.sha256, hooks.as_str()]);
        Self {
            hooks: Some(hooks),
            sha256,
            ..self
        }
    }

    /// SHA-256 over every source, 64 hex digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The rules, by layer, file and line.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Judges a change: one question or more for each path, one for the whole.
    #[must_use]
    pub fn decide(&self, change: &Change, tool: &ToolFacts) -> Decision {
        self.decide_with(change, &agentos_diff::findings(change), tool)
    }

    /// Judges whether the text of a file may be sent to a tool.
    #[must_use]
    pub fn decide_read(&self, path: &str, tool: &ToolFacts) -> Decision {
        let mut reasons = Reasons::default();
        let mut facts = FactsSummary {
            files: 1,
            ..FactsSummary::default()
        };
        match RepoPath::new(path) {
            Err(refusal) => reasons.add(unsafe_path(path, refusal.code, &refusal.message)),
            Ok(path) => {
                let asked = self.ask_path(path.as_str());
                facts.touches = asked.touches.words();
                let question = Question {
                    action: Action::Read,
                    kinds: Bits::default(),
                    findings: Bits::default(),
                    touches: asked.touches,
                    added: 0,
                    removed: 0,
                    files: 1,
                    deleted: 0,
                    tool,
                };
                self.answer(&question, Some((path.as_str(), &asked.hits)), &mut reasons);
            }
        }
        Decision::new(reasons.sorted(), facts, None, self.sha256.clone())
    }

    /// As [`PolicySet::decide`], with findings that are known already.
    pub(crate) fn decide_with(&self, change: &Change, findings: &Findings, tool: &ToolFacts) -> Decision {
        let mut facts = question::totals(change);
        let by_path = question::findings_by_path(findings);
        let mut reasons = Reasons::default();
        let mut whole = Question {
            action: Action::Land,
            kinds: Bits::default(),
            findings: Bits::default(),
            touches: Touches::default(),
            added: facts.added,
            removed: facts.removed,
            files: facts.files,
            deleted: facts.deleted,
            tool,
        };
        for file in change.files() {
            let path = file.path.as_str();
            let asked = self.ask_path(path);
            let mut question = Question {
                action: Action::Modify,
                kinds: question::kinds(file),
                findings: by_path.get(path).copied().unwrap_or_default(),
                touches: asked.touches,
                added: file.stats.added,
                removed: file.stats.removed,
                ..whole.clone()
            };
            whole.kinds = whole.kinds.union(question.kinds);
            whole.findings = whole.findings.union(question.findings);
            whole.touches = whole.touches.union(question.touches);
            for action in question::actions(file) {
                question.action = action;
                self.answer(&question, Some((path, &asked.hits)), &mut reasons);
            }
        }
        self.answer(&whole, None, &mut reasons);
        facts.touches = whole.touches.words();
        facts.findings = finding_words(whole.findings);
        Decision::new(
            reasons.sorted(),
            facts,
            Some(change.sha256().to_owned()),
            self.sha256.clone(),
        )
    }

    /// Asks every rule, without stopping.
    fn answer(&self, question: &Question<'_>, path: Option<(&str, &[bool])>, reasons: &mut Reasons) {
        let mut answered = false;
        for (index, rule) in self.rules.iter().enumerate() {
            let hit = path.is_some_and(|(_, hits)| hits.get(index).copied().unwrap_or(false));
            if rule.matches(question, hit) {
                answered = true;
                reasons.add_rule(index, rule, path.map(|(path, _)| path));
            }
        }
        if !answered {
            reasons.add(no_rule(path.map(|(path, _)| path)));
        }
    }

    fn ask_path(&self, path: &str) -> AskedPath {
        let folded = glob::fold(path);
        let candidate = Candidate::new(&folded);
        let mut hits: Vec<bool> = self.names_paths.iter().map(|names| !names).collect();
        let mut excluded = Vec::new();
        for glob in self.globs.matches_candidate(&candidate) {
            match self.owners.get(glob).copied() {
                Some((rule, PathList::Paths)) => set(&mut hits, rule, true),
                Some((rule, PathList::Except)) => excluded.push(rule),
                None => {}
            }
        }
        for rule in excluded {
            set(&mut hits, rule, false);
        }
        let mut touches = self.touches.of(&folded);
        if self.hooks.as_ref().is_some_and(|hooks| hooks.holds(&folded)) {
            touches.insert(Touch::Hooks);
        }
        AskedPath { hits, touches }
    }

    fn compile(rules: Vec<Rule>, texts: &[RuleText], sha256: String) -> Result<Self, PolicyError> {
        let mut globs = GlobSet::builder();
        let mut owners = Vec::new();
        for (index, (rule, text)) in rules.iter().zip(texts).enumerate() {
            for (list, patterns) in [
                (PathList::Paths, &text.paths),
                (PathList::Except, &text.except_paths),
            ] {
                for pattern in patterns.iter().flatten() {
                    for glob in path_globs(rule, pattern)? {
                        globs.add(glob);
                        owners.push((index, list));
                    }
                }
            }
        }
        let whole = |error: globset::Error| PolicyError::Globs {
            message: error.kind().to_string(),
        };
        Ok(Self {
            globs: globs.build().map_err(whole)?,
            owners,
            names_paths: texts.iter().map(|text| text.paths.is_some()).collect(),
            touches: TouchTable::new(),
            hooks: None,
            rules,
            sha256,
        })
    }

    fn check_examples(&self, texts: &[RuleText]) -> Result<(), PolicyError> {
        for (index, (rule, text)) in self.rules.iter().zip(texts).enumerate() {
            for (matched, list) in [(false, &text.examples.matching), (true, &text.examples.other)] {
                let wrong = list
                    .iter()
                    .position(|example| self.example(index, rule, text, example) == matched);
                if let Some(position) = wrong {
                    return Err(PolicyError::Example {
                        source_name: rule.source.clone(),
                        line: rule.line,
                        rule: rule.id.clone(),
                        number: position + 1,
                        matched,
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether a rule matches an example.
    fn example(&self, index: usize, rule: &Rule, text: &RuleText, example: &Example) -> bool {
        let tool = ToolFacts {
            provider: example.provider.clone().unwrap_or_else(|| "example".to_owned()),
            model: example.model.clone(),
            execution_mode: example.execution_mode.unwrap_or(ExecutionMode::Local),
            enforcement: example.enforcement.unwrap_or(Enforcement::Kernel),
            attempt: example.attempt.unwrap_or(1),
        };
        let first = text.action.as_deref().and_then(<[Action]>::first).copied();
        let usual = if example.path.is_some() {
            Action::Modify
        } else {
            Action::Land
        };
        let action = example.action.or(first).unwrap_or(usual);
        let asked = example.path.as_deref().map(|path| self.ask_path(path));
        let stated: Touches = example.touches.iter().copied().collect();
        let question = Question {
            action,
            kinds: Bits::of(&example.kinds),
            findings: Bits::of(&example.findings),
            touches: asked.as_ref().map_or(stated, |asked| asked.touches),
            added: example.added.unwrap_or(1),
            removed: example.removed.unwrap_or(0),
            files: example.files.unwrap_or(1),
            deleted: example.deleted.unwrap_or(u64::from(action == Action::Delete)),
            tool: &tool,
        };
        let hit = asked.is_some_and(|asked| asked.hits.get(index).copied().unwrap_or(false));
        rule.matches(&question, hit)
    }
}

/// What the globs say of a path: for each rule whether its path condition holds, and what the path belongs to.
struct AskedPath {
    hits: Vec<bool>,
    touches: Touches,
}

fn builtin_sources() -> Vec<PolicySource> {
    let source = |name: &str, text: &str| PolicySource {
        layer: Layer::Floor,
        name: name.to_owned(),
        text: text.to_owned(),
    };
    vec![
        source("built-in/floor.toml", include_str!("../policy/floor.toml")),
        source("built-in/default.toml", include_str!("../policy/default.toml")),
    ]
}

fn set(list: &mut [bool], index: usize, value: bool) {
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
}

fn check_id(rule: &Rule, earlier: &[Rule]) -> Result<(), PolicyError> {
    match earlier.iter().find(|other| other.id == rule.id) {
        None => Ok(()),
        Some(other) => Err(PolicyError::Rule {
            source_name: rule.source.clone(),
            line: rule.line,
            rule: rule.id.clone(),
            message: format!("the rule on line {} has the same id", other.line),
            hint: Some("give each rule of a file its own id".to_owned()),
        }),
    }
}

fn path_globs(rule: &Rule, pattern: &str) -> Result<Vec<globset::Glob>, PolicyError> {
    let fault = |message: String| PolicyError::Rule {
        source_name: rule.source.clone(),
        line: rule.line,
        rule: rule.id.clone(),
        message,
        hint: None,
    };
    if let Some(objection) = glob::objection(pattern) {
        return Err(fault(format!("the glob `{pattern}` {objection}")));
    }
    glob::compile(pattern).map_err(|error| fault(format!("`{pattern}` is not a glob: {}", error.kind())))
}

fn digest(sources: &[PolicySource]) -> String {
    let table = TouchTable::text();
    let sources = sources
        .iter()
        .flat_map(|source| [source.layer.as_str(), &source.name, &source.text]);
    hash(["agentos policy 1", &table].into_iter().chain(sources))
}

/// Over the parts, each with its length.
fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn finding_words(findings: Bits<FindingKind>) -> Vec<String> {
    [
        (FindingKind::Bidi, "bidi"),
        (FindingKind::Invisible, "invisible"),
        (FindingKind::Nul, "nul"),
        (FindingKind::Secret, "secret"),
    ]
    .into_iter()
    .filter(|(kind, _)| findings.has(*kind))
    .map(|(_, word)| word.to_owned())
    .collect()
}

fn no_rule(path: Option<&str>) -> Reason {
    Reason {
        rule: "no-rule".to_owned(),
        layer: Layer::Floor,
        source: "built-in".to_owned(),
        line: None,
        effect: crate::Effect::Deny,
        why: "no rule allows this".to_owned(),
        fix: Some("add a rule that allows it".to_owned()),
        path: path.map(str::to_owned),
        and_more: 0,
        code: RefusalCode::ProtectedPath,
    }
}

fn unsafe_path(path: &str, code: RefusalCode, message: &str) -> Reason {
    Reason {
        rule: "safe-path".to_owned(),
        why: message.to_owned(),
        fix: None,
        code,
        ..no_rule(Some(path))
    }
}
