//! Any bytes under the claims of the target `server-stream`.
//!
//! Owns: nothing. Never: claims anything itself.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentos_fuzz::check_server_stream(data));
