//! Profiles as their users see them: files, variables and flags in, one profile with origins out.
//!
//! Owns: the specification by example. Never: reads a real environment.

#[cfg(test)]
mod files;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod layers;
