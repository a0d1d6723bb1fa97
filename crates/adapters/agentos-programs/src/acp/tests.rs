//! A conversation, message by message.

use std::sync::mpsc::{Receiver, channel};

use super::*;

struct Talk {
    client: AcpClient,
    heard: Receiver<Vec<u8>>,
    told: String,
}

impl Talk {
    fn begin() -> Self {
        let (say, heard) = channel();
        Self {
            client: AcpClient::start_conversation(Path::new("/copy"), "fix it", say),
            heard,
            told: String::new(),
        }
    }

    /// What the client says next.
    fn hears(&self) -> Value {
        let line = self.heard.try_recv().expect("a message");
        assert_eq!(line.last(), Some(&b'\n'));
        serde_json::from_slice(&line).unwrap()
    }

    fn says(&mut self, message: &Value) -> &mut Self {
        let told = &mut self.told;
        let mut take = |progress| match progress {
            Progress::Transcript(text) | Progress::Text(text) | Progress::Note(text) => told.push_str(&text),
            Progress::Read(read) => told.push_str(&read.path),
            Progress::Called(call) => told.push_str(&call.name),
            Progress::Viewed(view) => told.push_str(&view.commit),
        };
        self.client
            .read_output(format!("{message}\n").as_bytes(), &mut take);
        self
    }

    /// Through `initialize` and `session/new`, to the prompt.
    fn prompted() -> Self {
        let mut talk = Self::begin();
        talk.hears();
        talk.says(&json!({ "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": 1 } }));
        talk.hears();
        talk.says(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "sessionId": "s" } }));
        talk
    }
}

#[test]
fn a_session_is_started_in_the_copy_prompted_once_and_over_with_the_turn() {
    let mut talk = Talk::begin();
    let first = talk.hears();
    assert_eq!(
        (&first["method"], &first["params"]["protocolVersion"]),
        (&json!("initialize"), &json!(1))
    );
    assert_eq!(
        first["params"]["clientCapabilities"]["fs"]["writeTextFile"],
        false
    );
    talk.says(
        &json!({ "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": 1, "agentCapabilities": {} } }),
    );
    let second = talk.hears();
    assert_eq!(second["method"], "session/new");
    assert_eq!(second["params"], json!({ "cwd": "/copy", "mcpServers": [] }));
    talk.says(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "sessionId": "s1" } }));
    let third = talk.hears();
    assert_eq!(third["method"], "session/prompt");
    assert_eq!(
        third["params"],
        json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "fix it" }] })
    );
    let update = |update: Value| json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1", "update": update } });
    talk.says(&update(
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "I edit." } }),
    ));
    talk.says(&update(
        json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "edit a.rs" }),
    ));
    assert!(!talk.client.is_over());
    talk.says(&json!({ "jsonrpc": "2.0", "id": 2, "result": { "stopReason": "end_turn" } }));
    assert!(talk.client.is_over());
    assert_eq!(talk.told, "I edit.\n[does] edit a.rs\n");
    assert!(matches!(
        talk.heard.try_recv(),
        Err(std::sync::mpsc::TryRecvError::Disconnected)
    ));
    assert_eq!(talk.client.finish_turn(), Ok(FinishReason::Stop));
}

#[test]
fn permission_is_given_once_for_the_copy_and_nothing_else_is_offered() {
    let mut talk = Talk::prompted();
    talk.hears();
    let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
    for (options, answer, word) in [
        (
            json!([
                option("no", "reject_once"),
                option("always", "allow_always"),
                option("yes", "allow_once")
            ]),
            json!({ "outcome": "selected", "optionId": "yes" }),
            "allowed",
        ),
        (
            json!([option("always", "allow_always")]),
            json!({ "outcome": "selected", "optionId": "always" }),
            "allowed",
        ),
        (
            json!([option("no", "reject_once")]),
            json!({ "outcome": "cancelled" }),
            "not allowed",
        ),
    ] {
        talk.told.clear();
        let params = json!({ "sessionId": "s", "toolCall": { "title": "rm\n-rf /" }, "options": options });
        talk.says(
            &json!({ "jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": params }),
        );
        assert_eq!(
            talk.hears(),
            json!({ "jsonrpc": "2.0", "id": "q", "result": { "outcome": answer } })
        );
        assert_eq!(talk.told, format!("[asks] rm -rf /: {word} in its copy\n"));
    }
    let params = json!({ "sessionId": "s", "path": "/etc/passwd" });
    talk.says(&json!({ "jsonrpc": "2.0", "id": 7, "method": "fs/read_text_file", "params": params }));
    assert_eq!(talk.hears()["error"]["code"], NO_SUCH_METHOD);
}

#[test]
fn every_other_end_says_why() {
    let said = |why: &str| Err(NoAnswer::Said(why.to_owned()));
    let broken = |how: &str| Err(NoAnswer::Broken(how.to_owned()));
    let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": 2, "result": result });
    for (message, end) in [
        (
            answer(json!({ "stopReason": "max_tokens" })),
            Ok(FinishReason::Length),
        ),
        (
            answer(json!({ "stopReason": "max_turn_requests" })),
            Ok(FinishReason::Length),
        ),
        (
            answer(json!({ "stopReason": "refusal" })),
            Ok(FinishReason::ContentFilter),
        ),
        (
            answer(json!({ "stopReason": "cancelled" })),
            said("the turn was cancelled"),
        ),
        (
            answer(json!({})),
            broken("the turn ended with a `stopReason` that version 1 does not define"),
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32000, "message": "sign\nin" } }),
            said("sign in"),
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
            broken("the agent ended without an answer to `session/prompt`"),
        ),
        (
            json!("hello"),
            broken("the agent ended without an answer to `session/prompt`"),
        ),
    ] {
        let mut talk = Talk::prompted();
        talk.says(&message);
        assert_eq!(talk.client.finish_turn(), end, "{message}");
    }
    let mut talk = Talk::begin();
    talk.says(&json!({ "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": 2 } }));
    assert_eq!(
        talk.client.finish_turn(),
        broken("the agent does not support protocol version 1")
    );
}

#[test]
fn a_turn_is_cancelled_in_its_session_while_it_lasts_and_at_no_other_time() {
    let early = Talk::begin();
    early.hears();
    assert!(!early.client.cancel_turn()());
    assert!(early.heard.try_recv().is_err());

    let mut talk = Talk::prompted();
    talk.hears();
    assert!(talk.client.cancel_turn()());
    assert_eq!(
        talk.hears(),
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s" } })
    );
    talk.says(&json!({ "jsonrpc": "2.0", "id": 2, "result": { "stopReason": "cancelled" } }));
    assert!(talk.client.is_over() && !talk.client.cancel_turn()());
    assert_eq!(
        talk.client.finish_turn(),
        Err(NoAnswer::Said("the turn was cancelled".to_owned()))
    );
}
