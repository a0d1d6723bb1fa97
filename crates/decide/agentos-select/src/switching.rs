//! Switching to a smaller model when the machine runs short, and back.
//!
//! Owns: the decision, as a pure function of what was seen. Never: loads a model, or decides because of a look outside of its input.
//!
//! | situation | action |
//! |---|---|
//! | nothing answered yet | start the largest model that is loaded, or for which memory with the margin is free; else the smallest |
//! | a switch less than 30 s ago | keep the model, whatever else is true |
//! | three failures in a row | switch down |
//! | memory or processor used by 85 % or more in every look of the last 5 s | switch down: to the largest smaller model with room, else to the smallest |
//! | in every look of the last 5 s: nothing was short, and memory with the margin was free for a larger model | switch up to it |
//! | anything else | keep the model |
//!
//! The numbers are those of [`SwitchRules`](crate::SwitchRules). A switch down may follow from one look, since a process that begins
//! has only one. A switch up needs a look from before the window: nobody knows what was free while nobody looked.

use serde::{Deserialize, Serialize};

use crate::{MachineFacts, MachineLook, PoolModel};

/// Kind of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchAction {
    /// Nothing answered yet.
    Start,
    /// No switch.
    Keep,
    /// A smaller model answers.
    Down,
    /// A larger model answers.
    Up,
}

/// Decision about the model of the next turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchDecision {
    /// Kind of the decision.
    pub action: SwitchAction,
    /// Alias of the model.
    pub alias: String,
    /// Reason, in words.
    pub reason: String,
}

/// Decides which model answers next. `models` fit the turn, in the pool's order; the first of equal ones counts. `None` without a
/// model.
#[must_use]
pub fn decide_switch(facts: &MachineFacts, models: &[&PoolModel]) -> Option<SwitchDecision> {
    let view = SwitchView { facts, models };
    let running = facts.running.as_deref();
    let running = models
        .iter()
        .copied()
        .find(|model| Some(model.alias.as_str()) == running);
    let Some(running) = running else {
        return view.start();
    };
    let keep = |reason: String| SwitchDecision {
        action: SwitchAction::Keep,
        alias: running.alias.clone(),
        reason,
    };
    // First: without this rule, a model whose own load fills the memory would be switched away and back forever.
    if let Some(cooldown) = view.find_cooldown() {
        return Some(keep(format!(
            "the last switch was less than {} s ago",
            cooldown.div_ceil(1_000)
        )));
    }
    let decided = match view.find_shortage() {
        Some(why) => view.step_down(running, &why),
        None => view.step_up(running),
    };
    Some(decided.unwrap_or_else(|| keep("it answered last, and nothing speaks against it".to_owned())))
}

struct SwitchView<'a> {
    facts: &'a MachineFacts,
    models: &'a [&'a PoolModel],
}

impl<'a> SwitchView<'a> {
    fn start(&self) -> Option<SwitchDecision> {
        let start = |model: &PoolModel, reason: &str| SwitchDecision {
            action: SwitchAction::Start,
            alias: model.alias.clone(),
            reason: reason.to_owned(),
        };
        let free = self.facts.free_memory_bytes;
        let possible = self.models.iter().copied();
        let possible = possible.filter(|model| self.is_loaded(model) || self.has_room(model, free));
        if let Some(model) = find_largest(possible) {
            let reason = match self.is_loaded(model) {
                true => "the largest model that can run: loaded already",
                false => "the largest model that can run: free memory is enough",
            };
            return Some(start(model, reason));
        }
        let smallest = self.find_smallest()?;
        Some(start(smallest, "memory is short; the smallest model"))
    }

    /// Returns the milliseconds of the cool-down that has not passed yet. `None` if it has.
    fn find_cooldown(&self) -> Option<u64> {
        let last = self.facts.last_switch_ms?;
        let now = self.facts.looks.last()?.at_ms;
        let rules = self.facts.rules;
        // A clock that was set back counts as no time passed.
        (now.saturating_sub(last) < rules.cooldown_ms).then_some(rules.cooldown_ms)
    }

