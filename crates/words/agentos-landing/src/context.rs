//! What all steps of one landing are given.
//!
//! Owns: the base, the options and the budget, as one parameter. Never: the answer, or what was found in it.

use crate::budget::WorkBudget;
use crate::{Base, LandOptions};

/// Base, options and budget of one landing.
#[derive(Clone, Copy)]
pub(crate) struct LandingContext<'c> {
    /// State that the answer is landed on.
    pub base: &'c dyn Base,
    /// Options of the landing.
    pub options: &'c LandOptions,
    /// Work that is left for the answer.
    pub budget: &'c WorkBudget,
}
