//! A real agent against a real server, where both are installed.

use agentos_testkit::llama::{LlamaOptions, LlamaServer};

use super::{asked, repo, transcript};
use crate::support::agentos;

#[test]
fn aider_in_its_most_permissive_mode_gives_a_difference_and_nothing_else() {
    let Some(aider) = agentos_testkit::agents::aider() else {
        return;
    };
    // Not code: aider would look for faults in code and ask again.
    let answer = "fruit.txt\n```\napple\nCHERRY\n```\n";
    let server = LlamaServer::start(LlamaOptions {
        answer,
        model_args: &["--ctx", "32768"],
        ..LlamaOptions::default()
    });
    let Some(server) = server.unwrap() else { return };
    let repo = repo();
    repo.write("fruit.txt", "apple\nbanana\n");
    repo.commit_all("fruit");
    let path = format!("{}:/usr/bin:/bin", aider.parent().unwrap().display());
    let cli = agentos().in_dir(repo.path()).env("PATH", path);
    let url = format!("{}/v1", server.url());
    let model = "openai/tiny-coder";
    let args = [
        "run",
        "-p",
        "aider",
        "--base-url",
        &url,
        "--model",
        model,
        "replace the banana by a loud cherry",
        "--file",
        "fruit.txt",
        "--json",
    ];
    let Some((output, outcome)) = asked(&cli, &args) else {
        return;
    };
    let said = transcript(&repo);
    assert_eq!(output.code, Some(0), "{outcome}\n{said}");
    assert_eq!(outcome["files"], serde_json::json!(["fruit.txt"]));
    assert_eq!(repo.read("fruit.txt"), b"apple\nCHERRY\n");
    assert_eq!(outcome["result"]["provider"], "local");
    // Aider commits what it does. Its commit is in its transcript, and not in the repository.
    assert!(said.contains("Commit "), "{said}");
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]).trim(), "3");
    assert!(repo.git(&["log", "-1", "--format=%b"]).contains("AgentOS-Run"));
    assert_eq!(repo.status(), "");
}
