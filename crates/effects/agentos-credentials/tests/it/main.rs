//! Stores of keys as their users see them.
//!
//! Owns: the specification by example. Never: opens the system's keyring, or writes outside a temporary folder.

#[cfg(unix)]
#[cfg(test)]
mod file;
#[cfg(test)]
mod keyring;
#[cfg(test)]
mod lookup;

#[cfg(test)]
const CANARY: &str = "sk-canary-5f2b9c0d7e81";
