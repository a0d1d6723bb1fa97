//! The first hour: `agentos` without a verb, `init` and `doctor`.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::TestRepo;
use agentos_testkit::server::closed_port;
use serde_json::Value;

use crate::support::{
    SLOPPY_FIX, WORKFLOW_EDIT, agentos, chat_server, pipe_in, run_in, seen, small_repo, state,
};

fn document(output: &CliOutput, schema: SchemaName) -> Value {
    let value = output.json().unwrap();
    if let Err(violations) = validate_value(schema, &value) {
        panic!("does not follow `{schema}`: {violations:#?}\n{value:#}");
    }
    value
}

/// With a key in a file, so that no keyring of the machine has a say.
fn keyed(repo: &TestRepo) -> Cli {
    crate::support::signing(repo)
}

#[test]
fn without_a_verb_it_says_where_you_are_and_what_comes_next() {
    let repo = small_repo();
    insta::assert_snapshot!(seen(&run_in(&repo, &[]), &repo), @r"
    exit: 0
    --- stdout
    repository  [REPO]
    branch      main at [ID]
    policy      35 rules; preset `default`
    providers   none is set up; `agentos tool health` checks all known providers

    next
      agentos init             begin with a policy
      agentos tool health      see which providers answer
      agentos apply fix.patch  land a diff, or a model's whole reply
    --- stderr
    ");
    // Looking leaves nothing behind.
    assert!(!repo.path().join(".git/agentos").exists());
    pipe_in(&repo, &["apply"], SLOPPY_FIX);
    pipe_in(&repo, &["apply"], WORKFLOW_EDIT);
    let report = document(&run_in(&repo, &["--json"]), SchemaName::Status);
    assert_eq!(report["repository"]["branch"], "main");
    assert_eq!(report["last_run"]["code"], "protected-path");
    assert_eq!(report["waiting"], 1);
    assert_eq!(report["next"][0]["command"], "agentos approve");
}

#[test]
fn a_repository_that_cannot_take_a_change_says_so_first() {
    let repo = small_repo();
    repo.git(&["checkout", "--quiet", "--detach"]);
    let report = document(&run_in(&repo, &["--json"]), SchemaName::Status);
    assert_eq!(report["repository"]["branch"], Value::Null);
    assert_eq!(report["repository"]["obstacle"]["code"], "detached-head");
    assert_eq!(report["next"][0]["command"], "agentos doctor");
    // A run that could not begin has left no verb: none is made up.
    pipe_in(&repo, &["apply"], SLOPPY_FIX);
    let shown = run_in(&repo, &[]).stdout;
    let last = shown.lines().find(|line| line.starts_with("last run")).unwrap();
    assert!(
        last.ends_with(": refused detached-head") && !last.contains("run,") && !last.contains("apply"),
        "{last}"
    );

    let killed = small_repo();
    let cli = agentos().in_dir(killed.path());
    let (output, place) = cli.kill_at(3, &["apply", "-"], SLOPPY_FIX.as_bytes()).unwrap();
    assert!(output.code.is_none() && place.is_some(), "{output}");
    let before = state(&killed);
    let report = document(&run_in(&killed, &["--json"]), SchemaName::Status);
    assert!(report["repository"]["unfinished"].is_string(), "{report:#}");
    assert_eq!(report["next"][0]["command"], "agentos recover");
    assert_eq!(state(&killed), before, "looking recovers nothing");
}

#[test]
fn keys_in_the_environment_are_named_and_never_shown() {
    let repo = small_repo();
    let cli = agentos()
        .in_dir(repo.path())
        .env("ANTHROPIC_API_KEY", "sk-ant-very-secret");
    for args in [
        &["--json"][..],
        &[],
        &["init", "--offline"],
        &["doctor", "--offline"],
    ] {
        let output = cli.run(args).unwrap();
        assert!(!output.to_string().contains("very-secret"), "{args:?}: {output}");
    }
    let report = document(&cli.run(&["--json"]).unwrap(), SchemaName::Status);
    assert_eq!(
        report["providers"][0]["known_from"],
        "environment ANTHROPIC_API_KEY"
    );
}

#[test]
fn the_default_provider_is_set_up_also_while_its_server_is_down() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path()).env("AGENTOS_PROVIDER", "llamacpp");
    let report = document(&cli.run(&["--json"]).unwrap(), SchemaName::Status);
    assert_eq!(report["providers"][0]["provider"], "llamacpp");
    assert_eq!(report["providers"][0]["known_from"], "the default provider");
    let cli = without_servers(cli, &[]);
    let health = document(
        &cli.run(&["tool", "health", "--json"]).unwrap(),
        SchemaName::ToolHealth,
    );
    let absent = health["not_set_up"].as_array().unwrap();
    assert!(absent.contains(&"openai".into()), "{health}");
    assert!(!absent.contains(&"llamacpp".into()), "{health}");
}

