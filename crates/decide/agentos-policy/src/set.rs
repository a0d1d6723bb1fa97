//! The set of rules from all sources, and the decision.
//!
//! The crate's page lists the steps. This module asks the questions (steps 2 and 3), matches the rules (4) and checks
//! the layers (5); `load` reads the sources and `decision` takes the strictest reason.
//!
//! Owns: asking each question of each rule. Never: stops at the first match, prefers a source, or allows what nothing
//! allows.

use std::collections::BTreeMap;

use agentos_landing::{Change, RepoPath, ResultFacts};

use crate::content::{self, TestComparison};
use crate::digest::{digest_sources, hash_parts};
use crate::example::ExampleCounts;
use crate::fault::RuleFault;
use crate::file::{Action, FindingKind, RuleText};
use crate::globs::GlobMatcher;
use crate::hooks_path::HooksPath;
use crate::links::BaseLinks;
use crate::load::{DefaultState, LayerPreset, LoadedRules};
use crate::loss::{ChangeLosses, LargestLosses};
use crate::question::{self, EnumSet, InspectedChange, PathMatch, Question, QuestionSink, read_question};
use crate::reasons::{ReasonList, no_rule_reason, unsafe_path_reason};
use crate::rule::source_of;
use crate::touch::TouchSet;
use crate::{
    Decision, Effect, FactsSummary, PolicyError, PolicySource, Rule, ToolFacts, Touch, example, glob, load,
};

mod paths;

/// Rules from all sources. The floor is always among them.
#[derive(Debug, Clone)]
pub struct PolicySet {
    rules: Vec<Rule>,
    pub(crate) texts: Vec<RuleText>,
    /// Number of examples of each rule.
    examples: Vec<ExampleCounts>,
    layer_presets: Vec<LayerPreset>,
    default_state: DefaultState,
    /// Index of each rule's layer among `layer_presets`. `None` if the layer names no preset.
    preset_index: Vec<Option<usize>>,
    globs: GlobMatcher,
    /// Owner of each glob: the index of its rule, and the rule's list that holds it.
    owners: Vec<(usize, PathList)>,
    /// Flag for each rule: true if it lists `paths`. A rule may have only `except_paths`.
    names_paths: Vec<bool>,
    hooks: Option<HooksPath>,
    /// Folded paths of files with the files whose readers alone may read them.
    pub(crate) same_readers: BTreeMap<String, Vec<RepoPath>>,
    links: BaseLinks,
    sha256: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathList {
    Paths,
    Except,
}

impl PolicySet {
    /// Loads the floor, the rules of `sources` in any order, and the presets that they name. The built-in default is
    /// added unless the machine or the user replaces it, or agreed to the repository's policy that does.
    ///
    /// # Errors
    /// If any source has a mistake. Nothing is loaded then.
    pub fn load(sources: &[PolicySource]) -> Result<Self, PolicyError> {
        let loaded = load::load_rules(sources)?;
        // Only the examples of other people's rules are checked here. A test checks those of the built-in rules, so
        // that not every start of the program does.
        let asked: Vec<bool> = loaded.built_in.iter().map(|built_in| !built_in).collect();
        let mut set = Self::compile_rules(loaded)?;
        let rules = set.rules.iter().zip(&set.texts).zip(asked);
        set.examples = example::check_examples(rules, sources, &|path| set.match_path(path))?;
        Ok(set)
    }

    /// Loads the built-in rules alone.
    ///
    /// # Errors
    /// Never for the rules of this version; a test loads them.
    pub fn builtin() -> Result<Self, PolicyError> {
        Self::load(&[])
    }

    /// Returns the SHA-256 over all sources, as 64 hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Counts the examples in each file: those that must match, and those that must not.
    #[must_use]
    pub fn examples(&self) -> BTreeMap<&str, (usize, usize)> {
        let mut by_source: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (rule, counted) in self.rules.iter().zip(&self.examples) {
            let (matching, other) = by_source.entry(&rule.source).or_default();
            *matching += counted.matching;
            *other += counted.other;
        }
        by_source
    }

    /// Returns the layers that must themselves allow every action, each with its preset.
    #[must_use]
    pub fn layer_presets(&self) -> &[LayerPreset] {
        &self.layer_presets
    }

    /// Returns whether the preset `default` is active, and why.
    #[must_use]
    pub fn default_state(&self) -> DefaultState {
        self.default_state
    }

