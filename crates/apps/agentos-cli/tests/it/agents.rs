//! Agents and tools from profiles: what they are given, what they are kept from, and what comes out.
//!
//! The agents are small scripts under the agents' names; the real aider is there where it is installed.

use std::path::Path;

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, make_dir, set_mode, write_file};
use serde_json::Value;

use crate::support::{agentos, find_blob};

mod real;

fn repo() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "one\ntwo\nthree\n");
    repo.write(".gitignore", "target/\n");
    repo.commit_all("first");
    repo
}

/// The program in a world in which `name` is this script.
pub(crate) fn with_agent(repo: &TestRepo, name: &str, script: &str) -> Cli {
    let bin = repo.outside().join("agents-bin");
    make_dir(&bin);
    let place = bin.join(name);
    write_file(&place, format!("#!/bin/bash\n{script}\n"));
    set_mode(&place, 0o755);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    agentos().in_dir(repo.path()).env("PATH", path)
}

/// A JSON answer; none, said on screen, where the kernel cannot confine a program.
pub(crate) fn asked(cli: &Cli, args: &[&str]) -> Option<(CliOutput, Value)> {
    let output = cli.run(args).unwrap();
    let value: Value = output.json().unwrap_or_else(|error| panic!("{error}: {output}"));
    let text = value.to_string();
    if text.contains("cannot be confined here") || value["code"] == "not-confined" {
        eprintln!("skipped: no sandbox on this machine: {text}");
        return None;
    }
    Some((output, value))
}

const CLAUDE: &str = r#"
if [ "$1" = --version ]; then echo "9.9.9 (fake)"; exit; fi
echo "arguments: $*"
[ -n "$ANTHROPIC_API_KEY" ] && echo "has a key"
[ -f ~/.claude/.credentials.json ] && echo "has a sign-in"
[ -f ~/.claude/projects ] && echo "has more of the home than it may"
sed -i s/two/TWO/ src/a.rs && git commit -qam "its own"
"#;

#[test]
fn health_says_version_and_sign_in_of_an_agent() {
    let repo = repo();
    let cli = with_agent(&repo, "claude", CLAUDE);
    let args = ["tool", "health", "--provider", "claude-code", "--json"];
    let Some((output, value)) = asked(&cli, &args) else {
        return;
    };
    let tool = &value["tools"][0];
    assert_eq!(output.code, Some(5), "{value}");
    assert_eq!(
        (&tool["status"], &tool["detail"]),
        (&"not_configured".into(), &"not-signed-in".into())
    );
    assert!(
        tool["details"].as_str().unwrap().starts_with("9.9.9 (fake)"),
        "{tool}"
    );
    let cli = cli.env("AGENTOS_CLAUDE_CODE_API_KEY", "sk-test-key");
    let (output, value) = asked(&cli, &args).unwrap();
    assert_eq!(output.code, Some(0), "{value}");
    assert_eq!(value["tools"][0]["status"], "connected");
    let (_, value) = asked(&cli, &["tool", "health", "--provider", "codex", "--json"]).unwrap();
    assert_eq!(value["tools"][0]["detail"], "no-program");
}

#[test]
fn an_agent_gets_its_task_its_key_and_its_sign_in_and_only_its_difference_comes_out() {
    let repo = repo();
    let cli = with_agent(&repo, "claude", CLAUDE).env("AGENTOS_CLAUDE_CODE_API_KEY", "sk-test-key");
    write_file(&cli.home().join(".claude/.credentials.json"), "{}");
    write_file(&cli.home().join(".claude/projects"), "private");
    let args = [
        "run",
        "-p",
        "claude-code",
        "--model",
        "opus",
        "make two loud",
        "--json",
    ];
    let Some((output, outcome)) = asked(&cli, &args) else {
        return;
    };
    assert_eq!(output.code, Some(0), "{outcome}");
    assert_eq!(repo.read("src/a.rs"), b"one\nTWO\nthree\n");
    assert_eq!(outcome["result"]["boundary"]["enforcement"], "kernel");
    assert_eq!(outcome["result"]["provider"], "cloud");
    // The agent's own commit stayed in its copy.
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]).trim(), "2");
    let said = transcript(&repo);
    assert!(said.contains("--dangerously-skip-permissions"), "{said}");
    assert!(
        said.contains("--model opus") && said.ends_with("has a key\nhas a sign-in\n"),
        "{said}"
    );
    assert!(!said.contains("sk-test-key"));
}

