//! `agentos mcp`: an agent reads and proposes over the protocol, a person decides, and nothing else writes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, read_file, write_file};
use serde_json::{Value, json};

use crate::support::{LIB_FIXED, SLOPPY_FIX, WORKFLOW_EDIT, agentos, small_repo};

/// A client that speaks the protocol line by line.
struct McpClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    calls: u64,
}

impl McpClient {
    fn start(cli: &Cli) -> Self {
        let mut child = cli
            .command(&["mcp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            calls: 0,
        }
    }

    /// Begins a session of the earlier era.
    fn begin(cli: &Cli, version: &str) -> Self {
        let mut client = Self::start(cli);
        let info = json!({ "name": "a\u{1b}[31mgent", "version": "1" });
        let begun = client.ask(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info }),
        );
        assert_eq!(begun["result"]["protocolVersion"], version);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        loop {
            let answer = self.receive();
            // A line that was no message is answered without an id.
            if !answer["id"].is_null() {
                assert_eq!(answer["id"], id);
                return answer;
            }
            assert!(answer.get("error").is_some(), "{answer}");
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["result"].take()
    }

    /// Ends the input, and returns the exit code and what else was written.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let mut rest = String::new();
        while self.output.read_line(&mut rest).unwrap() > 0 {}
        (self.child.wait().unwrap().code(), rest)
    }
}

fn in_repo() -> (TestRepo, Cli) {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    (repo, cli)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn propose(client: &mut McpClient, answer: &str) -> Value {
    client.call(
        "propose_change",
        json!({ "answer": answer, "message": "Make add add" }),
    )
}

#[test]
fn a_proposal_waits_and_a_person_lands_it_while_the_agent_goes_on() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (repo, cli) = in_repo();
        let mut client = McpClient::begin(&cli, version);
        let read = client.call("read_file", json!({ "path": "src/lib.rs" }));
        assert!(text(&read).contains("add"), "{read}");
        let proposed = propose(&mut client, SLOPPY_FIX);
        assert_eq!(proposed["structuredContent"]["state"], "waiting", "{proposed}");
        let id = proposed["structuredContent"]["proposal"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(
            (repo.status(), repo.git(&["rev-list", "--count", "--all"])),
            (String::new(), "1".to_owned())
        );
        let status = |client: &mut McpClient| {
            client.call("proposal_status", json!({ "proposal": id }))["structuredContent"].take()
        };
        assert_eq!(status(&mut client)["state"], "waiting");
        let approved = cli.run(&["approve", &id, "--yes"]).unwrap();
        assert_eq!(approved.code, Some(0), "{approved}");
        assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
        assert_eq!(status(&mut client)["state"], "landed");
        // The agent reads what landed, and the evidence of both runs is whole.
        let verified = client.call("verify_evidence", json!({}));
        assert_eq!(verified["structuredContent"]["ok"], true, "{verified}");
        assert_eq!(client.end(), (Some(0), String::new()), "{version}");
        let log = cli.run(&["log", "--json"]).unwrap().json().unwrap();
        let runs = log["runs"].as_array().unwrap();
        let asked = runs.iter().find(|run| run["run"] == id.as_str()).unwrap();
        // The name of the agent is a quoted text without control characters.
        assert_eq!(asked["provider"], "mcp");
        assert_eq!(asked["task"], "proposed by the agent `a[31mgent` over MCP");
    }
}

