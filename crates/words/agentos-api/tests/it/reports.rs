//! Reports: what is written is read back, and what is no part of a document is not written.

use std::fmt::Debug;

use agentos_api::{
    AuthStatus, Cause, CheckStatus, ConformCheck, ContextFileReport, ContextReport, DoctorCheck,
    DoctorReport, ExportReport, FoundKey, FoundServer, KeyCheck, KeyReport, KeyStatus, KnownKey, NextStep,
    Obstacle, OwnKey, PolicyFileStatus, PolicyTest, ProfileReport, ProposedFile, ProposedStep,
    ProviderStatus, RepositoryStatus, ShownValue, TestedFile, ToolConform,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

fn read_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(shape: &T) {
    let text = serde_json::to_string(shape).unwrap_or_default();
    assert_eq!(
        serde_json::from_str::<T>(&text).ok().as_ref(),
        Some(shape),
        "{text}"
    );
}

fn text(word: &str) -> String {
    word.to_owned()
}

#[test]
fn reports_of_checks_are_read_back() {
    read_back(&DoctorReport {
        version: 1,
        ok: true,
        checks: vec![
            DoctorCheck::fine("identity", "dana"),
            DoctorCheck::attention("keyring", "no-keyring", "none", "open one"),
            DoctorCheck::skipped("providers", "nothing may be sent"),
            DoctorCheck {
                status: CheckStatus::Wrong,
                next: vec![NextStep::NameRepository],
                ..DoctorCheck::fine("repository", "there is none")
            },
        ],
    });
    read_back(&ToolConform {
        version: 1,
        protocol: 1,
        conforms: false,
        checks: vec![ConformCheck {
            name: text("it answers a task"),
            passed: false,
            seen: text("the answer is empty"),
        }],
    });
    read_back(&PolicyTest {
        version: 1,
        files: vec![TestedFile {
            source: text("team.toml"),
            matched: 2,
            not_matched: 1,
        }],
    });
}

#[test]
fn the_cause_of_a_check_is_no_part_of_the_document() {
    let check = DoctorCheck {
        cause: Some(Cause::Repository),
        ..DoctorCheck::fine("branch", "main")
    };
    let written = serde_json::to_value(&check).unwrap();
    let whole = json!({ "name": "branch", "status": "ok", "code": null, "details": "main", "fix": null });
    assert_eq!(written, whole);
}

#[test]
fn parts_of_the_status_are_read_back() {
    read_back(&RepositoryStatus {
        path: text("/src/shop"),
        bare: false,
        branch: None,
        commit: Some(text("0123abcd")),
        obstacle: Some(Obstacle {
            code: text("detached-head"),
            message: text("HEAD names a commit"),
            hint: None,
            next: vec![NextStep::RunOnCheckedOut],
        }),
        unfinished: Some(text("run-1")),
    });
    read_back(&PolicyFileStatus {
        layer: text("repository"),
        name: text("team.toml"),
    });
    read_back(&ProviderStatus {
        provider: text("ollama"),
        endpoint: Some(text("127.0.0.1:11434")),
        model: None,
        known_from: text("profile of yours"),
        problem: None,
    });
    read_back(&ProposedStep {
        action: agentos_api::NextStep::CheckHealth,
        command: text("agentos demo"),
        why: text("see the whole way of a change"),
    });
}

#[test]
fn reports_of_providers_and_of_first_files_are_read_back() {
    let status = KeyStatus {
        source: Some(text("environment OPENAI_API_KEY")),
        last_check: Some(KeyCheck {
            accepted: true,
            at: text("2026-01-02T03:04:05Z"),
            endpoint: text("api.example:443"),
            ending: Some(text("c0de")),
        }),
        ..KeyStatus::default()
    };
    read_back(&AuthStatus {
        version: 1,
        keys: [(text("openai"), status), (text("ollama"), KeyStatus::default())].into(),
    });
    let value = ShownValue {
        value: json!({ "tools": "yes", "window": 4096 }),
        origin: text("built-in"),
    };
    read_back(&ProfileReport {
        version: 1,
        provider: text("openai"),
        values: [(text("capabilities"), value)].into(),
    });
    read_back(&FoundServer {
        provider: text("ollama"),
        endpoint: None,
        models: vec![text("tiny-coder")],
    });
    read_back(&FoundKey {
        provider: text("openai"),
        variable: text("OPENAI_API_KEY"),
    });
    read_back(&ProposedFile {
        path: text(".agentos/profiles/ollama.json"),
        content: text("{}\n"),
    });
}

#[test]
fn reports_of_evidence_and_context_are_read_back() {
    let unsigned = ExportReport {
        version: 1,
        dir: text("copy"),
        records: 7,
        blobs: 3,
        lost: 0,
        redacted: false,
        head: text("00ff"),
        signed_by: None,
    };
    read_back(&unsigned);
    read_back(&ExportReport {
        signed_by: Some(text("SHA256:abc")),
        ..unsigned
    });
    read_back(&KeyReport {
        version: 1,
        key: Some(OwnKey {
            id: text("SHA256:abc"),
            public: text("ssh-ed25519 AAAA"),
            store: text("file"),
        }),
        trusted: vec![KnownKey {
            name: text("dana"),
            id: text("SHA256:abc"),
            public: text("ssh-ed25519 AAAA"),
        }],
    });
    read_back(&ContextReport {
        version: 1,
        files: vec![ContextFileReport {
            path: text("src/lib.rs"),
            bytes: 120,
            named: true,
            words: vec![text("total")],
            near: Some(text("src/main.rs")),
            ranges: vec![(3, 9)],
            lines: 40,
            tokens: 30,
            read_by: Vec::new(),
            commit: None,
        }],
        bytes: 120,
        budget_bytes: 9000,
        too_large: Vec::new(),
        ranked: 12,
        read: 12,
        ..ContextReport::default()
    });
}
