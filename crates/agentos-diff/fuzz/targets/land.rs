//! Any bytes are an answer: see `any_answer`.
//!
//! Owns: nothing. Never: claims anything itself.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentos_diff_fuzz::any_answer(data));
