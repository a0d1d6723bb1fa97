//! The main job against the real llama.cpp server, on both of its wires. Skipped, and said so, where it is not
//! installed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agentos_net::{Auth, Deadline, HttpClient, HttpUrl, NetConfig, Request};
use agentos_testkit::cli::interrupt;
use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Reply};

use serde_json::json;

use crate::proposing::{correcting_calls, talk_land_undo};
use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, run_in, small_repo};

const KEY: &str = "local-llama-key-0123456789";

fn server(api_key: Option<&str>) -> Option<LlamaServer> {
    LlamaServer::start(LlamaOptions {
        answer: SLOPPY_FIX,
        api_key,
        alias: "tiny-coder",
        ..LlamaOptions::default()
    })
    .unwrap()
}

fn landed(repo: &TestRepo, args: &[&str]) {
    let output = agentos().in_dir(repo.path()).run(args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "src/lib.rs");
    assert_eq!(repo.status(), "");
    let verify = run_in(repo, &["evidence", "verify"]);
    assert_eq!(verify.code, Some(0), "{verify}");
    let story = run_in(repo, &["evidence", "show"]);
    assert!(story.stdout.contains("tiny-coder"), "{story}");
}

#[test]
fn a_task_becomes_a_commit_on_the_native_wire() {
    let Some(server) = server(None) else { return };
    let repo = small_repo();
    landed(
        &repo,
        &[
            "run",
            "-p",
            "llamacpp",
            "--base-url",
            server.url(),
            "make add add",
            "--file",
            "src/lib.rs",
        ],
    );
}

#[test]
fn a_task_becomes_a_commit_on_the_openai_wire() {
    let Some(server) = server(None) else { return };
    let repo = small_repo();
    let url = format!("{}/v1", server.url());
    landed(
        &repo,
        &[
            "run",
            "-p",
            "openai",
            "--base-url",
            &url,
            "--model",
            "tiny-coder",
            "make add add",
            "--file",
            "src/lib.rs",
        ],
    );
}

#[test]
fn right_key_wrong_key_no_key_and_no_server_are_told_apart() {
    let Some(mut server) = server(Some(KEY)) else {
        return;
    };
    let repo = small_repo();
    let root = server.url().to_owned();
    let openai = format!("{root}/v1");
    let cases = [
        ("llamacpp", root.as_str(), "AGENTOS_LLAMACPP_API_KEY"),
        ("openai", openai.as_str(), "AGENTOS_OPENAI_API_KEY"),
    ];
    let state = |provider: &str, url: &str, name: &str, key: &str| {
        let cli = agentos().env(name, key).in_dir(repo.path());
        let health = cli
            .run(&[
                "tool",
                "health",
                "-p",
                provider,
                "--base-url",
                url,
                "--model",
                "tiny-coder",
                "--json",
            ])
            .unwrap();
        let run = cli
            .run(&[
                "run",
                "-p",
                provider,
                "--base-url",
                url,
                "--model",
                "tiny-coder",
                "x",
                "--branch",
                provider,
                "--json",
            ])
            .unwrap();
        let status = health.json().unwrap()["tools"][0]["status"]
            .as_str()
            .unwrap()
            .to_owned();
        (health.code, status, run.code, run.json().unwrap()["code"].clone())
    };
    for (provider, url, name) in cases {
        let (health, status, _, _) = state(provider, url, name, KEY);
        assert_eq!((health, status.as_str()), (Some(0), "connected"), "{provider}");
        let (health, status, run, code) = state(provider, url, name, "wrong-key-0123456789");
        assert_eq!(
            (health, status.as_str(), run),
            (Some(5), "invalid_token", Some(5)),
            "{provider}"
        );
        assert_eq!(code, "unauthorized", "{provider}");
    }
    server.stop();
    for (provider, url, name) in cases {
        let (health, status, run, _) = state(provider, url, name, KEY);
        assert_eq!(
            (health, status.as_str(), run),
            (Some(5), "unreachable", Some(5)),
            "{provider}"
        );
    }
}

