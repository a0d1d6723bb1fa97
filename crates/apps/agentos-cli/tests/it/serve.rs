//! `agentos serve` and `agentos open`: the program that is started, and the link to it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use agentos_testkit::cli::{Cli, interrupt};
use agentos_testkit::repo::TestRepo;
use insta::assert_snapshot;

use crate::support::agentos;

/// Whether the service's program was built; a test of one package does not build it.
fn has_server() -> bool {
    let built = Path::new(env!("CARGO_BIN_EXE_agentos")).with_file_name("agentos-server");
    if !built.exists() {
        let reason = "skipped: `agentos-server` is not built; `cargo build -p agentos-server` builds it";
        eprintln!("{reason}");
    }
    built.exists()
}

fn start_repo() -> (TestRepo, Cli) {
    let repo = TestRepo::new();
    repo.write("a.txt", "a\n");
    repo.commit_all("begin");
    let cli = agentos().in_dir(repo.path());
    (repo, cli)
}

#[test]
fn the_service_is_started_found_and_ended() {
    if !has_server() {
        return;
    }
    let (_repo, cli) = start_repo();
    let mut child = cli
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // A pipe may lead to a log, so no link is written to it.
    let first = lines.next().unwrap().unwrap();
    assert_eq!(first, "page  `agentos open` opens it in your browser");
    for line in lines.by_ref() {
        if line.unwrap().starts_with("Ctrl-C") {
            break;
        }
    }

    let printed = cli.run(&["open", "--print"]).unwrap();
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let (address, code) = printed.stdout.trim().split_once('#').unwrap();
    let again = cli.run(&["open", "--print"]).unwrap();
    let (same, other) = again.stdout.trim().split_once('#').unwrap();
    assert_eq!(same, address);
    // A code signs one browser in, so each link has its own.
    assert_ne!(other, code);

    // No browser is installed in the test's world, so the link is shown.
    let opened = cli.command(&["open"]).env("PATH", "/nowhere").output().unwrap();
    let shown = String::from_utf8(opened.stdout).unwrap();
    assert!(shown.starts_with(address), "{shown}");
    let link = std::fs::read_to_string(cli.home().join(".local/state/agentos/server/open.html")).unwrap();
    assert!(link.contains(&format!("url={address}#")), "{link}");

    // A token is shown once, listed without its secret, and revoked.
    let made = cli
        .run(&["serve", "token", "add", "claude", "--for", "agent"])
        .unwrap();
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(
        made.stdout.starts_with("agentos_agent_") && made.stdout.lines().count() == 1,
        "{made}"
    );
    let listed = cli.run(&["serve", "token", "list", "--json"]).unwrap().stdout;
    assert!(
        listed.contains("\"claude\"") && !listed.contains(made.stdout.trim()),
        "{listed}"
    );
    let revoked = cli.run(&["serve", "token", "revoke", "claude"]).unwrap();
    assert_snapshot!(revoked.stderr, @"revoked `claude`");

    assert!(interrupt(&child));
    assert!(child.wait().unwrap().success());
    let gone = cli.run(&["open"]).unwrap();
    assert_eq!(gone.code, Some(2));
    assert_snapshot!(gone.stderr, @r"
    error [usage] no service of yours runs on this machine
      next: start it with `agentos serve`
    ");
}

#[test]
fn a_service_that_is_not_installed_is_named() {
    let (_repo, cli) = start_repo();
    // Next to the program that this variable names is no other one.
    let elsewhere = cli.home().join("agentos");
    let cli = cli.env("AGENTOS_TEST_HELPER", elsewhere).env("PATH", "/nowhere");
    let missing = cli.run(&["serve"]).unwrap();
    assert_eq!(missing.code, Some(2));
    assert_snapshot!(missing.stderr, @r"
    error [program-missing] `agentos-server` is not installed: it is neither next to this program nor in a folder of `PATH`
      next: build it with `cargo build -p agentos-server`, or install all programs with `cargo xtask install`
    ");
    let text = cli.run(&["serve", "--json"]).unwrap();
    assert_eq!(text.code, Some(2));
}