#[test]
fn an_agent_of_the_later_era_needs_no_session() {
    let (repo, cli) = in_repo();
    let mut client = McpClient::start(&cli);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "later", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask("server/discover", json!({ "_meta": meta }));
    assert!(
        found["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28")),
        "{found}"
    );
    let listed = client.ask("tools/list", json!({ "_meta": meta }));
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    let arguments = json!({ "answer": SLOPPY_FIX, "message": "Make add add" });
    let proposed = client.ask(
        "tools/call",
        json!({ "_meta": meta, "name": "propose_change", "arguments": arguments }),
    );
    assert_eq!(
        proposed["result"]["structuredContent"]["state"], "waiting",
        "{proposed}"
    );
    assert_eq!(repo.status(), "");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn the_tools_say_truly_what_they_do() {
    let (repo, cli) = in_repo();
    let mut client = McpClient::begin(&cli, "2025-11-25");
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let count = || {
        let tape = std::fs::read_to_string(repo.path().join(".git/agentos/tape.jsonl"));
        tape.map_or(0, |tape| tape.lines().count())
    };
    let mut proposal = String::new();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        // Claude Code calls it `mcp__agentos__NAME` and takes 128 characters; other clients take 64.
        assert!(format!("mcp__agentos__{name}").len() <= 64);
        let arguments = match name {
            "read_file" => json!({ "path": "src/lib.rs" }),
            "search" => json!({ "text": "add" }),
            "git_show" => json!({ "commit": repo.git(&["rev-parse", "HEAD"]) }),
            "explain_policy" => json!({ "path": "src/lib.rs" }),
            "propose_change" => json!({ "answer": SLOPPY_FIX, "message": "x" }),
            "proposal_status" | "proposal_withdraw" => json!({ "proposal": proposal }),
            "show_run" => json!({ "run": proposal }),
            _ => json!({}),
        };
        let before = count();
        let result = client.call(name, arguments);
        assert_eq!(result["isError"], false, "{name}: {result}");
        assert_eq!(
            count() == before,
            tool["annotations"]["readOnlyHint"] == true,
            "{name}"
        );
        // Every answer has the data that the tool promises, and no other.
        let promised = tool.get("outputSchema");
        assert_eq!(
            result.get("structuredContent").is_some(),
            promised.is_some(),
            "{name}"
        );
        if let Some(schema) = promised {
            let checked = agentos_schema::check_value(schema, &result["structuredContent"]);
            assert_eq!(checked, Ok(()), "{name}: {result}");
        }
        if name == "propose_change" {
            proposal = result["structuredContent"]["proposal"]
                .as_str()
                .unwrap()
                .to_owned();
        }
    }
    assert_eq!((repo.status(), tools.len()), (String::new(), 13));
}

