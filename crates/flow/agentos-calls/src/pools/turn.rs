//! A turn of a pool: the member of each attempt.
//!
//! Owns: who is asked next, and the notice about it. Never: asks a member, or passes on what `agentos-pool` does not pass on.

use std::collections::{BTreeMap, BTreeSet};

use agentos_api::Notice;
use agentos_chat::FinishedTurn;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_ledger::TurnEnd;
use agentos_model::{ChatMessage, MessagePart};
use agentos_pool::{FailedAttempt, FailoverStep, MOST_HOPS, PoolChoice, next_step};
use agentos_profile::PoolNotify;
use agentos_select::NeedOrigin;
use serde_json::Value;

use super::choice::choose_in_pool;
use super::unload::unload_left;
use super::{LoadedPool, PoolQuery, load_chain};
use crate::machine::pool_state::{self, SwitchReport};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::{ProviderChoice, ProviderOverrides};
use agentos_ground::provider_kind::ProviderKind;
use agentos_providers::known_tools::read_tools;
use agentos_providers::pool_files::is_pool;

/// Reason why a run asks another member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// A call of the member failed, and left nothing behind.
    FailedCall,
    /// Answers of the member did not land.
    RefusedAnswers,
    /// The tool of the member cannot be made.
    NoTool,
}

/// Member that answers an attempt.
#[derive(Debug, Clone)]
pub struct PinnedMember {
    /// The member's provider and model, with the caller's other settings.
    pub provider: ProviderChoice,
    /// Record of the choice.
    pub record: Value,
    /// Name of the member in its pool.
    pub alias: String,
    /// True if another member can be asked after this member fails.
    pub has_other: bool,
}

/// Turn that a pool answers.
#[derive(Debug)]
pub struct PoolTurn {
    chain: Vec<LoadedPool>,
    provider: ProviderChoice,
    query: PoolQuery,
    /// Position of the pool whose members are asked now.
    position: usize,
    /// Members of this pool that failed, with the codes.
    failed: BTreeMap<String, String>,
    /// Member of this pool that was asked first. `None` if none was asked yet.
    first: Option<String>,
    hops: usize,
    /// Characters of earlier messages, which count in `query` too.
    history_chars: u64,
    /// Member that was chosen when the last one failed, and is asked next. `None` if none is chosen yet.
    ahead: Option<PinnedMember>,
}

impl PoolTurn {
    /// Begins a turn. `None` if the user named no pool, so that nothing is chosen.
    ///
    /// # Errors
    /// If the pool cannot be used, or the call overrides what each member has of its own.
    pub fn begin(
        ground: &Ground,
        provider: &ProviderChoice,
        query: PoolQuery,
    ) -> Result<Option<Self>, EffectError> {
        let ProviderKind::Profile(name) = &provider.provider else {
            return refuse_needs(provider);
        };
        let tools = read_tools(ground)?;
        if !is_pool(&tools, name) {
            return refuse_needs(provider);
        }
        let overrides = &provider.overrides;
        if overrides.model.is_some() || overrides.base_url.is_some() {
            return Err(usage_error(format!(
                "`{name}` is a pool of models: its members have models and addresses of their own"
            ))
            .hint("leave the model and the address out, or name a provider"));
        }
        Ok(Some(Self {
            chain: load_chain(ground, &tools, name)?,
            provider: provider.clone(),
            query: PoolQuery {
                needs: query.needs.into_iter().chain(provider.needs.clone()).collect(),
                ..query
            },
            position: 0,
            failed: BTreeMap::new(),
            first: None,
            hops: 0,
            history_chars: 0,
            ahead: None,
        }))
    }

    /// Returns the name of the pool that the user named.
    pub fn name(&self) -> String {
        self.provider.provider.name().to_owned()
    }

    /// Adds the characters of earlier messages, which are sent again.
    pub fn add_history(&mut self, chars: u64) {
        self.history_chars = chars;
        self.query.context_chars = self.query.context_chars.saturating_add(chars);
    }

