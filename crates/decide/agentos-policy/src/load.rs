//! Loads rules from the texts of all sources.
//!
//! A layer that names a preset builds on it: what neither the preset nor the layer's own files allow is denied. A
//! layer that names none only asks and denies; its allow rules are ignored.
//!
//! | the preset `default` | when |
//! |---|---|
//! | is replaced | the machine names a preset |
//! | is replaced | the user names one, no policy of the machine exists, and the repository has no policy or names a preset too |
//! | is replaced | the repository names one, and the user or the machine agreed to the exact text of its policy |
//! | is added | otherwise. A preset of the repository is then active as well: the strictest answer wins |
//!
//! Owns: loading, and every check on the way. Never: lets one layer loosen another.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use toml::Spanned;

use crate::built_in::{self, BuiltInRule};
use crate::digest::repository_digest;
use crate::fault::RuleFault;
use crate::file::{self, LineCounter, RuleText, SameReaders};
use crate::{Effect, Layer, PolicyError, PolicySource, Preset, Rule};

/// Rules and texts of all sources.
pub(crate) struct LoadedRules {
    pub(crate) rules: Vec<Rule>,
    /// Texts of the rules, at the same indices as `rules`.
    pub(crate) texts: Vec<RuleText>,
    /// Flag for each rule: true if it is built in.
    pub(crate) built_in: Vec<bool>,
    pub(crate) layer_presets: Vec<LayerPreset>,
    pub(crate) default_state: DefaultState,
    /// All sources, for the digest.
    pub(crate) sources: Vec<PolicySource>,
    pub(crate) same_readers: Vec<SameReaders>,
}

/// Layer that must itself allow every action, with the preset it builds on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LayerPreset {
    /// Layer that names the preset.
    pub layer: Layer,
    /// Preset that the layer builds on.
    pub preset: Preset,
}

/// State of the preset `default`, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultState {
    /// Active: no layer names a preset that could replace it.
    InForce,
    /// Active besides the preset that the repository names: the user did not agree to the repository's policy.
    NotAgreed,
    /// A preset of the machine replaces it.
    ReplacedByMachine,
    /// A preset of the user replaces it.
    ReplacedByUser,
    /// A preset of the repository replaces it, and the user or the machine agreed to the text of the repository's policy.
    ReplacedByRepository,
}

/// Reads all sources and the presets that they name.
///
/// # Errors
/// If any of them has a mistake.
pub(crate) fn load_rules(sources: &[PolicySource]) -> Result<LoadedRules, PolicyError> {
    let mut sources = sources.to_vec();
    // Callers list files in any order. Sorted, the same files always give the same digest and the same order of
    // reasons.
    sources.sort_by(|a, b| (a.layer, &a.name, &a.text).cmp(&(b.layer, &b.name, &b.text)));
    let mut loaded = LoadedRules {
        rules: Vec::new(),
        texts: Vec::new(),
        built_in: Vec::new(),
        layer_presets: Vec::new(),
        default_state: DefaultState::InForce,
        sources: Vec::new(),
        same_readers: Vec::new(),
    };
    let mut agreed = BTreeSet::new();
    let mut presets = BTreeMap::new();
    let floor = PolicySource {
        layer: Layer::Floor,
        name: "built-in/floor.toml".to_owned(),
        text: built_in::FLOOR.to_owned(),
    };
    loaded.read_built_in(floor, built_in::FLOOR_JSON)?;
    for source in &sources {
        let named = loaded.read(source)?;
        if let Some(preset) = named.preset {
            record_preset(&mut presets, source, &preset)?;
        }
        if let Some(texts) = named.agreed {
            agreed.extend(require_agreeing(source, texts)?);
        }
    }
    let is_agreed = repository_digest(&sources).is_some_and(|digest| agreed.contains(&digest));
    loaded.default_state = judge_default(&sources, &presets, is_agreed);
    if matches!(
        loaded.default_state,
        DefaultState::InForce | DefaultState::NotAgreed
    ) {
        presets.insert(Layer::Default, Preset::Default);
    }
    loaded.add_presets(&presets)?;
    // Only now is it known which layers name a preset: another file of the same layer may be the one that names it.
    for rule in &mut loaded.rules {
        rule.counts = rule.effect != Effect::Allow || presets.contains_key(&rule.layer);
    }
    Ok(loaded)
}

/// Decides whether the preset `default` is active.
fn judge_default(
    sources: &[PolicySource],
    presets: &BTreeMap<Layer, Preset>,
    is_agreed: bool,
) -> DefaultState {
    let has_file = |layer| sources.iter().any(|source| source.layer == layer);
    let names = |layer| presets.contains_key(&layer);
    // A file without a preset counts too: a machine or repository that writes any rule expects `default` below it, which a user
    // must not exchange.
    let user_replaces = names(Layer::User)
        && !has_file(Layer::Machine)
        && (names(Layer::Repository) || !has_file(Layer::Repository));
    if names(Layer::Machine) {
        DefaultState::ReplacedByMachine
    } else if names(Layer::Repository) && is_agreed {
        DefaultState::ReplacedByRepository
    } else if user_replaces {
        DefaultState::ReplacedByUser
    } else if names(Layer::Repository) {
        // Whoever can write to a repository could otherwise switch the default rules off.
        DefaultState::NotAgreed
    } else {
        DefaultState::InForce
    }
}