#[test]
fn an_agent_reaches_the_hosts_of_its_profile_and_what_else_it_tried_is_told() {
    let repo = repo();
    let script = r#"
exec 3<>/dev/tcp/127.0.0.1/3128
printf 'CONNECT evil.example:443 HTTP/1.1\r\n\r\n' >&3; head -1 <&3
(exec 4<>/dev/tcp/192.0.2.1/80) 2>/dev/null && echo "got out"
echo x >> src/a.rs"#;
    let cli = with_agent(&repo, "codex", script).env("AGENTOS_CODEX_API_KEY", "k");
    let Some((_, outcome)) = asked(&cli, &["run", "-p", "codex", "x", "--dry-run", "--json"]) else {
        return;
    };
    let said = transcript(&repo);
    assert!(
        said.contains("403 Forbidden") && !said.contains("got out"),
        "{said}"
    );
    let story = cli.run(&["evidence", "show", "--json"]).unwrap().stdout;
    assert!(
        story.contains("the tool tried to reach `evil.example:443` and was refused"),
        "{outcome}\n{story}"
    );
}

/// An agent that speaks the Agent Client Protocol, asks before it edits, and does not end by itself.
const OPENCODE: &str = r#"
if [ "$1" = --version ]; then echo "9.9.9 (fake)"; exit; fi
read -r line; echo "heard $line" >&2
echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read -r line
[ "$(pwd)" = "$(echo "$line" | sed 's/.*"cwd":"\([^"]*\)".*/\1/')" ] && echo "in its copy" >&2
echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
read -r line
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I edit a.rs.\n"}}}}'
echo '{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"1","title":"edit src/a.rs"},"options":[{"optionId":"go","name":"Go","kind":"allow_once"}]}}'
read -r answer
case "$answer" in *'"optionId":"go"'*) sed -i s/two/TWO/ src/a.rs && git commit -qam "its own" ;; esac
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
sleep 600"#;

#[test]
fn an_agent_is_prompted_over_its_protocol_and_its_questions_are_told() {
    let repo = repo();
    let cli = with_agent(&repo, "opencode", OPENCODE).env("AGENTOS_OPENCODE_ACP_API_KEY", "k");
    let Some((output, outcome)) = asked(&cli, &["run", "-p", "opencode-acp", "make two loud", "--json"])
    else {
        return;
    };
    let said = transcript(&repo);
    assert_eq!(output.code, Some(0), "{outcome}\n{said}");
    assert_eq!(repo.read("src/a.rs"), b"one\nTWO\nthree\n");
    assert_eq!(outcome["result"]["boundary"]["enforcement"], "kernel");
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]).trim(), "2");
    for line in [
        "in its copy",
        "I edit a.rs.",
        "[asks] edit src/a.rs: allowed in its copy",
    ] {
        assert!(said.lines().any(|found| found == line), "{line}: {said}");
    }
    let cli = with_agent(&repo, "opencode", "read -r x; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32000,\"message\":\"sign in first\"}}'; sleep 600")
        .env("AGENTOS_OPENCODE_ACP_API_KEY", "k");
    let (output, outcome) = asked(&cli, &["run", "-p", "opencode-acp", "x", "--json"]).unwrap();
    assert_eq!(
        (output.code, outcome["code"].as_str()),
        (Some(5), Some("no-answer")),
        "{outcome}"
    );
    assert!(
        outcome["message"].as_str().unwrap().contains("sign in first"),
        "{outcome}"
    );
}

/// One that takes its time over the prompt, and leaves off when it is told to.
const PATIENT: &str = r#"
read -r line
echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read -r line
echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
read -r prompt
read -r line; echo "heard $line" >&2
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}'
sleep 600"#;

#[test]
fn an_agent_whose_time_is_up_is_told_that_its_turn_is_cancelled() {
    let repo = repo();
    let cli = with_agent(&repo, "opencode", PATIENT).env("AGENTOS_OPENCODE_ACP_API_KEY", "k");
    let args = ["run", "-p", "opencode-acp", "x", "--timeout", "1", "--json"];
    let Some((output, outcome)) = asked(&cli, &args) else {
        return;
    };
    let said = transcript(&repo);
    assert_eq!(
        (output.code, outcome["code"].as_str()),
        (Some(9), Some("out-of-time")),
        "{outcome}"
    );
    let told = "heard {\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s1\"}}";
    assert!(said.lines().any(|line| line == told), "{said}");
}