#[test]
fn a_model_that_is_not_there_and_a_page_on_the_port_are_told_apart() {
    let Some(server) = server(None) else { return };
    let url = format!("{}/v1", server.url());
    let output = agentos()
        .run(&[
            "tool",
            "health",
            "-p",
            "openai",
            "--base-url",
            &url,
            "--model",
            "no-such-model",
            "--json",
        ])
        .unwrap();
    assert_eq!(
        output.json().unwrap()["tools"][0]["status"],
        "model_missing",
        "{output}"
    );
    let page =
        FakeServer::start(|_| Reply::http(200, &[("content-type", "text/html")], b"<html></html>")).unwrap();
    let output = agentos()
        .run(&[
            "tool",
            "health",
            "-p",
            "llamacpp",
            "--base-url",
            &page.url(),
            "--json",
        ])
        .unwrap();
    assert_eq!(
        output.json().unwrap()["tools"][0]["status"],
        "schema_mismatch",
        "{output}"
    );
}

/// The weights are from a random generator: that the edit lands is the grammar's doing alone.
#[test]
fn an_edit_from_noise_lands_under_a_grammar() {
    let options = LlamaOptions {
        model_args: &["--kind", "random"],
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let profile = r#"{"provider": "llamacpp", "constrain": "grammar",
        "params": {"max_tokens": 400, "temperature": 1.0, "seed": 1}}"#;
    write_file(
        &cli.home().join(".config/agentos/profiles/llamacpp.json"),
        profile,
    );
    let output = cli
        .run(&[
            "run",
            "-p",
            "llamacpp",
            "--base-url",
            server.url(),
            "babble",
            "--file",
            "src/lib.rs",
        ])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "src/lib.rs");
}

/// Sends a task about the sources of this program to a server with a context of so many tokens. Returns the tokens that the server
/// counted for the whole prompt, and for the texts in it.
fn count_sent(context: u64) -> Option<(u64, u64)> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    list_files(&sources, &mut files);
    let repo = small_repo();
    let mut all = String::new();
    for file in &files {
        let text = std::fs::read_to_string(file).ok()?;
        let below = file.strip_prefix(&sources).ok()?;
        repo.write(&format!("program/{}", below.display()), &text);
        all.push_str(&text);
    }
    repo.commit_all("program");
    let words = repo.path().join(".git/words.txt");
    write_file(&words, all);
    let context_size = context.to_string();
    let server = LlamaServer::start(LlamaOptions {
        answer: SLOPPY_FIX,
        model_args: &["--ctx", &context_size, "--words", words.to_str()?],
        ..LlamaOptions::default()
    });
    let server = server.expect("the server starts")?;
    let task = "make add add, and let the terminal show the progress of a run";
    let output = run_in(
        &repo,
        &[
            "run",
            "-p",
            "llamacpp",
            "--base-url",
            server.url(),
            task,
            "--context",
            "auto",
            "--file",
            "src/lib.rs",
        ],
    );
    assert_eq!(output.code, Some(0), "{output}");
    let story = run_in(&repo, &["show", "--json"]).json().ok()?;
    let planned = run_in(&repo, &["show", "--context", "--json"]).json().ok()?;
    assert_eq!(planned["budget"]["window"], context, "{planned:#}");
    assert_eq!(planned["budget"]["source"], "server", "{planned:#}");
    let prompt = run_in(&repo, &["show", "--prompt"]).stdout;
    let texts = count_tokens(server.url(), &prompt);
    Some((story["attempts"][0]["input_tokens"].as_u64()?, texts))
}

fn list_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => list_files(&path, found),
            path => found.push(path),
        }
    }
    found.sort();
}

