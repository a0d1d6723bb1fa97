//! Files that policy withholds from a model: their text does not leave by a change that copies it.

use agentos_testkit::cli::CliOutput;
use agentos_testkit::repo::TestRepo;

use crate::support::{agentos, chat_server, small_repo};

const POLICY: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
                      paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n";
const PROFILE: &str = r#"{ "provider": "far", "name": "far", "adapter": "openai", "base_url": "URL/v1", "model": "m", "capabilities": { "execution_mode": "cloud" } }"#;
const COPY: &str = "diff --git a/private/plan.txt b/docs/notes.md\nsimilarity index 100%\ncopy from private/plan.txt\ncopy to docs/notes.md\n";

fn repository(url: &str) -> TestRepo {
    let repo = small_repo();
    repo.write("private/plan.txt", "We buy the company Example in May.\n");
    repo.write(".agentos/policy/ours.toml", POLICY);
    repo.write(".agentos/profiles/far.json", PROFILE.replace("URL", url));
    repo.commit_all("Begin");
    repo
}

/// Returns the first line of what a person is told by a command.
fn told(output: &CliOutput) -> (Option<i32>, String) {
    (output.code, output.to_string())
}

#[test]
fn a_withheld_file_does_not_leave_by_a_copy() {
    for (release, is_sent) in [
        (&["--yes"][..], false),
        (&["--yes", "--release-withheld"][..], true),
    ] {
        let server = chat_server(COPY, || {});
        let repo = repository(&server.url());
        let cli = agentos().in_dir(repo.path());
        let (code, text) = told(&cli.run(&["run", "-p", "far", "tidy the docs"]).unwrap());
        assert_eq!(code, Some(4), "{text}");
        assert!(
            text.contains("takes lines of `private/plan.txt`, which policy withholds from `far`"),
            "{text}"
        );
        assert!(!repo.path().join("docs/notes.md").exists());
        let listed = cli.run(&["approve", "--list", "--json"]).unwrap().json().unwrap();
        let run = listed["requests"][0]["run"].as_str().unwrap().to_owned();
        let approve = [&["approve", run.as_str()][..], release].concat();
        let (code, text) = told(&cli.run(&approve).unwrap());
        assert_eq!(code, Some(0), "{text}");
        // The copy has the readers of the file, unless the person released it.
        let (_, text) = told(
            &cli.run(&["run", "-p", "far", "-f", "docs/notes.md", "tidy again"])
                .unwrap(),
        );
        let sent = server
            .requests()
            .iter()
            .any(|request| String::from_utf8_lossy(&request.body).contains("We buy the company"));
        assert_eq!(sent, is_sent, "{text}");
        let replayed = cli.run(&["evidence", "replay"]).unwrap();
        assert_eq!(replayed.code, Some(0), "{replayed}");
    }
}
