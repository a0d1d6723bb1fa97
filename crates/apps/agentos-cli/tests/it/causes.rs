//! What brought a failure about: all of it for programs, and for people what its sentence does not say.

use agentos_testkit::redact::Redactor;
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::closed_port;

use crate::support::{SLOPPY_FIX, agentos, small_repo};

/// Runs a call twice and shows the failure as a program and as a person sees it. Of the causes it is the root, since a tool that
/// the kernel confines has one cause where one that is not has those of the transport above it.
fn shown(repo: &TestRepo, call: &[&str]) -> String {
    let cli = agentos().in_dir(repo.path());
    let json = cli.run(&[call, &["--json"]].concat()).unwrap().json().unwrap();
    let failure = json.get("error").unwrap_or(&json);
    let root = failure["causes"].as_array().and_then(|causes| causes.last());
    let person = cli.run(call).unwrap();
    let mut lines = person.stderr.lines().filter(|line| line.contains("caused by:"));
    let last = lines.next_back().unwrap_or("  (no cause is left to say)");
    format!(
        "{}\n  {}\n  {}\n{last}\n",
        call.join(" "),
        failure["message"],
        root.unwrap_or(&serde_json::Value::Null)
    )
}

#[test]
fn a_failure_keeps_its_causes_and_says_each_once() {
    let closed = closed_port().unwrap();
    let healthy = small_repo();
    write_file(&healthy.path().join("fix.md"), SLOPPY_FIX);
    let damaged = |file: &str| {
        let repo = small_repo();
        write_file(&repo.path().join("fix.md"), SLOPPY_FIX);
        write_file(&repo.path().join(".git").join(file), "[core\n");
        repo
    };
    let (config, index) = (damaged("config"), damaged("index"));
    let cases = [
        (&healthy, &["apply", "no-such-file"][..]),
        (
            &healthy,
            &["run", "-p", "ollama", "--base-url", &closed, "mend it"],
        ),
        (&config, &["apply", "fix.md"]),
        (&index, &["apply", "fix.md"]),
    ];
    let mut all = String::new();
    for (repo, call) in cases {
        let redactor = Redactor::new().unwrap().path(repo.path(), "[REPO]");
        all.push_str(&redactor.redact(&shown(repo, call)));
    }
    insta::assert_snapshot!(all, @r#"
    apply no-such-file
      "cannot read `no-such-file`: No such file or directory"
      "No such file or directory (os error 2)"
      (no cause is left to say)
    run -p ollama --base-url http://127.0.0.1:[PORT] mend it
      "`127.0.0.1:[PORT]` does not accept connections"
      "Connection refused (os error 111)"
      caused by: Connection refused
    apply fix.md
      "cannot open the repository: failed to parse config file: missing ']' in section header (in [REPO]/.git/config:1)"
      "failed to parse config file: missing ']' in section header (in [REPO]/.git/config:1); class=Config (7)"
      (no cause is left to say)
    apply fix.md
      "cannot read the index: the index file is truncated"
      "the index file is truncated"
      (no cause is left to say)
    "#);
}