/// Lets the server count the tokens of a text.
fn count_tokens(url: &str, text: &str) -> u64 {
    let body = serde_json::json!({ "content": text });
    let url = HttpUrl::parse(url).map(|url| url.join("tokenize"));
    let answer = url.ok().and_then(|url| {
        let http = HttpClient::new(NetConfig::default()).ok()?;
        let request = Request::post(url, Auth::None, body);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime
            .block_on(http.send(&request, &Deadline::after(Duration::from_secs(20))))
            .ok()
    });
    let tokens: Option<serde_json::Value> =
        answer.and_then(|answer| serde_json::from_slice(&answer.body).ok());
    let tokens = tokens.and_then(|tokens| Some(tokens["tokens"].as_array()?.len()));
    u64::try_from(tokens.unwrap_or(0)).unwrap_or(0)
}

/// By the count of the server itself: the whole prompt was read, it fits with the answer that was kept room for, and it fills the
/// room that there is.
#[test]
fn what_is_sent_fits_the_context_that_the_server_has_loaded() {
    // Of a window of 65,536 tokens, files get 48,000.
    for (context, least) in [(8192, 4500), (65_536, 35_000)] {
        let Some((sent, texts)) = count_sent(context) else {
            return;
        };
        assert!(
            texts > 0 && sent >= texts,
            "{context}: the server read {sent} of {texts}"
        );
        assert!(sent <= context - context / 4, "{context}: {sent}");
        assert!(sent >= least, "{context}: {sent}");
    }
}

