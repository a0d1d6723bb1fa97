//! A built-in adapter is a confined child of its own: what holds it while it speaks to its server, and what it still says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, make_dir, write_file};
use agentos_testkit::server::{FakeServer, Reply, closed_port};
use serde_json::Value;

use crate::support::{SLOPPY_FIX, agentos, chat_server, openai_at, sandbox_holds, small_repo};

const KEY: &str = "sk-hosted-0123456789abcdef";

/// The processes of this machine that are hosted adapters of a program with this id as an ancestor: their state, and whether
/// the key is in their command line or environment.
fn hosted_below(top: u32) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for place in hosted_places(top) {
        let read = |name: &str| std::fs::read(place.join(name)).unwrap_or_default();
        let line = read("cmdline");
        let leaks = [line, read("environ")]
            .iter()
            .any(|bytes| bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
        let net = |place: &Path| std::fs::read_link(place.join("ns/net")).unwrap_or_default();
        let status = String::from_utf8(read("status")).unwrap();
        let outside = net(&place) == net(Path::new("/proc/self"));
        found.push((format!("{status}OwnNetwork:\t{}\n", !outside), leaks));
    }
    found
}

/// The folders in `/proc` of the hosted adapters of a program with this id as an ancestor.
fn hosted_places(top: u32) -> Vec<PathBuf> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let places = all.map(|entry| entry.path()).filter(|place| {
        let line = std::fs::read(place.join("cmdline")).unwrap_or_default();
        line.ends_with(b"\0__tool\0") && descends(place, top)
    });
    places.collect()
}

/// The ids of the hosted adapters of a program with this id as an ancestor.
pub fn hosted_processes(top: u32) -> BTreeSet<u32> {
    let names = hosted_places(top);
    let ids = names
        .iter()
        .filter_map(|place| place.file_name()?.to_str()?.parse().ok());
    ids.collect()
}

