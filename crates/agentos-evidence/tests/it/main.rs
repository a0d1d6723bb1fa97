//! The tape from outside: what a caller writes, what a reviewer finds.

mod append;
mod history;
mod rotation;
mod signed;
#[cfg(test)]
mod support;
mod tamper;
