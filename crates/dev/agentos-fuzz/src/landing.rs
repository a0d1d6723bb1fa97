//! Landing: any answer, any edit and any series of edits.
//!
//! Owns: the three claims about landing. Never: anything but answers of tools.

mod any_answer;
mod damage;
mod dialect;
mod roundtrip;
mod series;

pub use any_answer::check_land;
pub use roundtrip::check_roundtrip;
pub use series::check_series;
