//! Any bytes are edits in turn: see `series`.
//!
//! Owns: nothing. Never: claims anything itself.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentos_diff_fuzz::series(data));