#[test]
fn an_agent_gets_no_further_than_policy_lets_it() {
    let (repo, cli) = in_repo();
    repo.write("secret.env", "PASSWORD=hunter2hunter2\n");
    repo.commit_all("a secret");
    let rules = "version = 1\n[[rule]]\nid = \"no-env\"\neffect = \"deny\"\nwhy = \"secrets\"\naction = [\"read\"]\npaths = [\"secret.env\"]\n\
                 [[rule]]\nid = \"no-ci\"\neffect = \"deny\"\nwhy = \"CI\"\npaths = [\".github/**\"]\n";
    write_file(&cli.home().join(".config/agentos/policy/own.toml"), rules);
    let mut client = McpClient::begin(&cli, "2025-11-25");
    let long = "../".repeat(3000);
    let calls = [
        ("read_file", json!({ "path": "secret.env" })),
        ("read_file", json!({ "path": "../../../etc/passwd" })),
        ("read_file", json!({ "path": "/etc/passwd" })),
        ("read_file", json!({ "path": ".git/config" })),
        ("read_file", json!({ "path": long })),
        ("read_file", json!({ "path": 7 })),
        ("read_file", json!({ "path": "src/lib.rs", "more": true })),
        ("git_show", json!({ "commit": "HEAD; rm -rf ." })),
        ("show_run", json!({ "run": "../../x" })),
        ("proposal_status", json!({ "proposal": "00000000" })),
        ("proposal_withdraw", json!({ "proposal": "" })),
        ("explain_policy", json!({})),
    ];
    let refused = calls.map(|(tool, arguments)| {
        let result = client.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(!result.to_string().contains("hunter2"), "{result}");
        let code = result["_meta"]["agentos/code"].as_str().unwrap_or("none");
        let shown: String = arguments.to_string().chars().take(40).collect();
        format!("{code}: {tool} {shown}")
    });
    insta::assert_snapshot!(refused.join("\n"), @r#"
    usage: read_file {"path":"secret.env"}
    usage: read_file {"path":"../../../etc/passwd"}
    usage: read_file {"path":"/etc/passwd"}
    usage: read_file {"path":".git/config"}
    usage: read_file {"path":"../../../../../../../../../../.
    bad-arguments: read_file {"path":7}
    bad-arguments: read_file {"more":true,"path":"src/lib.rs"}
    bad-arguments: git_show {"commit":"HEAD; rm -rf ."}
    usage: show_run {"run":"../../x"}
    usage: proposal_status {"proposal":"00000000"}
    bad-arguments: proposal_withdraw {"proposal":""}
    usage: explain_policy {}
    "#);
    let found = client.call("search", json!({ "text": "hunter2" }));
    assert!(!text(&found).contains("PASSWORD"), "{found}");
    let denied = propose(&mut client, WORKFLOW_EDIT);
    assert_eq!(
        (&denied["isError"], &denied["structuredContent"]["state"]),
        (&json!(true), &json!("denied")),
        "{denied}"
    );
    assert_eq!(denied["_meta"]["agentos/code"], "protected-path", "{denied}");
    let inside_git = "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+touch /tmp/x\n";
    let refused = propose(&mut client, inside_git);
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]), "2");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn an_agent_takes_back_its_own_proposals_alone() {
    let (_repo, cli) = in_repo();
    let rules = "version = 1\n[[rule]]\nid = \"ask-all\"\neffect = \"ask\"\nwhy = \"all\"\naction = [\"modify\"]\npaths = [\"**\"]\n";
    write_file(&cli.home().join(".config/agentos/policy/own.toml"), rules);
    write_file(&cli.home().join("fix.patch"), SLOPPY_FIX);
    let patch = cli.home().join("fix.patch");
    let applied = cli.run(&["apply", patch.to_str().unwrap(), "--json"]).unwrap();
    assert_eq!(applied.code, Some(4), "{applied}");
    let of_person = applied.json().unwrap()["run"].as_str().unwrap().to_owned();
    let mut client = McpClient::begin(&cli, "2025-11-25");
    let own = propose(&mut client, SLOPPY_FIX)["structuredContent"]["proposal"].clone();
    let refused = client.call("proposal_withdraw", json!({ "proposal": of_person }));
    assert_eq!(refused["isError"], true, "{refused}");
    let withdrawn = client.call("proposal_withdraw", json!({ "proposal": own }));
    assert_eq!(
        withdrawn["structuredContent"]["state"], "withdrawn",
        "{withdrawn}"
    );
    let again = client.call("proposal_withdraw", json!({ "proposal": own }));
    assert_eq!(again["isError"], true, "{again}");
    // Nobody can land it any more, and the other request is open.
    let late = cli.run(&["approve", own.as_str().unwrap(), "--yes"]).unwrap();
    assert_ne!(late.code, Some(0), "{late}");
    let open = cli.run(&["approve", "--json"]).unwrap().json().unwrap();
    assert_eq!(
        (
            open["requests"].as_array().unwrap().len(),
            &open["requests"][0]["run"]
        ),
        (1, &json!(of_person))
    );
    let verified = cli.run(&["evidence", "verify"]).unwrap();
    assert_eq!(verified.code, Some(0), "{verified}");
    let replayed = cli.run(&["evidence", "replay"]).unwrap();
    assert_eq!(replayed.code, Some(0), "{replayed}");
}

