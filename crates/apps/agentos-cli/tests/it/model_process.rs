//! One confined process that serves many requests, with real processes and a fake server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use agentos_host::{Environment, Host, ModelProcesses, ProviderChoice, TurnLimits, TurnSpec, block_on};
use agentos_ledger::{SessionKey, TurnEnd};
use agentos_model::{ChatEvent, ChatMessage, ChatRequest, ChatStream, Model};
use agentos_programs::{Host as HostProgram, HostedModel, ModelProcess, ProcessLimits};
use agentos_sandbox::Sandbox;
use agentos_testkit::cli::{program, send_signal};
use agentos_testkit::keeping::start_keeping_server;
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Recorded, Reply, closed_port, head};
use agentos_tool::{BoxFuture, FreeGate, SendGate, ToolError};
use serde_json::{Value, json};

use crate::support::{agentos, sandbox_holds};

const LONG: Duration = Duration::from_secs(60);

/// A host whose confined processes are the built program.
fn host_at(folder: &TestRepo) -> Host {
    let own = Environment::read().unwrap();
    let variables = [
        ("HOME", folder.path().display().to_string()),
        ("PATH", own.get("PATH").unwrap_or_default().to_owned()),
        ("AGENTOS_TEST_HELPER", env!("CARGO_BIN_EXE_agentos").to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    Host::new(Environment::new(variables, folder.path().to_owned()))
}

fn choice_at(url: &str) -> ProviderChoice {
    let mut choice = ProviderChoice::named("openai");
    choice.overrides.base_url = Some(format!("{url}/v1"));
    choice.overrides.model = Some("tiny-coder".to_owned());
    choice
}

fn request(text: &str) -> ChatRequest {
    ChatRequest {
        messages: vec![ChatMessage::from_user(text)],
        ..ChatRequest::default()
    }
}

/// The text that was asked.
fn asked(request: &Recorded) -> String {
    let messages = &request.json()["messages"];
    let last = messages.as_array().and_then(|all| all.last()).cloned();
    let content = last.unwrap_or_default()["content"].clone();
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// An answer in pieces, as a server streams it.
fn stream_of(pieces: impl Iterator<Item = String>) -> Vec<u8> {
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    for piece in pieces {
        let chunk = json!({"model": "tiny-coder", "choices": [{"index": 0, "delta": {"content": piece}}]});
        bytes.extend(format!("data: {chunk}\n\n").into_bytes());
    }
    bytes
}

fn with_end(mut bytes: Vec<u8>) -> Reply {
    let end = json!({"model": "tiny-coder", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    bytes.extend(format!("data: {end}\n\ndata: [DONE]\n\n").into_bytes());
    Reply::Bytes(bytes)
}

/// A server that repeats what it was asked in many pieces; `hang` never ends, `big` is larger than every window.
fn echo_server() -> FakeServer {
    let answer = |request: &Recorded| {
        let text = asked(request);
        match text.as_str() {
            "hang" => Reply::Hang(stream_of(["begun".to_owned()].into_iter())),
            "silent" => Reply::Hang(Vec::new()),
            "big" => with_end(stream_of((0..4000).map(|number| format!("{number:01000}")))),
            text => with_end(stream_of((0..20).map(|number| format!("{text}.{number} ")))),
        }
    };
    FakeServer::start(answer).unwrap()
}

fn echo_of(text: &str) -> String {
    (0..20).map(|number| format!("{text}.{number} ")).collect()
}

async fn read_all(stream: &mut dyn ChatStream) -> Result<String, ToolError> {
    let mut all = String::new();
    while let Some(event) = stream.next_event().await? {
        if let ChatEvent::Text { text } = event {
            all.push_str(&text);
        }
    }
    Ok(all)
}

fn ask(model: &dyn Model, text: &str) -> Result<String, ToolError> {
    let request = request(text);
    block_on(async { read_all(model.chat(&request, FreeGate::share()).as_mut()).await }).unwrap()
}

/// The ids of the processes of adapters below this one, with the sandbox's own processes not counted.
fn adapter_processes() -> BTreeSet<u32> {
    crate::hosted::hosted_processes(std::process::id())
}

// LB-10, LB-19: an adapter's process is started once for each profile and key, and kept.
#[test]
fn many_requests_at_once_share_one_process_and_are_not_mixed() {
    if !sandbox_holds() {
        return;
    }
    let (server, folder) = (echo_server(), TestRepo::new());
    let (host, processes) = (host_at(&folder), ModelProcesses::new());
    let before = adapter_processes();
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (host, processes, barrier, url) = (&host, &processes, &barrier, server.url());
            scope.spawn(move || {
                let model = host.calls().open_model(&choice_at(&url), processes).unwrap();
                barrier.wait();
                for number in 0..5 {
                    let text = format!("{thread}-{number}");
                    assert_eq!(ask(model.as_ref(), &text).unwrap(), echo_of(&text));
                }
                barrier.wait();
            });
        }
    });
    assert_eq!(server.requests().len(), 40);
    assert_eq!(adapter_processes().difference(&before).count(), 1);
    // Another key has another process.
    let variable = ("AGENTOS_OPENAI_API_KEY", "sk-other-0123456789abcdef");
    let mut variables: Vec<(String, String)> = host.environment().vars().clone().into_iter().collect();
    variables.push((variable.0.to_owned(), variable.1.to_owned()));
    let other = Host::new(Environment::new(variables, folder.path().to_owned()));
    let model = other
        .calls()
        .open_model(&choice_at(&server.url()), &processes)
        .unwrap();
    assert_eq!(ask(model.as_ref(), "x").unwrap(), echo_of("x"));
    assert_eq!(adapter_processes().difference(&before).count(), 2);
    drop((model, processes));
    assert_eq!(adapter_processes().difference(&before).count(), 0);
    let left = std::fs::read_dir(folder.path().join(".cache/agentos/models")).unwrap();
    assert_eq!(left.count(), 0, "the folders of the processes are gone");
}

#[test]
fn a_process_keeps_its_connection_for_the_next_request_and_makes_a_new_one_after_the_server_closed_it() {
    if !sandbox_holds() {
        return;
    }
    let ((url, made), folder) = (start_keeping_server().unwrap(), TestRepo::new());
    let processes = ModelProcesses::new();
    let model = host_at(&folder)
        .calls()
        .open_model(&choice_at(&url), &processes)
        .unwrap();
    for _ in 0..20 {
        assert_eq!(ask(model.as_ref(), "hi").unwrap(), "one two three");
    }
    // One, unless the machine was so busy that a connection waited longer than it is kept.
    assert!(made.load(Ordering::SeqCst) < 20, "{made:?}");
    let before = made.load(Ordering::SeqCst);
    assert_eq!(ask(model.as_ref(), "bye").unwrap(), "one two three");
    let after_end = || ask(model.as_ref(), "hi").is_ok_and(|text| text == "one two three");
    // The request can meet the end of the connection on its way. The one after that cannot.
    assert!(after_end() || after_end());
    assert!(made.load(Ordering::SeqCst) > before);
}

#[test]
fn the_pieces_of_an_answer_that_is_wanted_whole_are_joined() {
    if !sandbox_holds() {
        return;
    }
    let ((url, _), folder) = (start_keeping_server().unwrap(), TestRepo::new());
    let processes = ModelProcesses::new();
    let model = host_at(&folder)
        .calls()
        .open_model(&choice_at(&url), &processes)
        .unwrap();
    let (request, big_request) = (request("hi"), request("big"));
    let texts_of = |mut stream: Box<dyn ChatStream + '_>| {
        block_on(async {
            let mut texts = Vec::new();
            while let Some(event) = stream.next_event().await.unwrap() {
                if let ChatEvent::Text { text } = event {
                    texts.push(text);
                }
            }
            texts
        })
        .unwrap()
    };
    assert_eq!(
        texts_of(model.chat(&request, FreeGate::share())),
        ["one ", "two ", "three"]
    );
    assert_eq!(
        texts_of(model.chat_whole(&request, FreeGate::share())),
        ["one two three"]
    );
    // One that is longer than the window of the process comes in as many lines as the window needs.
    let big = echo_server();
    let model = host_at(&folder)
        .calls()
        .open_model(&choice_at(&big.url()), &processes)
        .unwrap();
    let expected: String = (0..4000).map(|number| format!("{number:01000}")).collect();
    assert_eq!(
        texts_of(model.chat_whole(&big_request, FreeGate::share())).concat(),
        expected
    );
}

#[test]
fn one_that_is_dropped_hangs_up_and_the_others_go_on() {
    if !sandbox_holds() {
        return;
    }
    let (server, folder) = (echo_server(), TestRepo::new());
    let processes = ModelProcesses::new();
    let model = host_at(&folder)
        .calls()
        .open_model(&choice_at(&server.url()), &processes)
        .unwrap();
    let texts = ["one", "two", "hang"].map(request);
    block_on(async {
        let [mut one, mut two, mut hung] = [0, 1, 2].map(|at| model.chat(&texts[at], FreeGate::share()));
        assert!(one.next_event().await.unwrap().is_some());
        assert!(hung.next_event().await.unwrap().is_some());
        drop(hung);
        assert_eq!(read_all(two.as_mut()).await.unwrap(), echo_of("two"));
        // Without its first piece, which was read above.
        let rest = echo_of("one");
        assert!(rest.ends_with(&read_all(one.as_mut()).await.unwrap()));
    })
    .unwrap();
    assert!(
        server.saw_hang_up(LONG),
        "the connection of the dropped one is open"
    );
    // One that has no answer yet hangs up too.
    let silent = request("silent");
    block_on(async {
        let mut stream = model.chat(&silent, FreeGate::share());
        let mut wait = stream.next_event();
        let waited = std::future::poll_fn(|context| {
            let polled = wait.as_mut().poll(context);
            std::task::Poll::Ready(polled.is_pending())
        });
        assert!(waited.await);
    })
    .unwrap();
    assert_eq!(ask(model.as_ref(), "after").unwrap(), echo_of("after"));
}

#[test]
fn a_reader_that_pauses_stops_no_other() {
    if !sandbox_holds() {
        return;
    }
    let (server, folder) = (echo_server(), TestRepo::new());
    let processes = ModelProcesses::new();
    let model = host_at(&folder)
        .calls()
        .open_model(&choice_at(&server.url()), &processes)
        .unwrap();
    let big = request("big");
    block_on(async {
        let mut slow = model.chat(&big, FreeGate::share());
        assert!(slow.next_event().await.unwrap().is_some());
        for number in 0..3 {
            let text = number.to_string();
            let small = request(&text);
            assert_eq!(
                read_all(model.chat(&small, FreeGate::share()).as_mut())
                    .await
                    .unwrap(),
                echo_of(&text)
            );
        }
        assert_eq!(read_all(slow.as_mut()).await.unwrap().len(), 3999 * 1000);
    })
    .unwrap();
}

#[test]
fn a_killed_process_fails_what_runs_and_the_next_request_has_a_new_one() {
    if !sandbox_holds() {
        return;
    }
    let (server, folder) = (echo_server(), TestRepo::new());
    let processes = ModelProcesses::new();
    let before = adapter_processes();
    let model = host_at(&folder)
        .calls()
        .open_model(&choice_at(&server.url()), &processes)
        .unwrap();
    let hang = request("hang");
    block_on(async {
        let (mut one, mut two) = (
            model.chat(&hang, FreeGate::share()),
            model.chat(&hang, FreeGate::share()),
        );
        assert!(one.next_event().await.unwrap().is_some());
        assert!(two.next_event().await.unwrap().is_some());
        let running: Vec<u32> = adapter_processes().difference(&before).copied().collect();
        assert_eq!(running.len(), 1);
        assert!(send_signal(running[0], "KILL"));
        for stream in [&mut one, &mut two] {
            let error = stream.next_event().await.unwrap_err();
            assert_eq!(error.detail, "exit-code");
            assert_eq!(
                error.message,
                "the confined process of `openai` ended with exit code 137"
            );
        }
    })
    .unwrap();
    assert_eq!(ask(model.as_ref(), "again").unwrap(), echo_of("again"));
    // The two that failed were not sent again.
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_server_that_comes_and_goes_is_found_by_each_request() {
    if !sandbox_holds() {
        return;
    }
    let (server, folder) = (echo_server(), TestRepo::new());
    let (host, processes) = (host_at(&folder), ModelProcesses::new());
    let url = server.url();
    let model = host.calls().open_model(&choice_at(&url), &processes).unwrap();
    assert_eq!(ask(model.as_ref(), "a").unwrap(), echo_of("a"));
    drop(server);
    let error = ask(model.as_ref(), "b").unwrap_err();
    assert_eq!(error.detail, "refused");
    assert!(
        error.causes.iter().any(|cause| cause.contains("refused")),
        "{error:?}"
    );
    let nobody = host
        .calls()
        .open_model(&choice_at(&closed_port().unwrap()), &processes)
        .unwrap();
    assert_eq!(ask(nobody.as_ref(), "c").unwrap_err().detail, "refused");
}

/// A model that nobody may ask: the confined one answers.
struct NoModel;

impl Model for NoModel {
    fn provider_name(&self) -> &str {
        "rogue"
    }

    fn chat<'a>(&'a self, _request: &'a ChatRequest, _gate: Arc<dyn SendGate>) -> Box<dyn ChatStream + 'a> {
        struct Unconfined;
        impl ChatStream for Unconfined {
            fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
                Box::pin(async { panic!("the request left the sandbox") })
            }
        }
        Box::new(Unconfined)
    }
}

/// A Python that every confined process can read.
const PYTHON: &str = "/usr/bin/python3";
const OTHER_KEY: &str = "sk-another-profile-0123456789";

fn rogue_script() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    top.canonicalize().unwrap().join("scripts/rogue/adapter.py")
}

