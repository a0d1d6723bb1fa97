//! Signing in at a server of tools: what a user sees, what is stored, and what is sent.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use agentos_testkit::cli::{Cli, CliOutput, interrupt, program};
use agentos_testkit::repo::{read_file, write_file};
use agentos_testkit::sign_in::{SignInServer, open_as_browser};
use serde_json::{Value, json};

use crate::sessions::{add_provider, ok};
use crate::support::agentos;
use crate::toolboxes::{calling_server, offered, results, trust};

const SIGN_IN: [&str; 8] = [
    "tool",
    "auth",
    "sign-in",
    "--provider",
    "box",
    "--store",
    "file",
    "--no-browser",
];

fn add_server(cli: &Cli, url: &str) {
    let profile = json!({ "provider": "box", "adapter": "mcp", "base_url": url });
    write_file(
        &cli.home().join(".config/agentos/profiles/box.json"),
        profile.to_string(),
    );
}

/// Starts a sign-in, and returns the address that it prints.
fn begin(cli: &Cli, args: &[&str]) -> (Child, String, BufReader<std::process::ChildStderr>) {
    let mut command = cli.command(args);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("http://") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "no address was printed");
    }
    (child, line.trim().to_owned(), lines)
}

fn finish(child: Child, mut lines: BufReader<std::process::ChildStderr>) -> CliOutput {
    let mut stderr = String::new();
    lines.read_to_string(&mut stderr).unwrap();
    let output = child.wait_with_output().unwrap();
    CliOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr,
    }
}

/// Signs in with a browser that agrees.
fn sign_in(cli: &Cli, more: &[&str]) -> CliOutput {
    let args = [&SIGN_IN[..], more].concat();
    let (child, address, lines) = begin(cli, &args);
    open_as_browser(&address).unwrap();
    finish(child, lines)
}

fn send(cli: &Cli) -> CliOutput {
    let args = [
        "chat", "send", "-p", "mine", "-c", "trip", "--tool", "box", "Look.",
    ];
    cli.run(&args).unwrap()
}

/// Fails if a token or the code is in what a user sees, or in a file besides the store of keys.
fn assert_secret_free(cli: &Cli, outputs: &[&CliOutput]) {
    for output in outputs {
        let shown = format!("{output}");
        assert!(
            !shown.contains("token-secret") && !shown.contains("code-secret"),
            "{shown}"
        );
    }
    let found = program("grep")
        .args(["-rl", "token-secret"])
        .arg(cli.home())
        .output()
        .unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let store = cli.home().join(".agentos/credentials.json").display().to_string();
    assert!(found.lines().all(|file| file == store), "{found}");
}

#[test]
fn a_user_signs_in_once_and_models_call_the_tools() {
    let server = SignInServer::start(|_, _| {}).unwrap();
    let cli = agentos();
    add_server(&cli, &server.url());
    // Without a sign-in, the next step is named.
    let refused = cli.run(&["tool", "trust", "box"]).unwrap();
    assert_eq!(refused.code, Some(5));
    assert!(refused.stderr.contains("[sign-in-needed]"), "{refused}");
    assert!(
        refused
            .stderr
            .contains("agentos tool auth sign-in --provider box"),
        "{refused}"
    );
    let signed_in = sign_in(&cli, &[]);
    assert_eq!(signed_in.code, Some(0), "{signed_in}");
    assert!(
        signed_in.stderr.contains("signed in at http://127.0.0.1:"),
        "{signed_in}"
    );

    trust(&cli, "box");
    let model = calling_server(vec![vec![("box__roll", json!({}))]]);
    add_provider(&cli, "mine", &model);
    // Refused in the middle of it: refreshed without the user.
    server.expire_token();
    let sent = send(&cli);
    assert_eq!(sent.code, Some(0), "{sent}");
    assert_eq!(results(&model, 1), ["four"]);
    let store = read_file(&cli.home().join(".agentos/credentials.json"));
    assert!(String::from_utf8_lossy(&store).contains("refresh-token-secret-2"));

    let status = ok(&cli, &["tool", "auth", "status", "--json"]);
    let document = status.json().unwrap();
    let shown = &document["keys"]["box"];
    assert_eq!(
        (&shown["source"], &shown["hint"]),
        (&json!("sign-in in the file"), &Value::Null)
    );
    assert_eq!(shown["signed_in"]["server"], json!(server.url()));
    assert_eq!(shown["signed_in"]["refreshes"], json!(true));
    assert!(shown["signed_in"]["until"].as_str().unwrap().ends_with('Z'));
    let table = ok(&cli, &["tool", "auth", "status"]);
    assert!(
        table.stdout.contains("box: signed in at http://127.0.0.1:"),
        "{table}"
    );

    // Ended at the server: the session goes on without the tools, and says what to do.
    server.revoke_sign_in();
    let left_out = send(&cli);
    assert_eq!(left_out.code, Some(0), "{left_out}");
    assert_eq!(offered(&model, 2), [""; 0]);
    assert!(left_out.stderr.contains("the sign-in has ended"), "{left_out}");
    assert!(
        left_out
            .stderr
            .contains("agentos tool auth sign-in --provider box"),
        "{left_out}"
    );
    assert_secret_free(&cli, &[&signed_in, &sent, &status, &table, &left_out]);

    let cleared = ok(&cli, &["tool", "auth", "clear", "--provider", "box"]);
    assert!(cleared.stderr.contains("was deleted"), "{cleared}");
    let store = read_file(&cli.home().join(".agentos/credentials.json"));
    assert!(!String::from_utf8_lossy(&store).contains("token-secret"));
}