/// Fields of a source besides its rules.
struct NamedBySource {
    preset: Option<Spanned<Preset>>,
    agreed: Option<Spanned<Vec<String>>>,
}

impl LoadedRules {
    /// Reads one source and returns what it states besides its rules.
    fn read(&mut self, source: &PolicySource) -> Result<NamedBySource, PolicyError> {
        let parsed = file::parse(&source.name, &source.text)?;
        let first = self.rules.len();
        let mut lines = LineCounter::new(&source.text);
        for spanned in parsed.rule {
            let line = lines.line_at(spanned.span().start);
            self.add_rule(source, first, line, spanned.into_inner())?;
        }
        self.same_readers.extend(parsed.same_readers);
        self.finish_source(source.clone(), false);
        Ok(NamedBySource {
            preset: parsed.preset,
            agreed: parsed.agreed,
        })
    }

    /// Adds a built-in source, whose rules are read from `json`.
    fn read_built_in(&mut self, source: PolicySource, json: &str) -> Result<(), PolicyError> {
        let first = self.rules.len();
        for BuiltInRule { line, rule } in built_in::read(&source.name, json)? {
            self.add_rule(&source, first, line, rule)?;
        }
        self.finish_source(source, true);
        Ok(())
    }

    /// Adds one rule. `first` is the index of the first rule of the same source, among which ids must be unique.
    fn add_rule(
        &mut self,
        source: &PolicySource,
        first: usize,
        line: u32,
        text: RuleText,
    ) -> Result<(), PolicyError> {
        let rule = Rule::new(source, line, &text)?;
        // Unique within one file is enough: a reason names the file and the line as well.
        check_id(source, &rule, self.rules.get(first..).unwrap_or_default())?;
        self.rules.push(rule);
        self.texts.push(text);
        Ok(())
    }

    /// Records the source whose rules were added last.
    fn finish_source(&mut self, source: PolicySource, built_in: bool) {
        self.built_in.resize(self.rules.len(), built_in);
        self.sources.push(source);
    }

    /// Adds the presets that layers name.
    fn add_presets(&mut self, presets: &BTreeMap<Layer, Preset>) -> Result<(), PolicyError> {
        for (layer, preset) in presets {
            self.layer_presets.push(LayerPreset {
                layer: *layer,
                preset: *preset,
            });
            if let Some(text) = preset.text() {
                let source = PolicySource {
                    layer: *layer,
                    name: preset.source_name(),
                    text: text.to_owned(),
                };
                self.read_built_in(source, built_in::preset_json(*preset))?;
            }
        }
        Ok(())
    }
}

/// Records the preset that a layer names. Two files of a layer must name the same one.
fn record_preset(
    presets: &mut BTreeMap<Layer, Preset>,
    source: &PolicySource,
    preset: &Spanned<Preset>,
) -> Result<(), PolicyError> {
    let (line, column) = file::line_and_column(&source.text, preset.span().start);
    let fault = |message: String, hint: &str| PolicyError::Syntax {
        source_name: source.name.clone(),
        line,
        column,
        message,
        hint: Some(hint.to_owned()),
    };
    // A preset brings allow rules. Whoever can pass an option to one call must not be able to replace the machine's
    // policy.
    if source.layer == Layer::CommandLine {
        return Err(fault(
            "a policy file on the command line names a preset, but it may only add rules that ask or deny"
                .to_owned(),
            "remove `preset`; the rules of the file that ask or deny still apply",
        ));
    }
    match presets.insert(source.layer, *preset.get_ref()) {
        Some(other) if other != *preset.get_ref() => Err(fault(
            format!(
                "another file of this folder names the preset `{}`, and this one `{}`",
                other.as_str(),
                preset.get_ref().as_str()
            ),
            "name one preset in one of the files",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Returns the texts to which a source agrees.
///
/// # Errors
/// If the source is not the user's or the machine's.
fn require_agreeing(source: &PolicySource, texts: Spanned<Vec<String>>) -> Result<Vec<String>, PolicyError> {
    if matches!(source.layer, Layer::Machine | Layer::User) {
        return Ok(texts.into_inner());
    }
    let (line, column) = file::line_and_column(&source.text, texts.span().start);
    Err(PolicyError::Syntax {
        source_name: source.name.clone(),
        line,
        column,
        message: "only a policy of yours or of the machine can agree to the policy of a repository"
            .to_owned(),
        hint: Some("remove `agreed`".to_owned()),
    })
}

fn check_id(source: &PolicySource, rule: &Rule, earlier: &[Rule]) -> Result<(), PolicyError> {
    match earlier.iter().find(|other| other.id == rule.id) {
        None => Ok(()),
        Some(other) => {
            let message = format!("the rule on line {} has the same id", other.line);
            let fault = RuleFault::new("id", message).with_hint("give each rule of a file its own id");
            Err(fault.into_error(source, rule.line, &rule.id))
        }
    }
}
