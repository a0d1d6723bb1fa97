//! The tape from outside: what a caller writes, what a reviewer finds.

mod append;
mod history;
#[cfg(test)]
mod support;
mod tamper;
