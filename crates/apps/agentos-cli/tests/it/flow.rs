//! Where the words of a conversation go: to the conversation of their own repository, and to readers that policy lets have them.

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::FakeServer;
use serde_json::{Value, json};

use crate::explore::{Said, script};
use crate::sessions::{add_provider, counting_server};
use crate::support::{agentos, small_repo};

/// A policy that withholds `private/` from models of a cloud.
const POLICY: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
                      paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", \
                      execution_mode = \"cloud\" }]\nno_match = [{ path = \"private/a\" }]\n";

fn last_request(server: &FakeServer) -> Value {
    server.requests().last().unwrap().json()
}

/// Sends a line in the conversation that is meant without `--session`.
fn talk(cli: &Cli, more: &[&str], text: &str) -> CliOutput {
    let args = [&["chat", "-p", "mine"], more].concat();
    let said = cli.run_with_input(&args, format!("{text}\n").as_bytes()).unwrap();
    assert_eq!(said.code, Some(0), "{said}");
    said
}

#[test]
fn each_repository_has_a_conversation_of_its_own() {
    let (shop, other) = (small_repo(), small_repo());
    let tree = shop.outside().join("tree");
    shop.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let cli = agentos().in_dir(shop.path());
    let server = counting_server(&cli);
    talk(&cli, &["--tools"], "the plan of the shop");
    let mut cli = cli.in_dir(other.path());
    talk(&cli, &[], "hello");
    let sent = last_request(&server);
    assert!(!sent.to_string().contains("plan of the shop"), "{sent}");
    assert!(sent.get("tools").is_none(), "{sent}");
    // A worktree is the same repository, and a folder outside of all has the conversation of old.
    for (folder, session, count) in [
        (tree.as_path(), "repository:", 3),
        (shop.outside(), "conversation:default", 1),
        (shop.path(), "repository:", 5),
    ] {
        cli = cli.in_dir(folder);
        let said = talk(&cli, &[], "go on");
        assert_eq!(said.stdout, format!("{count} messages\n"), "{}", folder.display());
        let shown = cli.run(&["chat", "show", "--json"]).unwrap().json().unwrap();
        assert!(shown["session"].as_str().unwrap().starts_with(session), "{shown}");
    }
}

/// A session in which a local model read a withheld file, and the server of both models.
struct ReadSession {
    repo: TestRepo,
    cli: Cli,
    server: FakeServer,
}

impl ReadSession {
    fn new() -> Self {
        let repo = small_repo();
        repo.write("private/plan.txt", "PLAN-SECRET\n");
        repo.write(".agentos/policy/ours.toml", POLICY);
        repo.commit_all("Rules");
        let cli = agentos().in_dir(repo.path());
        let read = Said::Calls(vec![("read_file", json!({ "path": "private/plan.txt" }))]);
        let server = script(&cli, vec![read, Said::Text("I have read it.".to_owned())]);
        add_provider(&cli, "near", &server);
        let session = Self { repo, cli, server };
        session.add_cloud("far");
        assert_eq!(session.send("near").code, Some(0));
        session
    }

    /// Makes the profile of a provider the profile of a model in a cloud.
    fn add_cloud(&self, name: &str) {
        let profile = json!({ "provider": name, "name": name, "adapter": "openai", "model": "tiny", "requires_key": false,
            "base_url": format!("{}/v1", self.server.url()),
            "capabilities": { "context_window": 32_000, "execution_mode": "cloud" } });
        let file = self
            .cli
            .home()
            .join(format!(".config/agentos/profiles/{name}.json"));
        write_file(&file, profile.to_string());
    }

    fn send(&self, provider: &str) -> CliOutput {
        let args = [
            "chat", "send", "-c", "work", "--tools", "--json", "-p", provider, "Look.",
        ];
        self.cli.run(&args).unwrap()
    }

    /// Asserts that a provider is not sent the session.
    fn assert_kept(&self, provider: &str, why: &str) {
        let asked = self.server.requests().len();
        let refused = self.send(provider);
        assert_eq!(refused.code, Some(3), "{why}: {refused}");
        let error = &refused.json().unwrap()["error"];
        assert_eq!(error["code"], json!("history-withheld"), "{why}: {refused}");
        assert_eq!(self.server.requests().len(), asked, "{why}");
    }
}

#[test]
fn a_read_is_withheld_whatever_becomes_of_the_file_and_of_the_profile() {
    let session = ReadSession::new();
    session.assert_kept("far", "as it was read");
    session.repo.git(&["mv", "private/plan.txt", "private/other.txt"]);
    session.repo.commit_all("Rename");
    session.assert_kept("far", "renamed");
    session.repo.git(&["rm", "-q", "private/other.txt"]);
    session.repo.commit_all("Delete");
    session.assert_kept("far", "deleted");
    // The local model goes on, until the profile of its name is the profile of another one.
    assert_eq!(session.send("near").code, Some(0));
    session.add_cloud("near");
    session.assert_kept("near", "a changed profile");
}

#[test]
fn a_person_drops_a_read_or_gives_one_reader_leave() {
    let session = ReadSession::new();
    let run = |args: &[&str]| session.cli.run(args).unwrap();
    let unasked = run(&["chat", "share", "work", "-p", "far"]);
    assert_eq!(unasked.code, Some(2), "{unasked}");
    session.assert_kept("far", "nobody consented");
    assert_eq!(run(&["chat", "fork", "work", "copy"]).code, Some(0));
    let shared = run(&["chat", "share", "work", "-p", "far", "--yes", "--json"]);
    assert_eq!(
        shared.json().unwrap()["texts"],
        json!(["private/plan.txt"]),
        "{shared}"
    );
    assert_eq!(session.send("far").code, Some(0));
    assert!(last_request(&session.server).to_string().contains("PLAN-SECRET"));
    session.add_cloud("another");
    session.assert_kept("another", "the leave is for one reader");

    let dropped = run(&["chat", "drop", "copy", "-p", "far"]);
    assert_eq!(dropped.code, Some(0), "{dropped}");
    let sent = run(&["chat", "send", "-c", "copy", "-p", "far", "Look."]);
    assert_eq!(sent.code, Some(0), "{sent}");
    assert!(!last_request(&session.server).to_string().contains("PLAN-SECRET"));
    let shown = run(&["chat", "show", "copy"]);
    assert!(
        shown.stdout.contains("I have read it."),
        "the record stays: {shown}"
    );
}
