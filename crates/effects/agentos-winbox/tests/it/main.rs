//! What a process is told, on every system; what holds it, where Windows or Wine runs this.

#![cfg(test)]

mod words;

#[cfg(windows)]
mod holding;