/// The rogue adapter as the confined process of a profile with this key and server.
fn rogue(folder: &Path, name: &str, key: &str, port: u16) -> HostedModel {
    let script = rogue_script();
    let key = key.to_owned();
    let program = HostProgram {
        name: name.to_owned(),
        program: PYTHON.into(),
        args: vec![script.display().to_string()],
        env: Vec::new(),
        readable: vec![script],
        folder: folder.to_owned(),
        host: "127.0.0.1".to_owned(),
        port,
        patience: LONG,
        key: None,
        greeting: Box::new(move |_| Ok(json!({ "key": key }).to_string().into_bytes())),
    };
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_agentos").into());
    let held = sandbox.start_probe();
    let limits = ProcessLimits {
        total: LONG,
        idle: LONG,
    };
    let process = ModelProcess::new("rogue", program, sandbox, limits);
    HostedModel::new(Box::new(NoModel), Arc::new(process), held)
}

#[test]
fn a_rogue_adapter_reaches_nothing_while_it_serves_its_second_request() {
    if !sandbox_holds() {
        return;
    }
    if !Path::new(PYTHON).exists() {
        eprintln!("skipped: there is no {PYTHON}");
        return;
    }
    let (own, other) = (echo_server(), echo_server());
    let folder = TestRepo::new();
    folder.write("secret.txt", "of the user");
    let runs = folder.outside().join("models");
    let outside = json!({
        "port": other.port(), "key": OTHER_KEY, "variable": "HOME", "file": folder.path().join("secret.txt"),
        "folder": &runs, "new": folder.path().join("new.txt"),
    });
    let told = ChatRequest {
        system: Some(outside.to_string()),
        ..request("now")
    };
    // Both profiles have a process when the rogue looks around.
    let neighbour = rogue(&runs, "neighbour", OTHER_KEY, other.port());
    assert_eq!(ask(&neighbour, "hello").unwrap(), "ok");
    let model = rogue(&runs, "rogue", "sk-own", own.port());
    assert_eq!(ask(&model, "hello").unwrap(), "ok");
    let reached = block_on(async { read_all(model.chat(&told, FreeGate::share()).as_mut()).await }).unwrap();
    assert_eq!(reached.unwrap(), "{}", "it reached something outside");
    assert!(!folder.has("new.txt"));
    assert_eq!(other.requests().len(), 0);

    // The same attempts without a sandbox, so that none fails only because it never works.
    let script = rogue_script();
    let line = |request: &ChatRequest, id: u64| json!({ "request": { "id": id, "work": { "chat": serde_json::to_value(request).unwrap() } } });
    let input = format!("{{}}\n{}\n{}\n", line(&request("hello"), 1), line(&told, 2));
    let input_file = folder.outside().join("input");
    write_file(&input_file, input);
    let mut child = program(PYTHON);
    child.arg(&script).arg(OTHER_KEY).current_dir(folder.path());
    child.stdin(std::fs::File::open(&input_file).unwrap());
    // A neighbour with the key in its command line: without a sandbox it can be read.
    let mut neighbour = program(PYTHON);
    neighbour.args(["-c", "input()", OTHER_KEY]).stdin(Stdio::piped());
    let mut neighbour = neighbour.spawn().unwrap();
    let output = child.output().unwrap();
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let report = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let report = report
        .filter_map(|line| {
            line["answer"]["line"]["event"]["text"]
                .as_str()
                .map(str::to_owned)
        })
        .next_back();
    let reached: Value = serde_json::from_str(&report.unwrap()).unwrap();
    let reached: BTreeSet<&str> = reached.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "a_file",
        "a_file_outside",
        "a_link_to_a_file",
        "other_folders",
        "other_key",
        "other_provider",
        "own_environment",
    ];
    assert_eq!(reached, BTreeSet::from(expected));
}