    /// Returns what is short, in words. `None` if nothing is.
    fn find_shortage(&self) -> Option<String> {
        let rules = self.facts.rules;
        if self.facts.failures >= rules.failures {
            return Some(format!("it failed {} times in a row", self.facts.failures));
        }
        let now = self.facts.looks.last()?;
        let begin = now.at_ms.saturating_sub(rules.window_ms);
        let window = || self.facts.looks.iter().filter(move |look| look.at_ms >= begin);
        let seconds = rules.window_ms / 1_000;
        if window().all(|look| look.memory_percent() >= rules.memory_percent) {
            let used = now.memory_percent();
            return Some(format!(
                "{used} % of the memory is used, in all looks of the last {seconds} s"
            ));
        }
        let is_busy = |look: &MachineLook| look.cpu_percent.is_some_and(|used| used >= rules.cpu_percent);
        window().all(is_busy).then(|| {
            let used = now.cpu_percent.unwrap_or_default();
            format!("{used} % of the processor is used, in all looks of the last {seconds} s")
        })
    }

    /// Returns the switch to a smaller model. `None` if there is none.
    fn step_down(&self, running: &PoolModel, why: &str) -> Option<SwitchDecision> {
        let smaller = self.models.iter().copied();
        let smaller = smaller.filter(|model| model.needed_memory() < running.needed_memory());
        let free = self
            .facts
            .looks
            .last()
            .map_or(self.facts.free_memory_bytes, |look| look.free_bytes);
        let with_room = smaller
            .clone()
            .filter(|model| self.is_loaded(model) || self.has_room(model, free));
        let model = match find_largest(with_room) {
            Some(model) => model,
            None => find_smallest_of(smaller)?,
        };
        Some(SwitchDecision {
            action: SwitchAction::Down,
            alias: model.alias.clone(),
            reason: format!("switched down from `{}`: {why}", running.alias),
        })
    }

    /// Returns the switch to a larger model. `None` if there is none with room in the whole window.
    fn step_up(&self, running: &PoolModel) -> Option<SwitchDecision> {
        let rules = self.facts.rules;
        let looks = self.find_covering_looks()?;
        let is_free = |look: &MachineLook| {
            look.memory_percent() < rules.memory_percent
                && look.cpu_percent.is_none_or(|used| used < rules.cpu_percent)
        };
        if !looks.iter().all(is_free) {
            return None;
        }
        let larger = self.models.iter().copied();
        let larger = larger.filter(|model| model.needed_memory() > running.needed_memory());
        let with_room = larger.filter(|model| looks.iter().all(|look| self.has_room(model, look.free_bytes)));
        let model = find_largest(with_room)?;
        let seconds = rules.window_ms / 1_000;
        Some(SwitchDecision {
            action: SwitchAction::Up,
            alias: model.alias.clone(),
            reason: format!(
                "switched up from `{}`: memory for it was free in all looks of the last {seconds} s",
                running.alias
            ),
        })
    }

    /// Returns the looks of the window, with the last one before it. `None` if there is none before it.
    fn find_covering_looks(&self) -> Option<&'a [MachineLook]> {
        let looks = &self.facts.looks;
        let begin = looks.last()?.at_ms.checked_sub(self.facts.rules.window_ms)?;
        let anchor = looks.iter().rposition(|look| look.at_ms <= begin)?;
        looks.get(anchor..)
    }

    fn is_loaded(&self, model: &PoolModel) -> bool {
        self.facts.loaded.contains(&model.alias)
    }

    /// Returns whether so much free memory is enough for a model. What a loaded model uses is not free, and it needs it no second time.
    fn has_room(&self, model: &PoolModel, free: u64) -> bool {
        let own = match self.is_loaded(model) {
            true => model.needed_memory(),
            false => 0,
        };
        self.facts.rules.with_margin(model.needed_memory()) <= free.saturating_add(own)
    }

    fn find_smallest(&self) -> Option<&'a PoolModel> {
        find_smallest_of(self.models.iter().copied())
    }
}

/// Returns the first of the largest models. `None` if there is no model.
fn find_largest<'a>(models: impl Iterator<Item = &'a PoolModel>) -> Option<&'a PoolModel> {
    // `min_by_key` returns the first of several that are equal, `max_by_key` the last.
    models.min_by_key(|model| std::cmp::Reverse(model.needed_memory()))
}

/// Returns the first of the smallest models. `None` if there is no model.
fn find_smallest_of<'a>(models: impl Iterator<Item = &'a PoolModel>) -> Option<&'a PoolModel> {
    models.min_by_key(|model| model.needed_memory())
}

#[cfg(test)]
mod tests;