    /// Returns the rules, source by source.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Decides about a change: one or more questions for each path, and one for the whole. `facts` are about the tree
    /// that results from the change.
    #[must_use]
    pub fn decide(&self, change: &Change, facts: &ResultFacts, tool: &ToolFacts) -> Decision {
        let findings = agentos_landing::scan_change(change);
        self.decide_inspected(InspectedChange::new(change, facts, &findings), tool)
    }

    /// Decides whether the text of a file may be sent to a tool.
    #[must_use]
    pub fn decide_read(&self, path: &str, content: &[u8], tool: &ToolFacts) -> Decision {
        let mut facts = FactsSummary {
            files: 1,
            ..FactsSummary::default()
        };
        let mut reasons = ReasonList::default();
        match RepoPath::of_shown(path) {
            Err(refusal) => reasons.add_reason(unsafe_path_reason(path, refusal.code, &refusal.message)),
            Ok(path) => {
                let asked = self.match_path(path.as_str());
                let question = read_question(&path, content, asked.touches, tool);
                facts.touches = question.touches.part_names();
                facts.findings = finding_names(question.findings);
                let open = self.active_rules(tool);
                self.collect_reasons(&open, &question, Some((path.as_str(), &asked)), &mut reasons);
                for of in self.same_readers_of(path.as_str()) {
                    let asked = self.match_path(of.as_str());
                    let question = read_question(of, content, asked.touches, tool);
                    self.collect_reasons(&open, &question, Some((path.as_str(), &asked)), &mut reasons);
                }
            }
        }
        Decision::new(reasons.into_sorted(), facts, None, self.sha256.clone())
    }

    /// Returns true if a rule depends on what confines the tool. If none does, nobody needs to find that out for a decision.
    #[must_use]
    pub fn tests_enforcement(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.conditions.enforcement.is_some())
    }

    /// Returns a digest of everything besides the path on which [`PolicySet::decide_read`] depends for empty content. Two
    /// tools, or two hours, with one digest may read the same files by their names.
    #[must_use]
    pub fn read_scope(&self, tool: &ToolFacts) -> String {
        // The table of touched parts is built in, so it changes with the version only.
        let parts = ["agentos read scope 2", env!("CARGO_PKG_VERSION"), &self.sha256].map(str::to_owned);
        let numbers = [u64::from(tool.attempt), tool.context_bytes].map(|number| number.to_string());
        let active = self
            .active_indices(tool)
            .into_iter()
            .map(|index| index.to_string());
        let all: Vec<String> = parts.into_iter().chain(numbers).chain(active).collect();
        hash_parts(all.iter().map(String::as_str))
    }

    /// Decides about a change whose findings are known already.
    pub(crate) fn decide_inspected(&self, found: InspectedChange<'_>, tool: &ToolFacts) -> Decision {
        let change = found.change;
        let open = self.active_rules(tool);
        let mut reasons = ReasonList::default();
        let mut facts = question::count_change(change);
        let whole = self.ask_questions(found, tool, &mut |question, path| {
            self.collect_reasons(&open, question, path, &mut reasons);
        });
        facts.touches = whole.touches.part_names();
        facts.findings = finding_names(whole.findings);
        Decision::new(
            reasons.into_sorted(),
            facts,
            Some(change.sha256().to_owned()),
            self.sha256.clone(),
        )
    }