#[test]
fn a_flood_of_proposals_is_limited_and_garbage_ends_nothing() {
    let (repo, cli) = in_repo();
    let mut client = McpClient::begin(&cli, "2025-11-25");
    for line in [
        "",
        "not json",
        "{\"jsonrpc\":\"2.0\"}",
        "[]",
        "\u{0}",
        &"[".repeat(100_000),
    ] {
        client.send(line);
    }
    assert!(client.ask("ping", json!({})).get("result").is_some());
    let mut states = Vec::new();
    for _ in 0..40 {
        states.push(propose(&mut client, SLOPPY_FIX));
    }
    let waiting = states
        .iter()
        .filter(|state| state["structuredContent"]["state"] == "waiting")
        .count();
    // Ten at once, and one more every half minute.
    assert!((10..20).contains(&waiting), "{waiting}");
    assert!(text(&states[39]).contains("limit"), "{}", states[39]);
    assert_eq!(repo.status(), "");
    // The input ends in the middle of a call.
    client.send(
        &json!({ "jsonrpc": "2.0", "id": 999, "method": "tools/call",
        "params": { "name": "verify_evidence", "arguments": {} } })
        .to_string(),
    );
    assert_eq!(client.end().0, Some(0));
    let verified = cli.run(&["evidence", "verify"]).unwrap();
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_call_in_another_form_is_refused_by_its_params() {
    let (_repo, cli) = in_repo();
    let mut client = McpClient::begin(&cli, "2025-11-25");
    let as_text = json!({ "name": "read_file", "arguments": "{\"path\":\"src/lib.rs\"}" });
    for (method, params, code) in [("tools/call", as_text, -32602), ("tools/none", json!({}), -32601)] {
        let answer = client.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
}

/// The file of the agent keeps every line, a copy stays next to it, and a second time changes nothing.
#[test]
fn the_settings_are_added_to_the_agents_file() {
    let (repo, cli) = in_repo();
    let file = repo.path().join(".mcp.json");
    let before = "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\" }\n  }\n}\n";
    write_file(&file, before);
    let install = ["mcp", "install", "--client", "claude-code", "--write"];
    let added = cli.run(&install).unwrap();
    assert_eq!(added.code, Some(0), "{added}");
    assert!(added.stdout.contains("+    \"agentos\": {"), "{added}");
    assert!(added.stderr.contains(".mcp.json.before-agentos"), "{added}");
    let after: Value = serde_json::from_slice(&read_file(&file)).unwrap();
    assert_eq!(after["mcpServers"]["x"]["command"], "y");
    assert_eq!(after["mcpServers"]["agentos"]["args"], json!(["mcp"]));
    let copy = repo.path().join(".mcp.json.before-agentos");
    assert_eq!(read_file(&copy), before.as_bytes());
    let again = cli.run(&install).unwrap();
    assert!(again.stderr.contains("has an entry `agentos` already"), "{again}");
    // What is not understood stays as it is.
    write_file(&file, "[]");
    let refused = cli.run(&install).unwrap();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert_eq!(read_file(&file), b"[]");
    // A file of the user's home, which does not exist yet.
    let made = cli
        .run(&["mcp", "install", "--client", "codex", "--write"])
        .unwrap();
    assert_eq!(made.code, Some(0), "{made}");
    let text = read_file(&cli.home().join(".codex/config.toml"));
    assert!(text.starts_with(b"[mcp_servers.agentos]"));
}

#[test]
fn a_call_that_wants_progress_gets_it_and_one_that_is_cancelled_is_not_answered() {
    let (_repo, cli) = in_repo();
    let mut client = McpClient::begin(&cli, "2025-11-25");
    let call = |id: u64, token: &str| {
        let params = json!({ "name": "list_files", "arguments": {}, "_meta": { "progressToken": token } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    client.send(&call(71, "mine"));
    let first = client.receive();
    assert_eq!(first["method"], "notifications/progress", "{first}");
    assert_eq!(first["params"]["progressToken"], "mine");
    assert_eq!(client.receive()["id"], 71);
    // Both are read before the call has an answer, or the answer comes first: it is never an answer to something else.
    client.send(&call(72, "other"));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 72, "reason": "x" } });
    client.send(&cancel.to_string());
    client.send(&json!({ "jsonrpc": "2.0", "id": 73, "method": "ping" }).to_string());
    loop {
        let next = client.receive();
        if next["id"] == 73 {
            break;
        }
        assert!(
            next["id"] == 72 || next["method"] == "notifications/progress",
            "{next}"
        );
    }
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn an_agent_is_not_served_without_a_repository_and_settings_are_printed() {
    let cli = agentos();
    let served = cli.run(&["mcp"]).unwrap();
    assert_eq!((served.code, served.stdout.as_str()), (Some(8), ""), "{served}");
    let printed = cli.run(&["mcp", "install", "--client", "codex"]).unwrap();
    insta::assert_snapshot!(format!("{}--- stderr\n{}", printed.stdout, printed.stderr), @r#"
    [mcp_servers.agentos]
    command = "agentos"
    args = ["mcp"]
    --- stderr
    add this to `~/.codex/config.toml`
    the agent can still write with its own tools: start it as `codex --sandbox read-only`, or set sandbox_mode = "read-only" in the same file
    "#);
    let as_json = cli
        .run(&["mcp", "install", "--client", "codex", "--json"])
        .unwrap();
    assert_eq!(as_json.code, Some(2), "{as_json}");
}
