//! What is durable, as callers see it. That a loss of power takes nothing cannot be tested here; that a failure is told
//! is, call by call, in the tests of the program (`disk_calls`).
//!
//! Owns: paths of every kind. Never: looks at how they are synced.

#[cfg(test)]
mod names;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod syncing;