/// Is the only slot of a server at work?
pub fn is_at_work(url: &str) -> bool {
    let request = Request::get(HttpUrl::parse(url).unwrap().join("slots"), Auth::None);
    let http = HttpClient::new(NetConfig::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let deadline = Deadline::after(Duration::from_secs(20));
    let answer = runtime.block_on(http.send(&request, &deadline)).unwrap();
    let slots: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    slots[0]["is_processing"] == true
}

/// Waits until the slot is at work, or free.
pub fn wait_until(url: &str, at_work: bool) {
    let deadline = Deadline::after(Duration::from_secs(30));
    while is_at_work(url) != at_work {
        assert!(
            deadline.elapsed_ms() < 30_000,
            "the slot is not {}",
            if at_work { "taken" } else { "freed" }
        );
    }
}

/// By itself the answer would go on for minutes.
#[test]
fn ctrl_c_frees_the_servers_slot_and_is_recorded() {
    for mode in ["llamacpp_completion", "openai_compatible"] {
        let options = LlamaOptions {
            answer: SLOPPY_FIX,
            model_args: &["--endless", "--ctx", "262144"],
            server_args: &["--parallel", "1", "--n-predict", "-1"],
            ..LlamaOptions::default()
        };
        let Some(server) = LlamaServer::start(options).unwrap() else {
            return;
        };
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let profile =
            format!(r#"{{"provider": "llamacpp", "mode": "{mode}", "params": {{"max_tokens": 250000}}}}"#);
        write_file(
            &cli.home().join(".config/agentos/profiles/llamacpp.json"),
            profile,
        );
        let run = [
            "run",
            "-p",
            "llamacpp",
            "--base-url",
            server.url(),
            "fix add",
            "--file",
            "src/lib.rs",
        ];
        let mut child = cli
            .command(&run)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(server.url(), true);
        assert!(interrupt(&child));
        assert_eq!(child.wait().unwrap().code(), Some(130), "{mode}");
        wait_until(server.url(), false);
        assert_eq!(
            (repo.status(), repo.git(&["rev-list", "--count", "--all"])),
            (String::new(), "1".to_owned())
        );
        let shown = cli.run(&["evidence", "show", "--json"]).unwrap().json().unwrap();
        let records = shown["records"].as_array().unwrap();
        let refusal = records.iter().find(|record| record["kind"] == "refusal").unwrap();
        assert_eq!(refusal["body"]["cause"], "interrupted", "{mode}");
    }
}

/// By itself the first answer would go on for minutes, and the server has one slot.
#[test]
fn ctrl_c_in_a_conversation_frees_the_slot_for_the_next_one() {
    let options = LlamaOptions {
        answer: SLOPPY_FIX,
        model_args: &["--endless", "--ctx", "262144"],
        server_args: &["--parallel", "1", "--n-predict", "-1"],
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let openai = format!("{}/v1", server.url());
    for (provider, url) in [("llamacpp", server.url()), ("vllm", &openai)] {
        let cli = agentos();
        let call = |limit: &'static str| {
            [
                "chat",
                "send",
                "-p",
                provider,
                "--base-url",
                url,
                "--model",
                "tiny-coder",
                "--max-output-tokens",
                limit,
                "fix add",
            ]
        };
        let mut child = cli
            .command(&call("250000"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A piece is read while the server still writes.
        let mut piece = [0; 1];
        child.stdout.as_mut().unwrap().read_exact(&mut piece).unwrap();
        assert!(is_at_work(server.url()), "{provider}");
        assert!(interrupt(&child));
        assert_eq!(
            child.wait_with_output().unwrap().status.code(),
            Some(130),
            "{provider}"
        );
        let next = cli.run(&call("8")).unwrap();
        // Cut by the limit, as was asked, with what was written until then.
        assert_eq!(next.code, Some(9), "{provider}: {next}");
        assert!(!next.stdout.trim().is_empty(), "{provider}: {next}");
    }
}

#[test]
fn a_message_is_answered_on_both_wires() {
    let Some(server) = server(Some(KEY)) else { return };
    let openai = format!("{}/v1", server.url());
    for (provider, url) in [("llamacpp", server.url()), ("vllm", &openai)] {
        let cli = agentos().env(format!("AGENTOS_{}_API_KEY", provider.to_uppercase()), KEY);
        let flags = [
            "-p",
            provider,
            "--base-url",
            url,
            "--model",
            "tiny-coder",
            "--send-key",
        ];
        let output = cli
            .run(&[&["chat", "send", "--json", "fix add"], &flags[..]].concat())
            .unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        let report: serde_json::Value = output.json().unwrap();
        assert_eq!(
            report["text"].as_str().map(str::trim),
            Some(SLOPPY_FIX.trim()),
            "{provider}"
        );
        assert_eq!(report["finish"], "stop");
        assert!(report["usage"]["output_tokens"].as_u64() > Some(0), "{report}");
    }
}

/// The same with the real llama.cpp server and the tool template of its model, on each of the wires that it speaks. The model's weights
/// are a script: it gives the first answer to a conversation without an answer, and so on.
#[test]
fn a_real_server_with_a_tool_template_has_the_same_conversation() {
    let mut script: Vec<String> = correcting_calls()
        .into_iter()
        .map(|(name, arguments)| {
            // In the order of the template: the server's grammar accepts no other.
            format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
        })
        .collect();
    script.push("It waits for you.".to_owned());
    let folder = TestRepo::new();
    let file = folder.outside().join("script.json");
    write_file(&file, json!(script).to_string());
    let options = LlamaOptions {
        model_args: &["--ctx", "32768", "--script", file.to_str().unwrap()],
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    for (adapter, base, mode) in [
        ("llamacpp", "", None),
        ("openai", "/v1", None),
        ("openai", "/v1", Some("openai_responses")),
        ("anthropic", "", None),
    ] {
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let mut profile = json!({ "provider": "mine", "name": "mine", "adapter": adapter, "model": "tiny-coder", "requires_key": false,
            "base_url": format!("{}{base}", server.url()), "capabilities": { "context_window": 32_000 } });
        if let Some(mode) = mode {
            profile["mode"] = json!(mode);
        }
        let path = cli.home().join(".config/agentos/profiles/mine.json");
        write_file(&path, profile.to_string());
        let talk = talk_land_undo(&cli, &repo);
        eprintln!("{adapter} {mode:?}: {}", talk.stderr.lines().count());
    }
}
