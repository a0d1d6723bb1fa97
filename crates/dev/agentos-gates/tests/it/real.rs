//! A gate over the real program and a real llama.cpp server.
//!
//! Owns: the proof that nothing has to be stood in for. Skipped, saying so, where the server is not installed.

use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use tempfile::TempDir;

use crate::live::{agentos, verdict};
use crate::stand_in::{DIFF, letters};

#[test]
fn a_real_llama_cpp_server_passes_all_five() {
    let Some(agentos) = agentos() else { return };
    // The line numbers are wrong on purpose.
    let answer = DIFF.replace("@@ -1,3 +1,3 @@", "@@ -7,3 +7,3 @@");
    let Some(server) = LlamaServer::start(LlamaOptions {
        answer: &answer,
        ..LlamaOptions::default()
    })
    .unwrap() else {
        return;
    };
    let scratch = TempDir::new().unwrap();
    let verdict = verdict("tl_r2_llamacpp", &agentos, server.url(), &scratch);
    assert_eq!(letters(&verdict), "PPPPP", "{verdict:#}");
}
