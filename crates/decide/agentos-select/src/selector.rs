//! Selectors: which of the models that fit is chosen.
//!
//! Owns: the built-in ones, and the trait for one's own. Never: sees a model that does not fit.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use agentos_tool::{ExactCost, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArmRecord, ExperimentState, ModelRecord, PoolModel, SelectionInput, assign_arm, decide_switch,
    judge_experiment,
};

/// Fewest calls from which a measured latency counts.
const FEWEST_CALLS: u64 = 3;

/// Built-in rule of a pool.
///
/// Where several models are equal by a rule, the first of the pool's order is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SelectorKind {
    /// The pool's default model if it fits, else the first one that does.
    #[default]
    Default,
    /// The default model if it fits, else the one with the smallest window that fits, the cheaper one of two: large models stay free
    /// for what needs them.
    Capability,
    /// The lowest expected cost of the turn. Unknown prices come last.
    Cheapest,
    /// The lowest measured latency (at least three calls), else the stated one. Unknown latencies come last.
    Fastest,
    /// The largest model that is loaded or fits into free memory; without such a model, the smallest one. A smaller one when the
    /// machine runs short, and the way back.
    Resources,
    /// The smallest `tier` (`small`, `medium`, `large`) that the complexity of the task wants, the cheaper one of two; else the next
    /// smaller one.
    Complexity,
    /// The highest chance that its change lands, passes its check and stays, for tasks of this kind as far as there are some, with a
    /// bonus for those that were tried seldom.
    Best,
    /// An experiment: each model gets an equal share of the turns until one is known to be better, and then all turns go to that one.
    Split,
}

/// Time of day where the user is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalTime {
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Day of the week, 1 (Monday) to 7.
    pub weekday: u8,
}

/// View of a selector on a choice.
#[derive(Debug)]
pub struct SelectionView<'a> {
    /// Models that fit, in the pool's order. There is at least one.
    pub fitting: &'a [&'a PoolModel],
    /// The whole input, for its facts.
    pub input: &'a SelectionInput,
}

/// Choice of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// Alias of one of the models that fit.
    pub alias: String,
    /// Reason, in words.
    pub reason: String,
}

/// Selector of a model.
///
/// It must depend on the view alone, so that the choice can be replayed. The time, for instance, is [`SelectionInput::time`].
pub trait ModelSelector {
    /// Chooses one of the models that fit. `None` if it has no choice, which is an error for the turn.
    fn select_model(&self, view: &SelectionView<'_>) -> Option<ChosenModel>;
}

/// The selector that the pool names.
pub(crate) struct BuiltInSelector;

impl ModelSelector for BuiltInSelector {
    fn select_model(&self, view: &SelectionView<'_>) -> Option<ChosenModel> {
        match view.input.selector {
            SelectorKind::Default => view.choose_default(),
            SelectorKind::Capability => view.choose_smallest(),
            SelectorKind::Cheapest => view.choose_cheapest(),
            SelectorKind::Fastest => view.choose_fastest(),
            SelectorKind::Resources => view.choose_by_memory(),
            SelectorKind::Complexity => view.choose_by_complexity(),
            SelectorKind::Best => view.choose_best(),
            SelectorKind::Split => view.choose_split(),
        }
    }
}

impl<'a> SelectionView<'a> {
    /// Returns the expected cost of this turn with a model. `None` if a price is unknown.
    #[must_use]
    pub fn expected_cost(&self, model: &PoolModel) -> Option<ExactCost> {
        model.prices.cost(&Usage {
            input_tokens: Some(self.input.input_tokens),
            output_tokens: Some(self.input.output_tokens),
            ..Usage::default()
        })
    }

    /// Returns the latency of a model: the measured one, else the stated one. `None` if it is unknown.
    #[must_use]
    pub fn expected_latency(&self, model: &PoolModel) -> Option<u64> {
        latency_of(self.record(model), model)
    }

    /// Returns the record of a model's earlier turns. `None` if it has none.
    #[must_use]
    pub fn record(&self, model: &PoolModel) -> Option<&'a ModelRecord> {
        self.input.records.get(&model.alias)
    }

    /// Returns the record of a model's earlier turns of this task's kind. Empty if it has none.
    fn kind_record(&self, model: &PoolModel) -> ModelRecord {
        let found = self.input.kind_records.get(&model.alias);
        found.copied().unwrap_or_default()
    }

