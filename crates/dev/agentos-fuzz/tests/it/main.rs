//! The claims of the fuzz targets, without a fuzzer.
//!
//! Owns: replaying the committed corpora, and holding readings of ours against git's. Never: looks for new inputs.

mod corpus;
mod git;