    /// Asks every question about a change. Returns the question about the whole, which is asked last.
    pub(crate) fn ask_questions<'t>(
        &self,
        found: InspectedChange<'_>,
        tool: &'t ToolFacts,
        put: QuestionSink<'_, 't>,
    ) -> Question<'t> {
        let change = found.change;
        let facts = question::count_change(change);
        let losses = ChangeLosses::count(change);
        let by_path = question::findings_by_path(found.findings);
        let mut whole = Question {
            action: Action::Land,
            kinds: EnumSet::default(),
            findings: EnumSet::default(),
            touches: TouchSet::default(),
            added: facts.added,
            removed: facts.removed,
            bytes: 0,
            files: facts.files,
            deleted: facts.deleted,
            loss: losses.sum_lines(),
            lost_files: losses.lost_files(),
            largest: LargestLosses::default(),
            tool,
        };
        // A change may remove a test as part of real work, so weaker tests alone are only a finding.
        // `only-weakens-tests` needs every file to be a test file and none to gain anything.
        let (mut all_tests, mut stronger) = (true, false);
        for (file, loss) in change.files().iter().zip(&losses.files) {
            let path = file.path.as_str();
            let asked = self.match_path(path);
            // One question is built per path and changed per action below: most facts are the same for all actions on
            // a path.
            let mut question = Question {
                action: Action::Modify,
                kinds: question::file_kinds(file),
                findings: by_path.get(path).copied().unwrap_or_default(),
                touches: content::touches_with_content(file, asked.touches),
                added: file.stats.added,
                removed: file.stats.removed,
                bytes: file.new.as_ref().map_or(0, |new| new.content.len() as u64),
                loss: *loss,
                ..whole.clone()
            };
            if found.facts.is_in_git_directory(&file.path) {
                question.findings.insert(FindingKind::GitDirectory);
            }
            if question.touches.contains(Touch::Tests) {
                match content::compare_tests(change, file) {
                    TestComparison::Weaker => question.findings.insert(FindingKind::WeakensTests),
                    TestComparison::Stronger => stronger = true,
                    TestComparison::Same => {}
                }
            } else {
                all_tests = false;
            }
            whole.kinds = whole.kinds.union(question.kinds);
            whole.bytes = whole.bytes.saturating_add(question.bytes);
            whole.findings = whole.findings.union(question.findings);
            whole.touches = whole.touches.union(question.touches);
            // The condition `touches` of a rule for `land` must see what any of the files touches, so the facts of
            // all files are merged before the last question.
            for action in question::file_actions(file) {
                question.action = action;
                put(&question, Some((path, &asked)));
            }
        }
        if all_tests && !stronger && whole.findings.contains(FindingKind::WeakensTests) {
            whole.findings.insert(FindingKind::OnlyWeakensTests);
        }
        whole.largest = losses.name_largest(change);
        put(&whole, None);
        whole
    }

    /// Returns each rule with the index of its layer among [`PolicySet::layer_presets`]. `None` if the layer names no preset.
    pub(crate) fn rules_with_layers(&self) -> impl Iterator<Item = (&Rule, Option<usize>)> {
        self.rules.iter().zip(self.preset_index.iter().copied())
    }

    /// Returns the indices of the rules that can match for this tool at this time.
    pub(crate) fn active_indices(&self, tool: &ToolFacts) -> Vec<usize> {
        let open = self.rules.iter().enumerate();
        open.filter(|(_, rule)| rule.counts && rule.matches_tool(tool))
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns the rules that can match for this tool at this time, with the fields that are tested first.
    fn active_rules(&self, tool: &ToolFacts) -> Vec<ActiveRule<'_>> {
        let open = self.active_indices(tool).into_iter();
        open.filter_map(|index| {
            let rule = self.rules.get(index)?;
            Some(ActiveRule {
                index,
                rule,
                needs_path: rule.needs_path,
                touches: rule.conditions.touches,
            })
        })
        .collect()
    }

    /// Adds a reason for every rule that matches a question, and a deny for every layer with a preset that has no
    /// match.
    fn collect_reasons(
        &self,
        open: &[ActiveRule<'_>],
        question: &Question<'_>,
        path: Option<(&str, &PathMatch)>,
        reasons: &mut ReasonList,
    ) {
        // One bit for each layer with a preset; there are six layers.
        let mut answered = 0_u32;
        for ActiveRule {
            index,
            rule,
            needs_path,
            touches,
        } in open
        {
            let hit = path.is_some_and(|(_, asked)| asked.hits.get(*index).copied().unwrap_or(false));
            // The two cheapest conditions first. A change of a thousand paths compares each with every rule, and most
            // pairs fail on these.
            let may = (hit || !needs_path) && touches.is_none_or(|set| set.intersects(question.touches));
            // No early return: a report that lists only the first deny would send the author through one refusal at a
            // time.
            if may && rule.matches_question(question, hit) {
                if let Some(Some(standing)) = self.preset_index.get(*index) {
                    answered |= 1 << standing;
                }
                let other_name =
                    path.and_then(|(_, asked)| asked.describe_other_name(*index, rule, question.touches));
                let found: Vec<String> = rule
                    .describe_loss(question)
                    .into_iter()
                    .chain(other_name)
                    .collect();
                let found = (!found.is_empty()).then(|| found.join("; "));
                reasons.add_rule(*index, rule, path.map(|(path, _)| path), found);
            }
        }
        // Each layer with a preset answers for itself, so that a permissive user policy cannot fill the gaps of the
        // repository's policy.
        for (at, standing) in self.layer_presets.iter().enumerate() {
            if answered & (1 << at) == 0 {
                reasons.add_reason(no_rule_reason(standing.layer, path.map(|(path, _)| path)));
            }
        }
    }

    /// Returns the answer to one question about a path without collecting reasons.
    pub(crate) fn strictest_effect(&self, open: &[usize], question: &Question<'_>, hits: &[bool]) -> Effect {
        let mut answered = 0_u32;
        // Default deny, as in `Decision::new`.
        let mut effect = None;
        for index in open {
            let Some(rule) = self.rules.get(*index) else {
                continue;
            };
            if rule.matches_question(question, hits.get(*index).copied().unwrap_or(false)) {
                if let Some(Some(standing)) = self.preset_index.get(*index) {
                    answered |= 1 << standing;
                }
                effect = effect.max(Some(rule.effect));
            }
        }
        let silent = (0..self.layer_presets.len()).any(|at| answered & (1 << at) == 0);
        if silent {
            Effect::Deny
        } else {
            effect.unwrap_or(Effect::Deny)
        }
    }

    fn compile_rules(loaded: LoadedRules) -> Result<Self, PolicyError> {
        let LoadedRules {
            rules,
            texts,
            built_in: _,
            layer_presets,
            default_state,
            sources,
            same_readers: pairs,
        } = loaded;
        let mut same_readers: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
        for pair in pairs {
            // A path that is not one has no readers, so nothing can be read like it.
            if let Ok(of) = RepoPath::new(&pair.of) {
                same_readers
                    .entry(glob::fold_name(&pair.path))
                    .or_default()
                    .push(of);
            }
        }
        let mut globs = Vec::new();
        let mut owners = Vec::new();
        for (index, (rule, text)) in rules.iter().zip(&texts).enumerate() {
            for (list, patterns) in [
                (PathList::Paths, &text.paths),
                (PathList::Except, &text.except_paths),
            ] {
                for pattern in patterns.iter().flatten() {
                    let compiled = compile_path_globs(list, pattern)
                        .map_err(|fault| fault.into_error(&source_of(rule, &sources), rule.line, &rule.id))?;
                    for glob in compiled {
                        globs.push(glob);
                        owners.push((index, list));
                    }
                }
            }
        }
        let whole = |error: globset::Error| PolicyError::Globs {
            message: error.kind().to_string(),
        };
        let place = |rule: &Rule| {
            layer_presets
                .iter()
                .position(|standing| standing.layer == rule.layer)
        };
        Ok(Self {
            globs: GlobMatcher::new(&globs).map_err(whole)?,
            owners,
            names_paths: texts.iter().map(|text| text.paths.is_some()).collect(),
            hooks: None,
            same_readers,
            links: BaseLinks::default(),
            sha256: digest_sources(&sources),
            preset_index: rules.iter().map(place).collect(),
            examples: Vec::new(),
            rules,
            texts,
            layer_presets,
            default_state,
        })
    }
}

/// Rule that can match, with copies of the two fields on which most questions fail: a decision about many paths runs
/// over these again and again.
struct ActiveRule<'r> {
    index: usize,
    rule: &'r Rule,
    needs_path: bool,
    touches: Option<TouchSet>,
}

fn compile_path_globs(list: PathList, pattern: &str) -> Result<Vec<globset::Glob>, RuleFault> {
    let field = match list {
        PathList::Paths => "paths",
        PathList::Except => "except_paths",
    };
    let fault = |message: String| RuleFault::new(field, message).at_entry(pattern);
    if let Some(objection) = glob::find_objection(pattern) {
        return Err(fault(format!("the glob `{pattern}` {objection}")));
    }
    glob::compile_glob(pattern).map_err(|error| fault(format!("`{pattern}` is not a glob: {}", error.kind())))
}

pub(crate) fn finding_names(findings: EnumSet<FindingKind>) -> Vec<String> {
    FindingKind::ALL
        .into_iter()
        .filter(|kind| findings.contains(*kind))
        .map(|kind| kind.as_str().to_owned())
        .collect()
}
