//! Landing: any answer, any edit and any series of edits.
//!
//! Owns: the three claims about landing. Never: what is no answer of a tool.

mod any_answer;
mod base;
mod damage;
mod dialect;
mod roundtrip;
mod series;

pub(crate) use any_answer::any_answer;
pub(crate) use roundtrip::roundtrip;
pub(crate) use series::series;
