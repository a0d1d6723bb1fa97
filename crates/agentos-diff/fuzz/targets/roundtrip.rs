//! Any bytes are an edit: see `roundtrip`.
//!
//! Owns: nothing. Never: claims anything itself.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentos_diff_fuzz::roundtrip(data));