    /// Chooses the member of the next attempt. `None` if nobody is left to ask after a failure.
    ///
    /// # Errors
    /// If no member meets the needs of the turn, or the ledger cannot be read.
    pub fn choose_next(&mut self, ground: &Ground) -> Result<Option<PinnedMember>, EffectError> {
        if let Some(pinned) = self.ahead.take() {
            return Ok(Some(pinned));
        }
        let mut last = None;
        while let Some(pool) = self.chain.get(self.position) {
            for excluded in self.list_exclusions(pool) {
                let mut choice = choose_in_pool(ground, pool, &self.query, excluded, None)?;
                if let Some(mut pinned) = self.pin(pool, &choice) {
                    if let Some(switch) = pool_state::remember_choice(ground, &choice) {
                        let SwitchReport { from, to, reason, .. } = &switch;
                        let mut message = format!("`{to}` answers now, and not `{from}`: {reason}");
                        choice.unloaded = unload_left(ground, pool, &choice, &switch);
                        if let Some(unloaded) = &choice.unloaded {
                            pool_state::remember_unload(ground, &pool.name, unloaded);
                            pinned.record = serde_json::to_value(&choice).unwrap_or_default();
                            message.push_str(&match &unloaded.failure {
                                None => format!("; `{from}` was unloaded"),
                                Some(failure) => format!("; `{from}` could not be unloaded: {failure}"),
                            });
                        }
                        notify_user(ground, pool, Notice::new("pool-switch", message));
                    }
                    if self.hops == 0 {
                        notify_of_word(ground, pool, &choice, self.query.images > 0);
                    }
                    self.first.get_or_insert_with(|| pinned.alias.clone());
                    return Ok(Some(pinned));
                }
                last = Some(choice);
            }
            self.position += 1;
            self.failed.clear();
            self.first = None;
        }
        // Earlier messages are summarized if no member can read them all, so they are a wish and no condition.
        if self.hops == 0 && self.history_chars > 0 {
            let history = std::mem::take(&mut self.history_chars);
            self.query.context_chars = self.query.context_chars.saturating_sub(history);
            self.position = 0;
            return self.choose_next(ground);
        }
        match last {
            // After a failure, the failure is the end of the turn.
            Some(choice) if self.hops == 0 => Err(nothing_fits(&choice)),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the exclusions of the next choices in a pool, in the order in which they are tried.
    fn list_exclusions(&self, pool: &LoadedPool) -> Vec<BTreeMap<String, String>> {
        let failed: BTreeMap<String, String> = self
            .failed
            .iter()
            .map(|(alias, code)| (alias.clone(), format!("it failed in this turn: {code}")))
            .collect();
        if failed.is_empty() {
            return vec![failed];
        }
        let Some(order) = self.fallback_in(pool, None) else {
            return vec![failed];
        };
        let next = order.iter().filter(|alias| !failed.contains_key(*alias));
        let only = next.map(|alias| {
            let others = pool.members.iter().map(|member| &member.model.alias);
            let others: BTreeSet<&String> = others.filter(|other| *other != alias).collect();
            let mut excluded = failed.clone();
            for other in others {
                let reason = || format!("`{alias}` is next in `fallback`");
                excluded.entry(other.clone()).or_insert_with(reason);
            }
            excluded
        });
        only.collect()
    }

    /// Returns the members that are asked after a failure: the chain of the member that was asked first, else the pool's chain. `next` is
    /// first if no member was asked yet. `None` if the selector chooses again.
    fn fallback_in<'p>(&self, pool: &'p LoadedPool, next: Option<&String>) -> Option<&'p Vec<String>> {
        let first = self.first.as_ref().or(next);
        let own = first.and_then(|first| pool.file.find_member(first)?.fallback.as_ref());
        own.or(pool.file.fallback.as_ref())
    }