    /// Finds the records of the models that fit, in their order: among a thousand models, a search for each would take longer than the
    /// choice.
    fn fitting_records(&self, records: &BTreeMap<String, ModelRecord>) -> Vec<Option<ModelRecord>> {
        let found = self.input.models.find_values(records);
        // The models that fit are some of the pool's, in its order.
        let mut fitting = self.fitting.iter().peekable();
        let pairs = self.input.models.iter().zip(found);
        pairs
            .filter(|(model, _)| fitting.next_if(|next| std::ptr::eq(**next, *model)).is_some())
            .map(|(_, record)| record)
            .collect()
    }

    fn choose_default(&self) -> Option<ChosenModel> {
        self.find_default().or_else(|| {
            let first = self.fitting.first()?;
            Some(choose(first, "the first model of the pool that fits".to_owned()))
        })
    }

    fn find_default(&self) -> Option<ChosenModel> {
        let default = self.input.default_model()?;
        let fits = self.fitting.iter().any(|model| model.alias == default.alias);
        fits.then(|| choose(default, "the pool's default model".to_owned()))
    }

    fn choose_smallest(&self) -> Option<ChosenModel> {
        if let Some(default) = self.find_default() {
            return Some(default);
        }
        // A window that nobody stated may be small; but a model with a known one that fits is the safer choice.
        let window = |model: &PoolModel| model.number("context_window").unwrap_or(f64::INFINITY);
        let (model, _) = first_by(
            self.fitting,
            window,
            |one, other| one.total_cmp(other),
            |one, other| self.compare_cost(one, other),
        )?;
        Some(choose(model, "the smallest window that fits".to_owned()))
    }

    fn choose_cheapest(&self) -> Option<ChosenModel> {
        let (model, _) = first_by(self.fitting, |model| self.cost_key(model), u64::cmp, keep_first)?;
        let reason = match self.expected_cost(model) {
            Some(cost) => format!("the lowest expected cost, ${cost}"),
            None => "no model that fits has a known price; the first one".to_owned(),
        };
        Some(choose(model, reason))
    }

    fn compare_cost(&self, one: &PoolModel, other: &PoolModel) -> Ordering {
        self.cost_key(one).cmp(&self.cost_key(other))
    }

    fn cost_key(&self, model: &PoolModel) -> u64 {
        // An unknown price may be any price, so it is never taken for the lower one.
        self.expected_cost(model)
            .map_or(u64::MAX, ExactCost::pico_dollars)
    }

    fn choose_fastest(&self) -> Option<ChosenModel> {
        let mut records = self.fitting_records(&self.input.records).into_iter();
        let latency = |model: &PoolModel| {
            let record = records.next().flatten();
            latency_of(record.as_ref(), model).unwrap_or(u64::MAX)
        };
        let (model, _) = first_by(self.fitting, latency, u64::cmp, keep_first)?;
        let reason = match self.expected_latency(model) {
            Some(ms) => format!("the lowest latency, {ms} ms"),
            None => "no model that fits has a known latency; the first one".to_owned(),
        };
        Some(choose(model, reason))
    }

    fn choose_by_memory(&self) -> Option<ChosenModel> {
        // Nobody looked at the machine, so nothing is known against the default model.
        let Some(machine) = &self.input.machine else {
            return self.choose_default();
        };
        let decision = decide_switch(machine, self.fitting)?;
        Some(ChosenModel {
            alias: decision.alias,
            reason: decision.reason,
        })
    }

    fn choose_by_complexity(&self) -> Option<ChosenModel> {
        let Some(task) = &self.input.complexity else {
            return self.choose_default();
        };
        // A model that is too small comes after every one that is large enough, and one that states nothing after both.
        let key = |model: &PoolModel| match model.tier_level() {
            Some(tier) if tier >= task.level => (0_u8, tier as u8),
            Some(tier) => (1, u8::MAX - tier as u8),
            None => (2, 0),
        };
        let (model, (place, _)) = first_by(
            self.fitting,
            key,
            |one, other| one.cmp(other),
            |one, other| self.compare_cost(one, other),
        )?;
        let reason = match place {
            0 => format!("{task}; the smallest `tier` for it"),
            1 => format!("{task}; no larger `tier` fits"),
            _ => {
                let default = self.choose_default()?;
                let reason = format!(
                    "{task}, and no member that fits states its `tier`; {}",
                    default.reason
                );
                return Some(ChosenModel { reason, ..default });
            }
        };
        Some(choose(model, reason))
    }