fn descends(place: &Path, top: u32) -> bool {
    let status = std::fs::read_to_string(place.join("status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse::<u32>().ok())
    };
    match field("PPid:") {
        Some(parent) if parent == top => true,
        Some(parent) if parent > 1 => descends(&Path::new("/proc").join(parent.to_string()), top),
        Some(_) | None => false,
    }
}

/// Checks what the kernel says about a confined process.
fn assert_confined(status: &str) {
    for held in [
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "CapEff:\t0000000000000000",
        "OwnNetwork:\ttrue",
    ] {
        assert!(status.contains(held), "{held}: {status}");
    }
}

#[test]
fn an_adapter_is_confined_while_it_speaks_to_its_server_and_its_key_is_nowhere_to_be_read() {
    if !sandbox_holds() {
        return;
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let own = std::process::id();
    let server = chat_server(SLOPPY_FIX, move || {
        noted.lock().unwrap().extend(hosted_below(own));
    });
    let repo = small_repo();
    let flags = openai_at(&server.url());
    let mut args = vec![
        "run",
        "fix add",
        "--file",
        "src/lib.rs",
        "--require-sandbox",
        "--json",
    ];
    args.extend(flags.iter().map(String::as_str));
    let cli = agentos().in_dir(repo.path()).env("AGENTOS_OPENAI_API_KEY", KEY);
    let output = cli.run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let outcome: Value = output.json().unwrap();
    assert_eq!(outcome["result"]["boundary"]["enforcement"], "kernel");
    assert_eq!(
        outcome["result"]["boundary"]["layers"].as_array().unwrap().len(),
        9
    );
    let sent = server.requests();
    assert!(
        sent.iter()
            .all(|request| request.header("authorization") == Some(&format!("Bearer {KEY}")))
    );
    let seen = seen.lock().unwrap();
    let (status, leaks) = seen.first().expect("a hosted adapter");
    assert_confined(status);
    assert!(!status.contains("Uid:\t0\t"), "{status}");
    assert!(!leaks, "the key is in the command line or the environment");
}

#[test]
fn a_conversation_is_confined_like_a_task() {
    if !sandbox_holds() {
        return;
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let own = std::process::id();
    let server = chat_server("Hello.", move || {
        noted.lock().unwrap().extend(hosted_below(own));
    });
    let flags = openai_at(&server.url());
    let args: Vec<&str> = ["chat", "send", "Hi", "--send-key"]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .collect();
    let cli = agentos().env("AGENTOS_OPENAI_API_KEY", KEY);
    let output = cli.run(&args).unwrap();
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "Hello.\n"),
        "{output}"
    );
    let sent = server.requests();
    assert!(
        sent.iter()
            .all(|request| request.header("authorization") == Some(&format!("Bearer {KEY}")))
    );
    let seen = seen.lock().unwrap();
    let (status, leaks) = seen.first().expect("a hosted adapter");
    assert_confined(status);
    assert!(!leaks, "the key is in the command line or the environment");
    // The folders of the call are gone.
    let models = cli.home().join(".cache/agentos/models");
    assert_eq!(std::fs::read_dir(models).unwrap().count(), 0);
}

#[test]
fn what_an_adapter_finds_of_its_server_is_what_it_would_find_unconfined() {
    let locked =
        FakeServer::start(|_| Reply::json(401, &serde_json::json!({ "error": { "message": "no" } })));
    let locked = locked.unwrap();
    let wants_key = format!("{}/v1", locked.url());
    let closed = format!("{}/v1", closed_port().unwrap());
    // Too long for a name (RFC 1035), so that nobody is asked.
    let no_name = format!("http://{}.invalid:8080/v1", "x".repeat(64));
    for (url, code) in [
        (closed.as_str(), "refused"),
        (&no_name, "dns"),
        (&wants_key, "key-required"),
        ("not a url", "bad-url"),
    ] {
        let repo = small_repo();
        let args = [
            "run",
            "-p",
            "vllm",
            "--base-url",
            url,
            "--model",
            "m",
            "fix add",
            "--file",
            "src/lib.rs",
            "--json",
        ];
        let output = agentos().in_dir(repo.path()).run(&args).unwrap();
        let outcome: Value = output.json().unwrap();
        assert_eq!(
            (outcome["code"].as_str(), output.code),
            (Some(code), Some(5)),
            "{url}: {outcome}"
        );
    }
}

#[test]
fn where_nothing_confines_an_adapter_is_observed_and_a_demand_for_more_refuses() {
    // In a user namespace of one user there is nobody to become who is not root.
    let inside = Cli::new("unshare").unwrap();
    let program = env!("CARGO_BIN_EXE_agentos");
    let doctor = inside.run(&["-Ur", program, "doctor", "--json"]);
    if !doctor.is_ok_and(|output| output.stdout.contains("not-confined")) {
        eprintln!("skipped: a user namespace that cannot be confined further is not to be had here");
        return;
    }
    let server = chat_server(SLOPPY_FIX, || {});
    let flags = openai_at(&server.url());
    let repo = small_repo();
    let run = |more: &[&str]| {
        let mut args = vec!["-Ur", program, "run", "fix add", "--file", "src/lib.rs", "--json"];
        args.extend(flags.iter().map(String::as_str));
        args.extend(more);
        let inside = Cli::new("unshare").unwrap().in_dir(repo.path());
        let output = inside.run(&args).unwrap();
        (output.code, output.json().unwrap(), output.stderr)
    };
    let (code, outcome, _): (_, Value, _) = run(&["--require-sandbox"]);
    assert_eq!(
        (code, outcome["code"].as_str()),
        (Some(5), Some("not-confined")),
        "{outcome}"
    );
    assert!(server.requests().is_empty(), "the task was sent");
    let (code, outcome, told) = run(&[]);
    assert_eq!(code, Some(0), "{outcome}");
    assert!(
        told.contains("the kernel cannot confine this tool here"),
        "{told}"
    );
    assert_eq!(outcome["result"]["boundary"]["enforcement"], "observed");
    assert_eq!(outcome["result"]["boundary"]["layers"], Value::Null);
}

#[test]
fn a_repository_may_lie_deeper_than_a_socket_s_address_is_long() {
    if !sandbox_holds() {
        return;
    }
    let repo = TestRepo::new();
    let place = repo.outside().join("a-folder-with-a-rather-long-name/".repeat(6));
    make_dir(&place);
    let deep = place.join("repository");
    repo.git(&["init", "-q", &deep.display().to_string()]);
    let at = |args: &[&str]| repo.git(&[&["-C", &deep.display().to_string()], args].concat());
    write_file(&deep.join("lib.rs"), "fn one() {}\n");
    at(&["add", "-A"]);
    at(&[
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@example.com",
        "commit",
        "-qm",
        "first",
    ]);
    let server = chat_server("The complete file:\n\nlib.rs\n```\nfn two() {}\n```\n", || {});
    let flags = openai_at(&server.url());
    let mut args = vec![
        "run",
        "name it two",
        "--file",
        "lib.rs",
        "--require-sandbox",
        "--json",
    ];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos().in_dir(&deep).run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
}
