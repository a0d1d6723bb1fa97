//! The wires together: a conversation that began on one goes on with every other.
//!
//! Owns: the tests of that; the host is the one crate that sees all wires. Never: contains code of the product.

mod pairs;
mod strict;
mod tests;