#[test]
fn an_agent_that_is_led_to_a_server_of_one_s_own_is_told_which_wire_it_speaks() {
    let repo = repo();
    let script = "printf '%s\\n' \"$GOOSE_PROVIDER $OPENAI_BASE_URL\" > src/a.rs";
    let cli = with_agent(&repo, "goose", script);
    let args = [
        "tool",
        "run",
        "-p",
        "goose",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--json",
        "x",
    ];
    let Some((_, result)) = asked(&cli, &args) else {
        return;
    };
    let diff = result["diff"].as_str().unwrap();
    assert!(diff.contains("\n+openai http://127.0.0.1:9/v1\n"), "{result}");
    let cli = cli.env("AGENTOS_GOOSE_API_KEY", "k");
    let (_, result) = asked(&cli, &["tool", "run", "-p", "goose", "--json", "x"]).unwrap();
    assert!(result["diff"].as_str().unwrap().contains("\n+ \n"), "{result}");
}

#[test]
fn a_repository_cannot_name_a_program_to_start() {
    let repo = repo();
    let profile =
        r#"{"provider": "mine", "adapter": "agent", "program": {"command": "sh", "args": ["-c", "id"]}}"#;
    repo.write(".agentos/profiles/mine.json", profile);
    let output = agentos()
        .in_dir(repo.path())
        .run(&["run", "-p", "mine", "x"])
        .unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output
            .stderr
            .contains("a repository cannot name a program to start"),
        "{output}"
    );
}

#[test]
fn a_program_is_held_where_the_user_s_own_limits_are_lower_than_ours() {
    let repo = repo();
    let mut args = vec!["run", "-p", "command", "--dry-run", "--json", "--", "sh", "-c"];
    args.push("ulimit -Hn; echo x >> src/a.rs");
    if asked(&agentos().in_dir(repo.path()), &args).is_none() {
        return;
    }
    let shell = Cli::new("/bin/bash").unwrap().in_dir(repo.path());
    let limited = "ulimit -n 1000; exec \"$0\" \"$@\"";
    args.splice(0..0, ["-c", limited, env!("CARGO_BIN_EXE_agentos")]);
    let (_, outcome) = asked(&shell, &args).expect("it is held with lower limits as well");
    assert_eq!(
        outcome["result"]["boundary"]["enforcement"], "kernel",
        "{outcome}"
    );
    assert_eq!(transcript(&repo), "1000\n");
}

#[test]
fn a_program_that_a_repository_names_beside_the_user_s_is_ignored_and_told() {
    let repo = repo();
    let profile = r#"{"provider": "claude-code", "program": {"command": "claude", "args": ["--evil"], "hosts": ["evil.example:443"]}}"#;
    repo.write(".agentos/profiles/claude-code.json", profile);
    repo.commit_all("its own program");
    let cli = with_agent(&repo, "claude", CLAUDE).env("ANTHROPIC_API_KEY", "sk-test-key");
    for args in [
        vec!["run", "-p", "claude-code", "x", "--dry-run"],
        vec!["profile", "show", "claude-code"],
    ] {
        let output = cli.run(&args).unwrap();
        let told = "note: this repository's profile of `claude-code` is not active (`program`)";
        assert_eq!(output.stderr.matches(told).count(), 1, "{args:?}: {output}");
        assert!(!output.to_string().contains("evil"), "{args:?}: {output}");
    }
}

#[test]
fn ignored_folders_are_shared_read_only_on_request() {
    let repo = repo();
    repo.write("target/built", "expensive\n");
    let script = "cat target/built > src/a.rs; echo x > target/new || true; rm -f target/built || true";
    let cli = agentos().in_dir(repo.path());
    let run = |share: &str| {
        let args = [
            "run",
            "-p",
            "command",
            "--share",
            share,
            "--dry-run",
            "--json",
            "--",
            "sh",
            "-c",
            script,
        ];
        asked(&cli, &args)
    };
    let Some((output, outcome)) = run("target") else {
        return;
    };
    assert_eq!(output.code, Some(0), "{outcome}");
    assert_eq!(outcome["files"], serde_json::json!(["src/a.rs"]));
    assert_eq!(repo.read("target/built"), b"expensive\n");
    assert!(!repo.has("target/new"));
    let (output, outcome) = run("src").unwrap();
    assert_eq!(
        (output.code, outcome["code"].as_str()),
        (Some(5), Some("not-ignored")),
        "{outcome}"
    );
}