    fn choose_best(&self) -> Option<ChosenModel> {
        let records = self.fitting_records(&self.input.records);
        let total: u64 = records.iter().flatten().map(ModelRecord::judged).sum();
        let of_kind = self.fitting_records(&self.input.kind_records);
        let mut remaining = records.into_iter().zip(of_kind);
        // A model without a record goes first: it would never get one otherwise.
        let score = |_: &PoolModel| {
            let (record, kind) = remaining.next().unwrap_or_default();
            record.map_or(f64::INFINITY, |record| {
                record.score(&kind.unwrap_or_default(), total)
            })
        };
        let (model, _) = first_by(
            self.fitting,
            score,
            |one, other| other.total_cmp(one),
            |one, other| self.compare_cost(one, other),
        )?;
        let describe = |record: &ModelRecord| format!("{} of {}", record.stayed, record.judged());
        let of_kind = self.kind_record(model);
        let reason = match self.record(model).filter(|record| record.judged() > 0) {
            Some(record) => match self.input.kind.filter(|_| of_kind.judged() > 0) {
                Some(kind) => format!(
                    "{} changes landed and stayed, {} of the kind `{kind}`",
                    describe(record),
                    describe(&of_kind)
                ),
                None => format!("{} changes landed and stayed", describe(record)),
            },
            None => "not tried yet".to_owned(),
        };
        Some(choose(model, reason))
    }
}

/// Seed of the split. A fixed one, because the text of the turn differs from pool to pool and from turn to turn already.
const SPLIT_SEED: u64 = 0;

impl SelectionView<'_> {
    fn choose_split(&self) -> Option<ChosenModel> {
        let records = self.input.models.find_values(&self.input.records);
        let arms: Vec<ArmRecord> = records.into_iter().map(make_arm).collect();
        // About all models of the pool: one that does not fit this turn is part of the experiment too.
        if let ExperimentState::Decided { arm } = judge_experiment(&arms)
            && let (Some(winner), Some(record)) = (self.input.models.get(arm), arms.get(arm))
            && self.fitting.iter().any(|model| model.alias == winner.alias)
        {
            let reason = format!(
                "the experiment is decided: {} of {} changes landed and stayed",
                record.good, record.all
            );
            return Some(choose(winner, reason));
        }
        let task = self.input.task.as_deref().unwrap_or_default();
        let arm = assign_arm(SPLIT_SEED, task, self.fitting.len())?;
        let share = self.fitting.len();
        let model = self.fitting.get(arm)?;
        Some(choose(
            model,
            format!("the experiment goes on: a turn in {share} is for this model"),
        ))
    }
}

fn make_arm(record: Option<ModelRecord>) -> ArmRecord {
    let record = record.unwrap_or_default();
    ArmRecord {
        good: record.stayed,
        all: record.judged(),
    }
}

/// Returns the latency of a model: the measured one, else the stated one. `None` if it is unknown.
fn latency_of(record: Option<&ModelRecord>, model: &PoolModel) -> Option<u64> {
    let measured = record.filter(|record| record.calls >= FEWEST_CALLS);
    measured.and_then(|record| record.median_ms).or(model.latency_ms)
}

fn choose(model: &PoolModel, reason: String) -> ChosenModel {
    ChosenModel {
        alias: model.alias.clone(),
        reason,
    }
}

/// Returns the model with the lowest key, with its key: of several the one that `tie` orders first, and of those the first one. `None` if
/// there is no model. The key of each model is made once, in the order of the models.
fn first_by<'a, K>(
    models: &[&'a PoolModel],
    key: impl FnMut(&PoolModel) -> K,
    order: impl Fn(&K, &K) -> Ordering,
    tie: impl Fn(&PoolModel, &PoolModel) -> Ordering,
) -> Option<(&'a PoolModel, K)> {
    let mut key = key;
    let keyed = models.iter().map(|model| (*model, key(model)));
    // `min_by` returns the first of several that are equal.
    keyed.min_by(|(one, one_key), (other, other_key)| order(one_key, other_key).then_with(|| tie(one, other)))
}

/// Tie of models that are equal by a rule.
fn keep_first(_: &PoolModel, _: &PoolModel) -> Ordering {
    Ordering::Equal
}
