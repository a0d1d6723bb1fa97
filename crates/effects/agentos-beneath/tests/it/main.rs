//! Trees as a hostile tool leaves them, and what becomes of them.
//!
//! Owns: trees of every shape. Never: looks at how they are walked.

#![cfg(unix)]

#[cfg(test)]
mod race;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod removal;
#[cfg(test)]
mod support;