#[test]
fn a_key_that_is_set_replaces_the_sign_in() {
    let server = SignInServer::start(|_, _| {}).unwrap();
    let cli = agentos();
    add_server(&cli, &server.url());
    let signed_in = sign_in(&cli, &["--json"]);
    let document: Value = serde_json::from_str(&signed_in.stdout).unwrap();
    assert_eq!(
        (&document["version"], &document["provider"]),
        (&json!(1), &json!("box"))
    );
    assert_eq!(document["signed_in"]["server"], json!(server.url()));
    let set = ["tool", "auth", "set", "--provider", "box", "--store", "file"];
    let set = cli.run_with_input(&set, b"access-token-secret-1").unwrap();
    assert_eq!(set.code, Some(0), "{set}");
    let status = ok(&cli, &["tool", "auth", "status", "--json"]).json().unwrap();
    assert_eq!(status["keys"]["box"]["source"], json!("file"));
    assert!(status["keys"]["box"].get("signed_in").is_none());
    // The fixed key is what the server is sent now.
    ok(&cli, &["tool", "trust", "box", "--json"]);
    server.expire_token();
    assert_eq!(
        cli.run(&["tool", "trust", "box", "--json"]).unwrap().code,
        Some(5)
    );
    assert_eq!(server.token_forms().len(), 1);
}

/// The browser is led by a page, so that the address is on no command line, and the page is gone afterwards.
#[test]
fn the_browser_is_opened_by_a_page() {
    let server = SignInServer::start(|_, _| {}).unwrap();
    let cli = agentos();
    let tools = cli.home().join("bin");
    let pipe = cli.home().join("opened");
    write_file(
        &tools.join("xdg-open"),
        format!(
            "#!/bin/sh\nread -r all < \"$1\"; cat \"$1\" > {}\n",
            pipe.display()
        ),
    );
    assert!(
        program("chmod")
            .arg("755")
            .arg(tools.join("xdg-open"))
            .status()
            .unwrap()
            .success()
    );
    assert!(program("mkfifo").arg(&pipe).status().unwrap().success());
    let cli = cli.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
    add_server(&cli, &server.url());
    let args = &SIGN_IN[..7];
    let (child, address, lines) = begin(&cli, args);
    // Waits for the program that stands for the browser.
    let page = fs::read_to_string(&pipe).unwrap();
    assert!(page.contains(&address.replace('&', "&amp;")), "{page}");
    let folder = cli.home().join(".local/state/agentos");
    assert!(folder.join("box.sign-in.html").exists());
    open_as_browser(&address).unwrap();
    assert_eq!(finish(child, lines).code, Some(0));
    assert!(!folder.join("box.sign-in.html").exists());
}

#[test]
fn a_sign_in_that_ends_otherwise_stores_nothing() {
    let cli = agentos();
    let server = SignInServer::start(|request, reply| {
        if request.path.starts_with("/authorize?") {
            for (_, location) in &mut reply.headers {
                *location = location.replace("code=code-secret-0123456789", "error=access_denied");
            }
        }
    })
    .unwrap();
    add_server(&cli, &server.url());
    let denied = sign_in(&cli, &[]);
    assert_eq!(denied.code, Some(5), "{denied}");
    assert!(
        denied
            .stderr
            .contains("[sign-in-failed] signing in with the browser was refused: access_denied"),
        "{denied}"
    );
    // Ctrl-C while the browser is waited for.
    let (child, address, lines) = begin(&cli, &SIGN_IN);
    assert!(interrupt(&child));
    let stopped = finish(child, lines);
    assert_eq!(stopped.code, Some(130), "{stopped}");
    assert!(open_as_browser(&address).is_err());
    // A wrong `state` is refused, and the wait goes on until the right one.
    let (child, address, lines) = begin(&cli, &SIGN_IN);
    let state = address.split("state=").nth(1).unwrap().split('&').next().unwrap();
    assert_eq!(
        open_as_browser(&address.replace(state, "0000")).unwrap().status,
        403
    );
    assert_eq!(open_as_browser(&address).unwrap().status, 200);
    assert_eq!(finish(child, lines).code, Some(5));
    assert!(!cli.home().join(".agentos/credentials.json").exists());
    assert!(server.token_forms().is_empty());
}

#[test]
fn only_a_server_of_tools_with_an_address_is_signed_in_at() {
    let cli = agentos();
    for provider in ["openai", "nobody"] {
        let refused = cli
            .run(&["tool", "auth", "sign-in", "--provider", provider])
            .unwrap();
        assert_eq!(refused.code, Some(2), "{refused}");
    }
    add_server(&cli, "http://192.0.2.1/mcp");
    let plain = cli.run(&SIGN_IN).unwrap();
    assert_eq!(plain.code, Some(5), "{plain}");
    assert!(plain.stderr.contains("without https"), "{plain}");
}
