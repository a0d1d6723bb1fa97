//! A run that a pool answers: the members that were chosen for it.
//!
//! Owns: the choices of one run, in their order. Never: makes a member's tool.

use std::cell::RefCell;

use agentos_engine::ports::EffectError;
use serde_json::Value;

use super::{HandOver, PinnedMember, PoolQuery, PoolTurn};
use agentos_ground::Ground;
use agentos_ground::options::ProviderChoice;

/// Pool of a run, with the choices so far.
pub struct RunPool {
    turn: RefCell<PoolTurn>,
    /// Members that were chosen. The last one is asked now.
    chosen: RefCell<Vec<PinnedMember>>,
}

impl RunPool {
    /// Chooses the first member. `None` if the user named no pool.
    ///
    /// # Errors
    /// Those of [`PoolTurn::begin`] and [`PoolTurn::choose_next`].
    pub fn begin(
        ground: &Ground,
        provider: &ProviderChoice,
        query: PoolQuery,
    ) -> Result<Option<Self>, EffectError> {
        let Some(mut turn) = PoolTurn::begin(ground, provider, query)? else {
            return Ok(None);
        };
        let first = turn.choose_next(ground)?;
        Ok(Some(Self {
            turn: RefCell::new(turn),
            chosen: RefCell::new(first.into_iter().collect()),
        }))
    }

    /// Returns the name of the pool that the user named.
    pub fn name(&self) -> String {
        self.turn.borrow().name()
    }

    /// Returns the provider of the member that is asked now. `None` if the pool has no member.
    pub fn provider(&self) -> Option<ProviderChoice> {
        let chosen = self.chosen.borrow();
        chosen.last().map(|pinned| pinned.provider.clone())
    }

    /// Lists the records of the choices, in their order.
    pub fn list_choices(&self) -> Vec<Value> {
        let chosen = self.chosen.borrow();
        chosen.iter().map(|pinned| pinned.record.clone()).collect()
    }

    /// Remembers that the last member gave a whole answer.
    pub fn remember_answer(&self, ground: &Ground) {
        if let Some(last) = self.chosen.borrow().last() {
            self.turn.borrow().remember_answer(ground, last);
        }
    }

    /// Chooses the member that is asked after the last one. `None` if no other member is asked.
    pub fn choose_after(&self, ground: &Ground, code: &str, reason: HandOver) -> Option<PinnedMember> {
        let last = self.chosen.borrow().last().cloned()?;
        self.choose_instead(ground, &last, code, reason)
    }

    /// Chooses the member that is asked instead of this one, which is left out for the rest of the run. `None` if no other member is.
    pub fn choose_instead(
        &self,
        ground: &Ground,
        member: &PinnedMember,
        code: &str,
        reason: HandOver,
    ) -> Option<PinnedMember> {
        let mut turn = self.turn.borrow_mut();
        match turn.hands_over(ground, member, code, reason) {
            true => turn.choose_next(ground).ok()?,
            false => None,
        }
    }

    /// Takes back the member that was chosen last, and leaves it out for the rest of the run: policy does not let it be asked. `None` if
    /// no member was chosen.
    pub fn take_back(&self) -> Option<PinnedMember> {
        let last = self.chosen.borrow_mut().pop()?;
        self.turn.borrow_mut().leave_out(&last, "policy-denied");
        Some(last)
    }

    /// Adds a member whose tool was made: it is asked now.
    pub fn push_chosen(&self, pinned: PinnedMember) {
        self.chosen.borrow_mut().push(pinned);
    }
}