#[test]
fn outside_a_repository_it_is_the_short_help() {
    let output = agentos().run(&[]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("Usage: agentos"), "{output}");
    let report = document(&agentos().run(&["--json"]).unwrap(), SchemaName::Status);
    assert_eq!(report["repository"], Value::Null);
    // Who names a folder has said that there is a repository.
    let output = agentos().run(&["--repo", "."]).unwrap();
    assert_eq!(output.code, Some(8), "{output}");
}

#[test]
fn the_doctor_finds_nothing_wrong_in_a_healthy_repository() {
    let repo = small_repo();
    let cli = keyed(&repo);
    cli.run_with_input(&["apply"], SLOPPY_FIX.as_bytes()).unwrap();
    let output = cli.run(&["doctor", "--offline", "--json"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let report = document(&output, SchemaName::Doctor);
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<&str> = checks
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "repository",
            "landing",
            "branch",
            "identity",
            "commit signing",
            "policy",
            "evidence folder",
            "disk",
            "clock",
            "evidence",
            "keyring",
            "evidence key",
            "sandbox",
            "profiles",
            "settings",
            "providers"
        ]
    );
    // The machine decides these three.
    for check in checks.iter().filter(|check| {
        !["disk", "keyring", "sandbox", "providers"].contains(&check["name"].as_str().unwrap())
    }) {
        assert_eq!(check["status"], "ok", "{check:#}");
    }
}

