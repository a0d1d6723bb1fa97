//! Sessions: conversations that last, from one call to the next.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply, head};
use serde_json::json;

use crate::support::agentos;

/// A server that answers with the number of the messages that it was sent, and the provider `mine` for it.
pub fn counting_server(cli: &Cli) -> FakeServer {
    let server = FakeServer::start(|request| {
        let messages = request.json()["messages"].as_array().map_or(0, Vec::len);
        let text = json!({"model": "tiny", "choices": [{"index": 0, "delta": {"content": format!("{messages} messages")}}]});
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2}});
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {text}\n\ndata: {end}\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap();
    add_provider(cli, "mine", &server);
    server
}

pub fn add_provider(cli: &Cli, name: &str, server: &FakeServer) {
    let profile = json!({ "provider": name, "name": name, "adapter": "openai", "model": "tiny", "requires_key": false,
        "base_url": format!("{}/v1", server.url()), "price": { "input": 1.0, "output": 1.0 },
        "capabilities": { "context_window": 32_000 } });
    write_file(
        &cli.home().join(format!(".config/agentos/profiles/{name}.json")),
        profile.to_string(),
    );
}

pub fn say(cli: &Cli, session: &str, text: &str) -> CliOutput {
    let said = cli
        .run(&["chat", "send", "-c", session, "-p", "mine", text])
        .unwrap();
    assert_eq!(said.code, Some(0), "{said}");
    said
}

