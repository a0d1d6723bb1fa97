//! The tape from outside: what a caller writes, what a reviewer finds.

#[cfg(test)]
mod append;
#[cfg(test)]
mod conversations;
#[cfg(test)]
mod history;
#[cfg(test)]
mod rotation;
#[cfg(test)]
mod second;
#[cfg(test)]
mod signed;
#[cfg(test)]
mod stats;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tamper;