    /// Returns true if another member could answer after the chosen member fails: waiting for the server to recover would lose time.
    fn has_other(&self, pool: &LoadedPool, choice: &PoolChoice) -> bool {
        let may_pass = |alias: &String| {
            let reasons = choice.refused.iter().filter(|refused| refused.alias == *alias);
            let mut reasons = reasons.map(|refused| refused.reason.as_str());
            let excluded = choice.input.excluded.get(alias).map(String::as_str);
            // A member that was only left out because another one is next may follow.
            let fits = reasons.all(|reason| Some(reason) == excluded);
            choice.alias.as_ref() != Some(alias) && !self.failed.contains_key(alias) && fits
        };
        let is_here = match self.fallback_in(pool, choice.alias.as_ref()) {
            Some(order) => order.iter().any(may_pass),
            None => pool.members.iter().any(|member| may_pass(&member.model.alias)),
        };
        self.hops < MOST_HOPS && (is_here || self.position + 1 < self.chain.len())
    }

    fn pin(&self, pool: &LoadedPool, choice: &PoolChoice) -> Option<PinnedMember> {
        let alias = choice.alias.as_ref()?;
        let has_other = self.has_other(pool, choice);
        let member = pool.members.iter().find(|member| member.model.alias == *alias)?;
        Some(PinnedMember {
            provider: ProviderChoice {
                provider: ProviderKind::from(&member.model.provider),
                overrides: ProviderOverrides {
                    model: member.model.model.clone(),
                    retries: pool.file.retries.or(has_other.then_some(0)),
                    without_repository: true,
                    ..self.provider.overrides.clone()
                },
                ..self.provider.clone()
            },
            record: serde_json::to_value(choice).unwrap_or_default(),
            alias: alias.clone(),
            has_other,
        })
    }

    /// Returns whether another member is asked after this end of a turn, and says so in a notice.
    pub fn passes_on(&mut self, ground: &Ground, pinned: &PinnedMember, finished: &FinishedTurn) -> bool {
        let Some(failure) = &finished.failure else {
            self.remember_answer(ground, pinned);
            return false;
        };
        let record = &finished.record;
        let attempt = FailedAttempt {
            code: &failure.code,
            is_cancelled: record.end == TurnEnd::Cancelled,
            left_traces: !record.messages.is_empty() || !record.runs.is_empty() || record.calls.len() > 1,
            hops: self.hops,
        };
        self.passes_failure_on(ground, pinned, attempt)
    }

    /// Returns whether another member is asked after this failure of a call that left nothing behind, and says so in a notice.
    pub fn passes_call_on(&mut self, ground: &Ground, pinned: &PinnedMember, code: &str) -> bool {
        let attempt = FailedAttempt {
            code,
            is_cancelled: false,
            left_traces: false,
            hops: self.hops,
        };
        self.passes_failure_on(ground, pinned, attempt)
    }

    /// Remembers that a member gave a whole answer.
    pub fn remember_answer(&self, ground: &Ground, pinned: &PinnedMember) {
        if let Some(pool) = self.chain.get(self.position) {
            pool_state::remember_end(ground, &pool.name, &pinned.alias, false);
        }
    }

    fn passes_failure_on(
        &mut self,
        ground: &Ground,
        pinned: &PinnedMember,
        attempt: FailedAttempt<'_>,
    ) -> bool {
        if let Some(pool) = self.chain.get(self.position) {
            pool_state::remember_end(ground, &pool.name, &pinned.alias, true);
        }
        match next_step(attempt) {
            FailoverStep::Stop(_) => return false,
            FailoverStep::Retry => {}
        }
        self.hand_on(ground, pinned, attempt.code, |alias, code, next| {
            format!("`{alias}` failed ({code}): `{next}` is asked now")
        })
    }