#[test]
fn the_doctor_names_each_fault_with_its_fix_and_ends_with_its_code() {
    type Spoil = fn(&TestRepo);
    let cases: &[(&str, &str, i32, Spoil)] = &[
        ("branch", "detached-head", 8, |repo| {
            repo.git(&["checkout", "--quiet", "--detach"]);
        }),
        ("branch", "merge-in-progress", 8, |repo| {
            let head = repo.git(&["rev-parse", "HEAD"]);
            repo.write(".git/MERGE_HEAD", format!("{}\n", head.trim()));
        }),
        ("policy", "policy-error", 3, |repo| {
            repo.write(
                ".agentos/policy/own.toml",
                "version = 1\n[[rule]]\nid = \"x\"\nefect = \"deny\"\n",
            );
            repo.commit_all("rules");
        }),
        ("evidence", "evidence-broken", 7, |repo| {
            let tape = repo.read(".git/agentos/tape.jsonl");
            let text = String::from_utf8(tape)
                .unwrap()
                .replacen("\"apply\"", "\"appyl\"", 1);
            repo.write(".git/agentos/tape.jsonl", &text);
        }),
        ("profiles", "bad-profile", 2, |repo| {
            repo.write(
                ".agentos/profiles/openai.json",
                "{ \"provider\": \"openai\", \"modl\": \"x\" }",
            );
        }),
    ];
    for (name, code, exit, spoil) in cases {
        let repo = small_repo();
        let cli = keyed(&repo);
        cli.run_with_input(&["apply"], SLOPPY_FIX.as_bytes()).unwrap();
        spoil(&repo);
        let output = cli.run(&["doctor", "--offline", "--json"]).unwrap();
        let report = document(&output, SchemaName::Doctor);
        let checks = report["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["status"] == "wrong");
        let found = found.unwrap_or_else(|| panic!("{name}: nothing is wrong: {report:#}"));
        assert_eq!(
            (&found["name"], &found["code"]),
            (&Value::from(*name), &Value::from(*code)),
            "{found:#}"
        );
        assert!(found["fix"].is_string(), "{found:#}");
        assert_eq!(output.code, Some(*exit), "{name}: {output}");
    }
}

#[test]
fn without_an_identity_the_doctor_says_how_to_set_one() {
    let repo = small_repo();
    for name in ["user.name", "user.email"] {
        repo.git(&["config", "--unset-all", name]);
    }
    let cli = agentos().without_identity().unwrap().in_dir(repo.path());
    let output = cli.run(&["doctor", "--offline"]).unwrap();
    assert_eq!(output.code, Some(8), "{output}");
    assert!(output.stdout.contains("[no-identity]"), "{output}");
    assert!(output.stdout.contains("git config user.name"), "{output}");
}

#[test]
fn the_doctor_works_outside_a_repository() {
    let output = agentos().run(&["doctor", "--offline"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("not in a git repository"), "{output}");
    assert_eq!(
        agentos()
            .run(&["doctor", "--repo", ".", "--offline"])
            .unwrap()
            .code,
        Some(8)
    );
}

#[test]
fn init_proposes_what_it_finds_and_writes_when_told_to() {
    let repo = small_repo();
    let server = chat_server("ok", || {});
    let cli = agentos()
        .in_dir(repo.path())
        .env("AGENTOS_VLLM_BASE_URL", format!("{}/v1", server.url()))
        .env("GEMINI_API_KEY", "not-for-eyes");
    let cli = without_servers(cli, &["vllm"]);
    let before = state(&repo);
    // Nobody can be asked here: it is shown and not written.
    let output = cli.run(&["init", "--json"]).unwrap();
    assert_eq!(output.code, Some(4), "{output}");
    assert_eq!(state(&repo), before);
    let report = document(&output, SchemaName::Init);
    assert_eq!(report["servers"][0]["provider"], "vllm");
    assert_eq!(report["keys"][0]["variable"], "GEMINI_API_KEY");
    assert_eq!(report["files"][0]["path"], ".agentos/policy/team.toml");
    assert_eq!(report["files"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["provider"], "vllm/tiny-coder");

    let output = cli.run(&["init", "--yes", "--json"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let report = document(&output, SchemaName::Init);
    assert_eq!(report["outcome"]["outcome"], "landed");
    assert_eq!(
        repo.git(&["rev-parse", "HEAD"]),
        before[0],
        "nothing is committed"
    );
    assert!(!repo.has(".agentos/profiles/vllm.json"));

    // What is there stays, whether it is committed or not.
    repo.write(".agentos/policy/team.toml", "# mine\n");
    for args in [
        &["init", "--yes", "--offline", "--provider", "vllm"][..],
        &["init", "--offline", "--yes"],
    ] {
        let output = cli.run(args).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(repo.read(".agentos/policy/team.toml"), b"# mine\n");
    }
}

#[test]
fn init_takes_the_provider_and_the_preset_that_are_named() {
    let repo = small_repo();
    let output = run_in(
        &repo,
        &[
            "init",
            "--offline",
            "--provider",
            "ollama",
            "--preset",
            "strict",
            "--print",
        ],
    );
    // How long the preset is, is not what this is about.
    let text = seen(&output, &repo);
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("more lines")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    exit: 0
    --- stdout
    found       no local server that answers, and no key in the environment
    new file    .agentos/policy/strict.toml
                +# Strict: small edits of sources, documents and tests. A cloud model's change always needs a person; what runs by
                +# itself or rules the tools is changed by hand.
                +version = 1
                +# This file stands alone; beside it only the built-in floor is in force.
                +preset = "none"
                +
                +[[rule]]
                +id = "strict.edit"
                +effect = "allow"
                +why = "ordinary files may be edited, up to 400 lines each"
                +action = ["create", "modify", "rename"]
    --- stderr
    "#);
    let output = run_in(&repo, &["init", "--offline", "--provider", "olama"]);
    assert_eq!(output.code, Some(2), "{output}");
}

/// The program in a world where no local server answers, except the named ones: on a developer's machine, real servers
/// may run on their usual ports.
fn without_servers(cli: Cli, except: &[&str]) -> Cli {
    let closed = closed_port().unwrap();
    ["llamacpp", "lmstudio", "ollama", "vllm"]
        .into_iter()
        .filter(|name| !except.contains(name))
        .fold(cli, |cli, name| {
            cli.env(format!("AGENTOS_{}_BASE_URL", name.to_uppercase()), &closed)
        })
}
