//! What models, chats, terminals and mail do to a diff: named classes of damage.
//!
//! Owns: the list, and whether a text is still enough to find the one right result. Never: asks landing.

mod dialects;
mod headers;
mod lossy;
mod sequence;
mod text;

pub use lossy::{bare_runs, narrow, shows_what_is_there};

use super::edits::{Case, Random};

/// What the damaged text still says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The one right result can be found, unless the text has come to fit two places.
    Land,
    /// The right result, or a refusal.
    Either,
}

/// A class of damage: its name, and the text it makes of a case.
pub type Damage = (&'static str, Expect, fn(&mut Random, &Case) -> Option<String>);

/// All classes.
pub fn classes() -> impl Iterator<Item = &'static Damage> {
    [
        headers::CLASSES,
        sequence::CLASSES,
        text::CLASSES,
        lossy::CLASSES,
        dialects::CLASSES,
    ]
    .into_iter()
    .flatten()
}