pub fn ok(cli: &Cli, args: &[&str]) -> CliOutput {
    let output = cli.run(args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    output
}

#[test]
fn a_session_goes_on_from_call_to_call() {
    let cli = agentos();
    let server = counting_server(&cli);
    assert_eq!(say(&cli, "review", "One.").stdout, "1 messages\n");
    assert_eq!(say(&cli, "review", "Two.").stdout, "3 messages\n");
    // Another session knows nothing of it, and a session remembers whom it asked.
    assert_eq!(say(&cli, "other", "One.").stdout, "1 messages\n");
    assert_eq!(
        ok(&cli, &["chat", "send", "-c", "review", "Three."]).stdout,
        "5 messages\n"
    );
    let sent = server.requests().pop().unwrap().json();
    assert_eq!(
        sent["messages"],
        json!([
            { "role": "user", "content": "One." }, { "role": "assistant", "content": "1 messages" },
            { "role": "user", "content": "Two." }, { "role": "assistant", "content": "3 messages" },
            { "role": "user", "content": "Three." },
        ])
    );
    let list = ok(&cli, &["chat", "list", "--json"]).json().unwrap();
    validate_value(SchemaName::ChatSessions, &list).unwrap();
    let names: Vec<&str> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["session"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["conversation:review", "conversation:other"]);
    assert_eq!(
        (&list["sessions"][0]["turns"], &list["sessions"][0]["opening"]),
        (&json!(3), &json!("One."))
    );
    assert_eq!(list["sessions"][0]["cost_usd"], "0.000036");
    let cost = ok(&cli, &["cost", "--by", "session", "--json"]).json().unwrap();
    assert_eq!(cost["rows"][0]["name"], "conversation:review");
    let verified = cli.run(&["evidence", "verify", "--ledger"]).unwrap();
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_turn_as_json_has_its_record() {
    let cli = agentos();
    let _server = counting_server(&cli);
    let turn = ok(
        &cli,
        &[
            "chat", "send", "-c", "a", "-p", "mine", "Hello", "--system", "Be kind.", "--json",
        ],
    )
    .json()
    .unwrap();
    validate_value(SchemaName::ChatTurn, &turn).unwrap();
    assert_eq!(
        (&turn["answer"], &turn["session"]),
        (&json!("2 messages"), &json!("conversation:a"))
    );
    assert_eq!(turn["turn"]["end"], json!({ "end": "answered" }));
    assert_eq!(turn["turn"]["calls"][0]["cost_usd"], "0.000012");
    assert_eq!(
        turn["gauge"]["window"],
        json!({ "tokens": 32_000, "source": "profile" })
    );
    let story = ok(&cli, &["chat", "show", "a", "--json"]).json().unwrap();
    validate_value(SchemaName::ChatSession, &story).unwrap();
    assert_eq!(
        (&story["system"], story["messages"].as_array().unwrap().len()),
        (&json!("Be kind."), 2)
    );
}

#[test]
fn an_answer_that_breaks_off_is_kept_as_cut() {
    let cli = agentos();
    let server = FakeServer::start(|_| {
        let text = json!({"model": "tiny", "choices": [{"index": 0, "delta": {"content": "half"}}]});
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {text}\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap();
    add_provider(&cli, "mine", &server);
    let cut = cli
        .run(&["chat", "send", "-c", "a", "-p", "mine", "Hello"])
        .unwrap();
    assert_eq!(cut.code, Some(5), "{cut}");
    let story = ok(&cli, &["chat", "show", "a", "--json"]).json().unwrap();
    let last = story["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["cut"], json!("broken-stream"), "{story:#}");
    assert_eq!(last["message"]["parts"], json!([{ "text": "half" }]), "{story:#}");
    assert_eq!(story["totals"]["calls_without_cost"], json!(1));
}

#[test]
fn a_conversation_reads_lines_and_commands() {
    let cli = agentos();
    let server = counting_server(&cli);
    add_provider(&cli, "second", &server);
    let typed = "Hello\nlong \\\nmessage\n/pin the sky is green\n/model second\nAgain\n/status\n/nonsense\n/clear\nLast\n/exit\nnever sent\n";
    let talk = cli
        .run_with_input(&["chat", "-p", "mine", "-c", "talk"], typed.as_bytes())
        .unwrap();
    assert_eq!(
        talk.stdout, "1 messages\n3 messages\n6 messages\n2 messages\n",
        "{talk}"
    );
    assert_eq!(talk.code, Some(0), "{talk}");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    let messages = |at: usize| requests[at].json()["messages"].clone();
    assert_eq!(messages(1)[2]["content"], "long \nmessage");
    // Pinned texts are sent word for word in every turn, whatever is cleared.
    for at in [2, 3] {
        assert!(
            messages(at)[0]["content"]
                .as_str()
                .unwrap()
                .ends_with("the sky is green"),
            "{at}"
        );
    }
    for words in [
        "second answers from the next turn on",
        "there is no command `/nonsense`",
        "cost     0.000036 for 3 turns",
    ] {
        assert!(talk.stderr.contains(words), "{words}: {talk}");
    }
    let story = ok(&cli, &["chat", "show", "talk", "--json"]).json().unwrap();
    assert_eq!(
        (
            &story["settings"]["provider"],
            story["messages"].as_array().unwrap().len()
        ),
        (&json!("second"), 8)
    );
}

#[test]
fn a_deleted_session_leaves_hashes_and_the_ledger_verifies() {
    let cli = agentos();
    let _server = counting_server(&cli);
    say(&cli, "secret", "The password is tulip.");
    say(&cli, "secret", "common words");
    say(&cli, "open", "common words");
    ok(&cli, &["chat", "fork", "open", "copy"]);
    let state = cli.home().join(".local/state/agentos");
    // In all files: blobs, tape and database with what SQLite keeps next to it.
    let holds = |word: &str| {
        let folders = [state.clone(), state.join("ledger"), state.join("ledger/blobs")];
        let entries = folders
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let files = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file());
        files
            .map(|file| std::fs::read(file).unwrap())
            .any(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    };
    assert!(holds("tulip"));
    let found = ok(&cli, &["chat", "search", "password"]);
    assert!(found.stdout.contains("conversation:secret"), "{found}");
    ok(&cli, &["chat", "delete", "secret"]);
    assert!(!holds("tulip") && holds("common words"));
    assert_eq!(ok(&cli, &["chat", "search", "password"]).stdout, "");
    let gone = cli.run(&["chat", "show", "secret"]).unwrap();
    assert_eq!(gone.code, Some(2), "{gone}");
    ok(&cli, &["evidence", "verify", "--ledger"]);

    ok(&cli, &["chat", "delete", "open"]);
    assert!(
        ok(&cli, &["chat", "show", "copy"])
            .stdout
            .contains("common words")
    );
    ok(&cli, &["evidence", "verify", "--ledger"]);
    // What was paid stays.
    assert_eq!(ok(&cli, &["cost", "--json"]).json().unwrap()["calls"], json!(3));
    assert_eq!(say(&cli, "secret", "Again").stdout, "1 messages\n");
}

#[test]
fn two_processes_do_not_use_one_session() {
    let cli = agentos();
    let (entered, enter) = std::sync::mpsc::channel();
    let (leave, left) = std::sync::mpsc::channel::<()>();
    let left = std::sync::Mutex::new(left);
    let server = FakeServer::start(move |_| {
        entered.send(()).unwrap();
        left.lock().unwrap().recv().unwrap();
        Reply::Bytes(head(500, &[], None))
    })
    .unwrap();
    add_provider(&cli, "mine", &server);
    let mut first = cli
        .command(&["chat", "send", "-c", "a", "-p", "mine", "Hello"])
        .spawn()
        .unwrap();
    enter.recv().unwrap();
    let second = cli
        .run(&["chat", "send", "-c", "a", "-p", "mine", "Hello"])
        .unwrap();
    assert_eq!(second.code, Some(2), "{second}");
    assert!(second.stderr.contains("session-busy"), "{second}");
    drop(leave);
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn a_question_without_an_answer_is_not_sent_again() {
    let cli = agentos();
    let server = FakeServer::start(|_| Reply::json(400, &json!({ "error": { "message": "no" } }))).unwrap();
    add_provider(&cli, "mine", &server);
    for _ in 0..2 {
        let failed = cli
            .run(&["chat", "send", "-c", "a", "-p", "mine", "Hello"])
            .unwrap();
        assert_eq!(failed.code, Some(5), "{failed}");
    }
    let _server = counting_server(&cli);
    assert_eq!(say(&cli, "a", "Hello").stdout, "1 messages\n");
}

#[test]
fn a_session_that_begins_with_a_setting_remembers_whom_it_asked() {
    let cli = agentos();
    let _server = counting_server(&cli);
    ok(
        &cli,
        &[
            "chat", "send", "-c", "a", "-p", "mine", "--system", "Be kind.", "Hello",
        ],
    );
    assert_eq!(
        ok(&cli, &["chat", "send", "-c", "a", "Again"]).stdout,
        "4 messages\n"
    );
}

#[test]
fn a_fork_of_a_fork_has_the_messages_of_the_first() {
    let cli = agentos();
    let _server = counting_server(&cli);
    say(&cli, "x", "One.");
    ok(&cli, &["chat", "fork", "x", "y"]);
    ok(&cli, &["chat", "fork", "y", "z"]);
    assert_eq!(say(&cli, "z", "Two.").stdout, "3 messages\n");
    ok(&cli, &["chat", "clear", "z"]);
    ok(&cli, &["chat", "fork", "z", "w"]);
    assert_eq!(say(&cli, "w", "Three.").stdout, "1 messages\n");
    let taken = cli.run(&["chat", "fork", "x", "w"]).unwrap();
    assert_eq!(taken.code, Some(2), "{taken}");
}

#[test]
fn a_torn_record_does_not_stop_a_session() {
    let cli = agentos();
    let _server = counting_server(&cli);
    say(&cli, "a", "One.");
    let tape = cli.home().join(".local/state/agentos/ledger/tape.jsonl");
    let torn = [std::fs::read(&tape).unwrap(), b"{\"body\":{\"calls\"".to_vec()].concat();
    write_file(&tape, torn);
    assert!(ok(&cli, &["chat", "list"]).stdout.contains("conversation:a"));
    assert_eq!(say(&cli, "a", "Two.").stdout, "3 messages\n");
    ok(&cli, &["evidence", "verify", "--ledger"]);
}

/// A process that is killed, at whatever point, leaves whole turns: each message of the user has its answer.
#[test]
fn a_killed_process_leaves_whole_turns_only() {
    let cli = agentos();
    let (entered, enter) = std::sync::mpsc::channel();
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let whole = |text: &str| {
        let piece = json!({"model": "tiny", "choices": [{"index": 0, "delta": {"content": text}}]});
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2}});
        let bytes = head(200, &[("content-type", "text/event-stream")], None);
        (bytes, format!("data: {piece}\n\n"), format!("data: {end}\n\n"))
    };
    let server = FakeServer::start(move |_| {
        let (mut bytes, piece, end) = whole("Good day.");
        let reply = match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3 {
            0 => Reply::Hang(Vec::new()),
            1 => {
                bytes.extend_from_slice(piece.as_bytes());
                Reply::Hang(bytes)
            }
            _ => {
                bytes.extend_from_slice(format!("{piece}{end}").as_bytes());
                Reply::Bytes(bytes)
            }
        };
        entered.send(()).unwrap();
        reply
    })
    .unwrap();
    add_provider(&cli, "mine", &server);
    for turn in 0..12 {
        let text = format!("turn {turn}");
        let mut child = cli
            .command(&["chat", "send", "-c", "a", "-p", "mine", &text])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        enter.recv().unwrap();
        // Every third answer is whole: that process is killed wherever it is between its answer and its record, or after it.
        if turn % 6 != 5 {
            child.kill().unwrap();
        }
        child.wait().unwrap();
    }
    let rebuilt = ok(&cli, &["store", "rebuild", "--json"]).json().unwrap();
    ok(&cli, &["evidence", "verify", "--ledger"]);
    let story = ok(&cli, &["chat", "show", "a", "--json"]).json().unwrap();
    let roles: Vec<&str> = story["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["message"]["role"].as_str().unwrap())
        .collect();
    // At least the two that nobody killed; a killed one is there as a whole or not at all.
    assert!((4..=8).contains(&roles.len()), "{roles:?}");
    assert!(
        roles.chunks(2).all(|turn| turn == ["user", "assistant"]),
        "{roles:?}"
    );
    assert_eq!(rebuilt["calls"], json!(roles.len() / 2));
}
