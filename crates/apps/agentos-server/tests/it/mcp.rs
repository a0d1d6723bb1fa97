//! Agents over HTTP: both eras of the protocol, and what an agent cannot do with its token.

use agentos_testkit::http::RawAnswer;
use agentos_testkit::repo::TestRepo;
use serde_json::{Value, json};

use crate::support::{FIX, LIB, Sent, Service, hidden};

/// Version of the protocol in which a message stands alone.
const ALONE: &str = "2026-07-28";

impl Service {
    /// Sends a message of an agent, with further headers.
    fn send_agent(&self, method: &str, headers: &[(&str, &str)], body: &str) -> RawAnswer {
        let mut all = vec![
            ("Authorization", format!("Bearer {}", self.agent_token)),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        if method == "POST" {
            all.push(("Content-Type", "application/json".to_owned()));
        }
        all.extend(headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        self.send(&Sent {
            method,
            path: "/mcp",
            headers: all,
            body: body.to_owned(),
            ..Sent::default()
        })
    }

    /// Calls a tool with a message that stands alone.
    fn call_alone(&self, tool: &str, arguments: &Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": ALONE,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let body = message(7, "tools/call", &params);
        let headers = [
            ("Mcp-Protocol-Version", ALONE),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        read_result(&self.send_agent("POST", &headers, &body))
    }

    /// Begins a session, and returns its name.
    fn begin_session(&self) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let begun = self.send_agent("POST", &[], &message(0, "initialize", &params));
        assert_eq!(begun.status, 200, "{}", begun.body);
        let session = begun.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let ready = self.send_agent("POST", &[("Mcp-Session-Id", &session)], &ready.to_string());
        assert_eq!(ready.status, 202, "{}", ready.body);
        session
    }
}

fn message(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Reads the result of an answer, which is one document or the last event of a stream.
fn read_result(answer: &RawAnswer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let lines = answer
        .body
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let found = messages.find(|message| message.get("result").is_some());
    found.unwrap_or_else(|| panic!("{}", answer.body))["result"].clone()
}

#[test]
fn a_session_proposes_and_a_person_approves_later() {
    let service = Service::start();
    let session = service.begin_session();
    let named = [
        ("Mcp-Session-Id", session.as_str()),
        ("Mcp-Protocol-Version", "2025-11-25"),
    ];
    let listed = service.send_agent("POST", &named, &message(1, "tools/list", &json!({})));
    assert_eq!(read_result(&listed)["tools"].as_array().unwrap().len(), 13);
    let params =
        json!({ "name": "propose_change", "arguments": { "answer": FIX, "message": "Make add add" } });
    let proposed = read_result(&service.send_agent("POST", &named, &message(2, "tools/call", &params)));
    assert_eq!(proposed["structuredContent"]["state"], "waiting", "{proposed}");
    assert_eq!(service.read("src/lib.rs"), LIB);
    let ended = service.send_agent("DELETE", &named, "");
    assert!(
        ended.status == 200 || ended.status == 202 || ended.status == 204,
        "{}",
        ended.status
    );
    assert_eq!(
        service
            .send_agent("POST", &named, &message(3, "ping", &json!({})))
            .status,
        404
    );

    let run = proposed["structuredContent"]["proposal"].as_str().unwrap();
    let review = service.call("GET", &format!("/api/requests/{run}"), "");
    let review: Value = serde_json::from_str(&review.body).unwrap();
    let consent = json!({ "hashes": review["hashes"] }).to_string();
    let landed = service.call("POST", &format!("/api/requests/{run}/approve"), &consent);
    assert_eq!(landed.status, 200, "{}", landed.body);
    assert!(service.read("src/lib.rs").contains("a + b"));
    let state = service.call_alone("proposal_status", &json!({ "proposal": run }));
    assert_eq!(state["structuredContent"]["state"], "landed", "{state}");
}

#[test]
fn whoever_approves_withheld_text_keeps_it_withheld_or_releases_it() {
    const POLICY: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\n\
                          action = [\"read\"]\npaths = [\"private/**\"]\nexecution_mode = \"cloud\"\n";
    const LINE: &str = "We buy the company Example in May.";
    let answer = format!("--- /dev/null\n+++ b/docs/notes.md\n@@ -0,0 +1 @@\n+{LINE}\n");
    let keeps_on_page: &[(&str, &str)] = &[];
    let releases_on_page: &[(&str, &str)] = &[("withheld", "release")];
    for (form, body, is_released) in [
        (Some(keeps_on_page), json!({}), false),
        (Some(releases_on_page), json!({}), true),
        (None, json!({}), false),
        (None, json!({ "releases_withheld": false }), false),
        (None, json!({ "releases_withheld": true }), true),
    ] {
        let repo = TestRepo::new();
        repo.write("private/plan.txt", format!("{LINE}\n"));
        repo.write(".agentos/policy/ours.toml", POLICY);
        repo.commit_all("begin");
        let service = Service::start_in(repo);
        let proposed = service.call_alone("propose_change", &json!({ "answer": answer, "message": "Notes" }));
        let run = proposed["structuredContent"]["proposal"].as_str().unwrap();
        assert!(!proposed.to_string().contains("private/plan.txt"), "{proposed}");
        let place = format!("/requests/{run}");
        if let Some(choice) = form {
            let person = service.sign_in();
            let page = service.get(&place, &person.cookie).body;
            for part in [
                "Approve, keep withheld",
                "Approve and release",
                "private/plan.txt",
            ] {
                assert!(page.contains(part), "{part}: {page}");
            }
            let seen = hidden(&page, "seen");
            let fields = [&[("form", person.form.as_str()), ("seen", &seen)], choice].concat();
            let landed = service.post_form(&format!("{place}/approve"), &person.cookie, &fields);
            assert_eq!(landed.status, 303, "{}", landed.body);
        } else {
            let review = service.call("GET", &format!("/api{place}"), "");
            let review: Value = serde_json::from_str(&review.body).unwrap();
            let mut consent = body.clone();
            consent["hashes"] = review["hashes"].clone();
            let landed = service.call("POST", &format!("/api{place}/approve"), &consent.to_string());
            assert_eq!(landed.status, 200, "{}", landed.body);
        }
        assert_eq!(service.read("docs/notes.md"), format!("{LINE}\n"));
        let read = service.call_alone("read_file", &json!({ "path": "docs/notes.md" }));
        assert_eq!(read.to_string().contains(LINE), is_released, "{read}");
    }
}

#[test]
fn an_agent_reads_why_its_change_was_declined() {
    let service = Service::start();
    let proposed = service.call_alone("propose_change", &json!({ "answer": FIX, "message": "Fix add" }));
    let run = proposed["structuredContent"]["proposal"].as_str().unwrap();
    let denied = service.call(
        "POST",
        &format!("/api/requests/{run}/deny"),
        "{\"comment\": \"Use checked_add.\"}",
    );
    assert_eq!(denied.status, 200, "{}", denied.body);
    let state = service.call_alone("proposal_status", &json!({ "proposal": run }));
    assert_eq!(state["structuredContent"]["state"], "declined", "{state}");
    assert_eq!(
        state["structuredContent"]["message"],
        "The user declined the change."
    );
    assert_eq!(state["structuredContent"]["comment"], "Use checked_add.");
    assert_eq!(state["structuredContent"]["code"], "declined");
    let text = state["content"][0]["text"].as_str().unwrap();
    assert!(
        text.ends_with("Files: src/lib.rs.\nThe user's comment: Use checked_add."),
        "{text}"
    );
}

#[test]
fn a_message_alone_needs_no_session() {
    let service = Service::start();
    let read = service.call_alone("read_file", &json!({ "path": "src/lib.rs" }));
    assert!(
        read["content"][0]["text"].as_str().unwrap().contains("a - b"),
        "{read}"
    );
    let proposed = service.call_alone(
        "propose_change",
        &json!({ "answer": FIX, "message": "Make add add" }),
    );
    assert_eq!(proposed["structuredContent"]["state"], "waiting", "{proposed}");
    assert_eq!(service.read("src/lib.rs"), LIB);
}

#[test]
fn a_page_of_another_site_cannot_speak_for_an_agent() {
    let service = Service::start();
    let person = service.sign_in();
    let begin = message(0, "initialize", &json!({}));
    let json = ("Content-Type", "application/json".to_owned());
    let bearer = ("Authorization", format!("Bearer {}", service.agent_token));
    let cookie = ("Cookie", format!("agentos-session={}", person.cookie));
    let port = service.address.split_once(':').unwrap().1;
    let rebound = format!("evil.example:{port}");
    let foreign = ("Origin", "http://evil.example".to_owned());
    let cases = [
        ("no token", None, vec![json.clone()], 401),
        ("a cookie", None, vec![json.clone(), cookie], 401),
        (
            "another token",
            None,
            vec![json.clone(), ("Authorization", "Bearer x".to_owned())],
            401,
        ),
        (
            "rebinding",
            Some(rebound.as_str()),
            vec![json.clone(), bearer.clone()],
            421,
        ),
        ("another origin", None, vec![json, bearer.clone(), foreign], 403),
        (
            "a form",
            None,
            vec![bearer, ("Content-Type", "text/plain".to_owned())],
            415,
        ),
    ];
    for (name, host, headers, status) in cases {
        let answer = service.send(&Sent {
            method: "POST",
            path: "/mcp",
            host,
            headers,
            body: begin.clone(),
        });
        assert_eq!(answer.status, status, "{name}: {}", answer.body);
    }
}
