//! Conversations over `/api`: begun, listened to, and kept from the tokens of another repository.

use std::io::{BufRead as _, BufReader};

use agentos_testkit::http::begin_request;
use agentos_testkit::repo::{TestRepo, write_file};
use serde_json::{Value, json};

use crate::support::{LIB, Sent, Service};
use crate::talk::{add_models, start_model};

fn start() -> (Service, agentos_testkit::server::FakeServer) {
    let server = start_model();
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    (Service::start_with(repo, |cli| add_models(cli, &server)), server)
}

/// Sends a message over the Unix socket. Returns the status and the body.
fn say(service: &Service, session: &str, body: &Value) -> (u16, String) {
    let path = format!("/api/sessions/{session}/messages");
    let answer = service.call("POST", &path, &body.to_string());
    (answer.status, answer.body)
}

/// Reads a session over the Unix socket until it has an answer.
fn read_answer(service: &Service, session: &str) -> Value {
    for _ in 0..2_000 {
        let shown = service.call("GET", &format!("/api/sessions/{session}"), "").body;
        if shown.contains("I was sent") {
            return serde_json::from_str(&shown).unwrap();
        }
    }
    panic!("{session} has no answer")
}

/// Reads with the token that reads. Returns the status and the body.
fn read_as_program(service: &Service, path: &str) -> (u16, Value) {
    let answer = service.send(&Sent {
        method: "GET",
        path,
        host: Some(&service.address),
        headers: vec![("Authorization", format!("Bearer {}", service.read_token))],
        ..Sent::default()
    });
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[test]
fn a_token_sees_the_conversations_of_its_repository_alone() {
    let (service, _server) = start();
    let head = format!(
        "GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        service.address, service.read_token
    );
    let stream = begin_request(&service.address, head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    // The stream has begun, so no step is missed.
    assert!(lines.by_ref().any(|line| line.starts_with("retry:")));
    let (status, body) = say(&service, "plain", &json!({"text": "Hello.", "model": "mine"}));
    assert_eq!(
        (status, body.as_str()),
        (202, r#"{"session":"conversation:plain","version":1}"#)
    );
    read_answer(&service, "conversation:plain");
    let own = service.usual_session();
    let (status, body) = say(
        &service,
        &own,
        &json!({"text": "Look.", "model": "mine", "reads": true}),
    );
    assert_eq!(status, 202, "{body}");
    let story = read_answer(&service, &own);
    assert_eq!(story["session"], own.as_str());

    let (_, listed) = read_as_program(&service, "/api/sessions");
    let names: Vec<&str> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["session"].as_str().unwrap())
        .collect();
    assert_eq!((names, &listed["all"]), (vec![own.as_str()], &json!(1)));
    assert_eq!(read_as_program(&service, &format!("/api/sessions/{own}")).0, 200);
    let (hidden, refused) = read_as_program(&service, "/api/sessions/plain");
    let (missing, unknown) = read_as_program(&service, "/api/sessions/missing");
    assert_eq!(
        (hidden, &refused["code"]),
        (missing, &unknown["code"]),
        "{refused}"
    );
    assert!(
        service
            .call("GET", "/api/sessions", "")
            .body
            .contains("conversation:plain")
    );

    let steps: Vec<Value> = lines
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter(|data| data.get("number").is_some())
        .take_while(|step| step["type"] != "ended")
        .collect();
    assert!(
        steps.iter().all(|step| step["session"] == own.as_str()),
        "{steps:?}"
    );
    assert_eq!(
        (&steps[0]["type"], &steps[0]["question"]),
        (&json!("begun"), &json!("Look."))
    );
    let is_answer = |step: &Value| {
        step["text"]
            .as_str()
            .is_some_and(|text| text.contains("I was sent"))
    };
    assert!(steps.iter().any(is_answer), "{steps:?}");
    let numbers: Vec<u64> = steps
        .iter()
        .map(|step| step["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=steps.len() as u64).collect::<Vec<u64>>());
}

#[test]
fn a_session_has_one_turn_at_a_time_and_a_program_stops_it() {
    let (service, _server) = start();
    let models = service.call("GET", "/api/models", "").body;
    assert!(
        models.contains(r#"{"name":"mine","provider":"mine"}"#),
        "{models}"
    );
    let wait = json!({"text": "Please wait.", "model": "mine"});
    assert_eq!(say(&service, "slow", &wait).0, 202);
    let (status, body) = say(&service, "slow", &wait);
    assert_eq!(status, 409, "{body}");
    assert!(body.contains("session-busy"), "{body}");
    for (body, expected) in [
        (json!({"text": " "}), 400),
        (json!({}), 400),
        (json!({"text": "a", "more": 1}), 400),
    ] {
        assert_eq!(say(&service, "other", &body).0, expected, "{body}");
    }
    let stop = || service.call("POST", "/api/sessions/slow/stop", "").body;
    assert!(stop().contains(r#""stopped":true"#));
    assert!(
        (0..2_000).any(|_| stop().contains(r#""stopped":false"#)),
        "the turn goes on"
    );
}

#[test]
fn a_token_sees_the_costs_and_budgets_of_its_repository_alone() {
    let (service, _server) = start();
    let own = service.usual_session();
    let day = |fields: Value| {
        let mut budget = json!({"calls": 50, "period": "day"});
        budget
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        budget
    };
    let budgets = json!({"version": 1, "budgets": [
        day(json!({})),
        day(json!({"each": "session"})),
        day(json!({"scope": {"session": &own}})),
        day(json!({"scope": {"session": "conversation:plain"}})),
        day(json!({"scope": {"session": "token:clients"}})),
        day(json!({"scope": {"guild": "team"}})),
    ]});
    let file = service.cli.home().join(".config/agentos/budgets.json");
    write_file(&file, budgets.to_string());
    for (session, model) in [("conversation:plain", "mine"), (own.as_str(), "other")] {
        assert_eq!(
            say(&service, session, &json!({"text": "Hello.", "model": model})).0,
            202
        );
        read_answer(&service, session);
    }
    let (_, seen) = read_as_program(&service, "/api/budgets");
    let rows: Vec<_> = seen["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["limit"]["scope"]["session"], &row["group"], &row["spent"]))
        .collect();
    let (own, none) = (json!(own), Value::Null);
    assert_eq!(
        rows,
        [(&none, &own, &json!(1)), (&own, &none, &json!(1))],
        "{seen}"
    );
    let (_, seen) = read_as_program(&service, "/api/cost");
    let names: Vec<&Value> = seen["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(
        (names, &seen["calls"]),
        (vec![&json!("other/tiny")], &json!(1)),
        "{seen}"
    );
    // The user sees everything.
    let all = service.call("GET", "/api/budgets", "").body;
    assert!(
        ["conversation:plain", "token:clients", "team"]
            .iter()
            .all(|name| all.contains(name)),
        "{all}"
    );
    assert!(service.call("GET", "/api/cost", "").body.contains("\"calls\":2"));
}

#[test]
fn no_session_has_the_name_of_a_token() {
    let (service, _server) = start();
    let (status, body) = say(
        &service,
        "token:clients",
        &json!({"text": "Hello.", "model": "mine"}),
    );
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("name for the calls of a token"), "{body}");
    let key = agentos_ledger::SessionKey::parse("token:clients").unwrap();
    let refused = service.host().talk().open_conversation(&key).err().unwrap();
    assert_eq!(refused.code, "usage");
    // A session of an earlier version can still be deleted; here is no such session.
    let missing = service.host().talk().delete_session(&key).err().unwrap();
    assert_ne!(missing.code, refused.code);
}