#[test]
fn a_conversation_keeps_its_process_from_turn_to_turn() {
    if !sandbox_holds() {
        return;
    }
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    let server = FakeServer::start(move |request| {
        if request.method == "POST" {
            noted.lock().unwrap().extend(adapter_processes());
        }
        with_end(stream_of(["hello".to_owned()].into_iter()))
    });
    let server = server.unwrap();
    let flags = crate::support::openai_at(&server.url());
    let args: Vec<&str> = ["chat"]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .collect();
    let output = agentos().run_with_input(&args, b"one\ntwo\nthree\n").unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|one| one.method == "POST")
            .count(),
        3
    );
    assert_eq!(seen.lock().unwrap().len(), 1, "one process for three turns");
}

#[test]
fn a_turn_that_is_stopped_before_it_begins_asks_the_server_nothing() {
    let (server, folder) = (echo_server(), TestRepo::new());
    // This server states the window of its model, so it is asked for that first.
    let mut provider = ProviderChoice::named("llamacpp");
    provider.overrides.base_url = Some(server.url());
    let mut conversation = host_at(&folder)
        .talk()
        .open_conversation(&SessionKey::parse("a").unwrap())
        .unwrap();
    let message = conversation.make_message("hello", &[]).unwrap();
    let mut emit = |_| {};
    let turn = conversation.take_turn(TurnSpec {
        provider,
        message,
        limits: TurnLimits::default(),
        emit: &mut emit,
        cancel: Box::pin(std::future::ready(())),
    });
    let turn = block_on(turn).unwrap().unwrap();
    assert_eq!(turn.record.end, TurnEnd::Cancelled);
    assert_eq!(server.requests(), []);
}