    /// Returns whether another member is asked in a run, and says so in a notice.
    pub fn hands_over(
        &mut self,
        ground: &Ground,
        pinned: &PinnedMember,
        code: &str,
        reason: HandOver,
    ) -> bool {
        match reason {
            HandOver::FailedCall => self.passes_call_on(ground, pinned, code),
            // The member did answer, so this is no mark against it in other turns.
            HandOver::RefusedAnswers if self.hops < MOST_HOPS => {
                self.hand_on(ground, pinned, code, |alias, code, next| {
                    format!("the answers of `{alias}` do not land ({code}): `{next}` continues the task")
                })
            }
            HandOver::NoTool if self.hops < MOST_HOPS => {
                self.hand_on(ground, pinned, code, |alias, code, next| {
                    format!("`{alias}` cannot be asked ({code}): `{next}` is asked now")
                })
            }
            HandOver::RefusedAnswers | HandOver::NoTool => false,
        }
    }

    /// Leaves a member out for the rest of the turn.
    pub fn leave_out(&mut self, pinned: &PinnedMember, code: &str) {
        self.failed.insert(pinned.alias.clone(), code.to_owned());
    }

    fn hand_on(
        &mut self,
        ground: &Ground,
        pinned: &PinnedMember,
        code: &str,
        word: impl Fn(&str, &str, &str) -> String,
    ) -> bool {
        self.leave_out(pinned, code);
        let (position, first) = (self.position, self.first.clone());
        // A failure to choose is no end of its own: the turn ends with the failure of its call.
        self.hops += 1;
        let Ok(Some(next)) = self.choose_next(ground) else {
            // The same member stays the one that is asked, in its own pool.
            (self.position, self.first) = (position, first);
            self.hops -= 1;
            return false;
        };
        let message = word(&pinned.alias, code, &next.alias);
        if let Some(pool) = self.chain.get(self.position) {
            notify_user(ground, pool, Notice::new("pool-failover", message));
        }
        // Kept, because a program that chooses may answer differently a second time.
        self.ahead = Some(next);
        true
    }
}

/// Reports a notice, unless the pool wants silence.
fn notify_user(ground: &Ground, pool: &LoadedPool, notice: Notice) {
    match pool.file.notify.unwrap_or_default() {
        PoolNotify::Notice => ground.notify(notice),
        PoolNotify::Silent => {}
    }
}

/// Reports the word of the message from which a need follows, because the user did not state the need.
fn notify_of_word(ground: &Ground, pool: &LoadedPool, choice: &PoolChoice, has_image: bool) {
    let need = choice
        .input
        .needs
        .find("supports_vision")
        .map(|need| &need.origin);
    if let (Some(NeedOrigin::Inferred(reason)), Some(alias), true) = (
        need,
        &choice.alias,
        pool.file.infer_from_words.unwrap_or_default() && !has_image,
    ) {
        notify_user(
            ground,
            pool,
            Notice::new("pool-word", format!("`{alias}` answers: {reason}")),
        );
    }
}

/// Refuses needs for a provider that is no pool: nobody would look at them. `None` without needs.
fn refuse_needs<T>(provider: &ProviderChoice) -> Result<Option<T>, EffectError> {
    if provider.needs.is_empty() {
        return Ok(None);
    }
    let name = provider.provider.name();
    Err(usage_error(format!(
        "`{name}` is no pool of models, so needs choose nothing there"
    ))
    .hint("leave the needs out, or name a pool"))
}

/// Counts the images of a message.
pub fn count_images(message: &ChatMessage) -> usize {
    let images = message
        .parts
        .iter()
        .filter(|part| matches!(part, MessagePart::Image(_)));
    images.count()
}

fn nothing_fits(choice: &PoolChoice) -> EffectError {
    let reasons = choice
        .refused
        .iter()
        .map(|refused| format!("`{}`: {}", refused.alias, refused.reason));
    let reasons: Vec<String> = reasons.collect();
    let message = format!(
        "no member of the pool `{}` meets all needs: {}",
        choice.pool,
        reasons.join("; ")
    );
    EffectError::new(Cause::Tool, "no-model-fits", message)
}