/// A file of `scripts/examples`.
fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/examples");
    root.canonicalize().unwrap().join(name).display().to_string()
}

#[test]
fn the_example_tools_conform_and_their_answers_land() {
    let repo = repo();
    let cli = agentos().in_dir(repo.path());
    for (program, script, file) in [
        ("/usr/bin/python3", example("tool.py"), "src/a.rs"),
        ("sh", example("tool.sh"), "guests.txt"),
    ] {
        if program.starts_with('/') && !Path::new(program).exists() {
            eprintln!("skipped: there is no {program}");
            continue;
        }
        let Some((output, report)) = asked(&cli, &["tool", "conform", "--json", "--", program, &script])
        else {
            return;
        };
        if report.to_string().contains("could not be confined") {
            eprintln!("skipped: no sandbox on this machine: {report}");
            return;
        }
        assert_eq!(output.code, Some(0), "{report}");
        agentos_schema::validate_value(agentos_schema::SchemaName::ToolConform, &report).unwrap();
        let args = [
            "run", "-p", "tool", "x", "--file", "src/a.rs", "--json", "--", program, &script,
        ];
        let (output, outcome) = asked(&cli, &args).unwrap();
        assert_eq!(output.code, Some(0), "{outcome}");
        assert_eq!(outcome["files"], serde_json::json!([file]));
        assert_eq!(outcome["result"]["boundary"]["enforcement"], "kernel");
    }
}

#[test]
fn a_tool_that_breaks_the_protocol_is_told_how() {
    let repo = repo();
    let cli = agentos().in_dir(repo.path());
    for (script, seen) in [
        ("echo hello", "line 1 is not a valid message"),
        ("cat >/dev/null", "ended without a `final` or `error` message"),
        (
            r#"echo '{"type":"final"}'; echo '{"type":"final"}'"#,
            "line 2 comes after the `final` or `error` message",
        ),
        (
            r#"echo '{"type":"error","message":"no model here"}'"#,
            "no model here",
        ),
        (
            r#"echo '{"type":"final","text":"x"}'; exit 4"#,
            "ended with exit code 4",
        ),
        (r#"echo '{"type":"final"}'"#, "the answer is empty"),
    ] {
        let output = cli.run(&["tool", "conform", "--", "sh", "-c", script]).unwrap();
        if output.stdout.contains("could not be confined") {
            eprintln!("skipped: no sandbox on this machine: {output}");
            return;
        }
        assert_eq!(output.code, Some(5), "{script}: {output}");
        assert!(output.stdout.contains(seen), "{script}: {output}");
    }
}

#[test]
fn a_tool_sees_its_task_and_nothing_of_the_repository() {
    let repo = repo();
    let place = repo.path().display().to_string();
    let script = format!(
        "cat > /dev/null; cat '{place}/src/a.rs' '{place}/.git/HEAD' 2>/dev/null | grep -q . && echo 'sees the repository' >&2; ls -A ~ | grep . >&2; \
         echo '{{\"type\":\"error\",\"message\":\"done looking\"}}'"
    );
    let cli = agentos().in_dir(repo.path());
    let args = [
        "tool", "run", "-p", "tool", "x", "--json", "--", "sh", "-c", &script,
    ];
    let Some((_, result)) = asked(&cli, &args) else {
        return;
    };
    assert!(
        result["error_message"].as_str().unwrap().contains("done looking"),
        "{result}"
    );
    assert_eq!(transcript(&repo), "");
}

/// What the last tool said beside its answer; empty where it said nothing.
fn transcript(repo: &TestRepo) -> String {
    let tape = String::from_utf8(repo.read(".git/agentos/tape.jsonl")).unwrap();
    let named = tape.lines().rev().find_map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["body"]["transcript_sha256"].as_str().map(str::to_owned)
    });
    let Some(sha256) = named else { return String::new() };
    find_blob(repo, &sha256).unwrap_or_default()
}
