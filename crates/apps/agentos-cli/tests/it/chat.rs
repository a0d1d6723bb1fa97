//! `chat send`: one message, a streamed answer, and the end of each kind of failure.

use std::io::{BufReader, Read};
use std::process::{Child, Stdio};
use std::time::Duration;

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::{Cli, CliOutput, send_signal};
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Recorded, Reply, closed_port, head};
use serde_json::{Value, json};

use crate::support::{agentos, openai_at};

/// The smallest PNG header; servers look at more, fakes do not.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123";
/// The same in base64.
const PNG_BASE64: &str = "iVBORw0KGgowMTIz";

/// Writes pieces of a stream on OpenAI's wire.
fn stream(pieces: &[Value]) -> Vec<u8> {
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    for piece in pieces {
        bytes.extend_from_slice(format!("data: {piece}\n\n").as_bytes());
    }
    bytes
}

fn text(text: &str) -> Value {
    json!({"model": "tiny-coder", "choices": [{"index": 0, "delta": {"content": text}}]})
}

fn thinking(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"reasoning_content": text}}]})
}

fn end(word: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
}

fn server_with(pieces: &[Value]) -> FakeServer {
    let bytes = stream(pieces);
    FakeServer::start(move |_| Reply::Bytes(bytes.clone())).unwrap()
}

/// Returns the call that sends a message to a server in place of `openai`.
fn arguments(server: &FakeServer, more: &[&str]) -> Vec<String> {
    let verb = ["chat", "send"].map(str::to_owned);
    let more = more.iter().map(|word| (*word).to_owned());
    verb.into_iter()
        .chain(openai_at(&server.url()))
        .chain(more)
        .collect()
}

/// Sends a message to a server in place of `openai`.
fn send(cli: &Cli, server: &FakeServer, more: &[&str]) -> CliOutput {
    let args = arguments(server, more);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    cli.run(&args).unwrap()
}

/// Starts the same call, with its output in pipes.
fn start(cli: &Cli, server: &FakeServer, more: &[&str]) -> Child {
    let args = arguments(server, more);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    cli.command(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn the_text_goes_to_standard_output_and_the_rest_to_standard_error() {
    let server = server_with(&[thinking("Hm.\nWell"), text("Good "), text("day."), end("stop")]);
    let cli = agentos();
    let plain = send(&cli, &server, &["Hello", "--system", "Be kind."]);
    assert_eq!(
        (plain.code, plain.stdout.as_str()),
        (Some(0), "Good day.\n"),
        "{plain}"
    );
    assert!(
        plain.stderr.contains("tiny-coder, 7 tokens in, 2 out, "),
        "{plain}"
    );
    assert!(!plain.stderr.contains("Hm."), "{plain}");
    let body = server.requests()[0].json();
    assert_eq!(
        body["messages"],
        json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}])
    );
    // `--thinking` without a level is the flag's older name.
    for flag in ["--show-thinking", "--thinking"] {
        let thought = send(&cli, &server, &["Hello", flag]);
        assert_eq!(thought.stdout, "Good day.\n");
        assert!(thought.stderr.starts_with("Hm.\nWell\n"), "{thought}");
    }
    let quiet = send(&cli, &server, &["Hello", "--quiet"]);
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.as_str()),
        ("Good day.\n", "")
    );
}

#[test]
fn thinking_is_asked_for_as_the_flag_or_the_session_says() {
    let server = server_with(&[text("Good day."), end("stop")]);
    let cli = agentos();
    let session = ["Hello", "-c", "s"];
    send(&cli, &server, &["Hello", "--thinking", "low"]);
    send(&cli, &server, &session);
    let typed = cli.run_with_input(&["chat", "-c", "s"], b"/thinking high\n/thinking\n");
    assert!(typed.unwrap().stderr.contains("thinking is requested: high"));
    send(&cli, &server, &session);
    send(&cli, &server, &[&session[..], &["--thinking", "off"]].concat());
    let asked = server.requests().into_iter().map(|request| {
        let (effort, variables) = ("reasoning_effort", "chat_template_kwargs");
        let body = request.json();
        json!([body[effort], body[variables]["enable_thinking"]])
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [
            json!(["low", true]),
            json!([null, null]),
            json!(["high", true]),
            json!([null, false])
        ]
    );
    let wrong = send(&cli, &server, &["--thinking", "Hello"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("`--show-thinking` shows the thinking"),
        "{wrong}"
    );
}

#[test]
fn warnings_of_the_end_are_shown_once() {
    let cases = [
        (
            server_with(&[text("Hm"), end("weird_reason")]),
            "the answer may be incomplete",
        ),
        (
            server_with(&[
                json!({"model": "other-model", "choices": [{"index": 0, "delta": {"content": "Hm"}}]}),
                end("stop"),
            ]),
            "`other-model` answered",
        ),
    ];
    for (server, words) in cases {
        let shown = send(&agentos(), &server, &["Hello"]);
        assert_eq!(shown.code, Some(0), "{shown}");
        assert_eq!(shown.stderr.matches(words).count(), 1, "{shown}");
    }
}

#[test]
fn json_is_one_report_of_the_published_shape() {
    let server = server_with(&[thinking("Hm."), text("Good day."), end("stop")]);
    let output = send(&agentos(), &server, &["Hello", "--json"]);
    assert_eq!(output.code, Some(0), "{output}");
    let report: Value = output.json().unwrap();
    validate_value(SchemaName::ChatReply, &report).unwrap();
    assert_eq!(report["text"], "Good day.");
    assert_eq!(report["finish"], "stop");
    assert_eq!(report["usage"], json!({"input_tokens": 7, "output_tokens": 2}));
    assert_eq!(report["message"]["parts"][0]["thinking"]["text"], "Hm.");
    assert_eq!(report["message"]["parts"][1], json!({"text": "Good day."}));
}

#[test]
fn the_message_comes_from_standard_input_and_the_model_from_the_provider() {
    let server = server_with(&[text("ok"), end("stop")]);
    let cli = agentos();
    let base = format!("{}/v1", server.url());
    let args = ["chat", "send", "-p", "vllm/some-model", "--base-url", &base, "-"];
    let output = cli.run_with_input(&args, b"from a pipe\n").unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let used = cli.run(&["use", "vllm", "--model", "usual-model"]).unwrap();
    assert_eq!(used.code, Some(0), "{used}");
    let output = cli.run(&["chat", "send", "--base-url", &base, "usual"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let sent: Vec<Value> = server
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .map(Recorded::json)
        .collect();
    assert_eq!(sent[0]["model"], "some-model");
    assert_eq!(sent[0]["messages"][0]["content"], "from a pipe");
    assert_eq!(sent[1]["model"], "usual-model");
}

/// Reads from a pipe until this text has come.
fn read_until(pipe: &mut impl Read, wanted: &str) -> String {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&seen).contains(wanted) && pipe.read(&mut byte).unwrap() == 1 {
        seen.push(byte[0]);
    }
    String::from_utf8(seen).unwrap()
}

#[test]
fn a_piece_is_shown_before_the_next_is_sent_and_a_signal_hangs_up() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let server = FakeServer::start(|_| Reply::Hang(stream(&[text("Good ")]))).unwrap();
        let cli = agentos();
        let mut child = start(&cli, &server, &["Hello"]);
        let mut out = child.stdout.take().unwrap();
        // The server has sent no more than this.
        assert_eq!(read_until(&mut out, "Good "), "Good ");
        assert!(send_signal(child.id(), signal));
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(code), "{signal}: {said}");
        assert!(said.contains("the answer is incomplete"), "{said}");
        assert!(server.saw_hang_up(Duration::from_secs(20)), "{signal}");
    }
}

/// Waits until a pipe is nearly full: the program that writes to it waits for its reader, or does so with the next pieces.
fn wait_until_full(pipe: &impl std::os::fd::AsFd) {
    // Linux has 16 pages of 4 KiB, and none is filled to its last byte.
    while rustix::io::ioctl_fionread(pipe).unwrap() < 56 << 10 {
        std::thread::yield_now();
    }
}

// A signal reaches a program whose reader does not read, and the call is on the ledger afterwards.
#[test]
fn one_signal_ends_an_answer_that_nobody_reads() {
    let flood = format!("data: {}\n\n", text("more and more\n")).into_bytes();
    for session in [&[][..], &["-c", "work"]] {
        for (signal, code) in [("INT", 130), ("TERM", 143)] {
            let flood = flood.clone();
            let server =
                FakeServer::start(move |_| Reply::Flood(stream(&[text("first\n")]), flood.clone())).unwrap();
            let cli = agentos();
            let mut child = start(&cli, &server, &[&["Hello"], session].concat());
            let out = child.stdout.take().unwrap();
            wait_until_full(&out);
            assert!(send_signal(child.id(), signal));
            let ended = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), Some(code), "{session:?} {signal}: {said}");
            let words = match session.is_empty() {
                true => "the answer is incomplete",
                false => "the answer so far is kept",
            };
            assert!(said.contains(words), "{session:?} {signal}: {said}");
            let cost = cli.run(&["cost", "--json"]).unwrap().json().unwrap();
            assert_eq!(cost["calls"], 1, "{session:?} {signal}: {cost:#}");
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_answer() {
    let flood = format!("data: {}\n\n", text("more and more\n"));
    let server =
        FakeServer::start(move |_| Reply::Flood(stream(&[text("first\n")]), flood.clone().into_bytes()))
            .unwrap();
    let cli = agentos();
    let mut child = start(&cli, &server, &["Hello"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(read_until(&mut out, "first\n"), "first\n");
    drop(out);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(server.saw_hang_up(Duration::from_secs(20)));
}

/// More than fits into the buffers on the way: two sockets, the child's pipe, the events in two processes, and the pipe to the reader.
/// Each of them stops the one before it while nobody reads.
#[test]
fn an_answer_larger_than_every_buffer_arrives_whole() {
    const PIECES: usize = 4000;
    let piece = "x".repeat(4000);
    let mut pieces = vec![text("first\n")];
    pieces.extend(std::iter::repeat_n(text(&piece), PIECES));
    pieces.push(end("stop"));
    let server = server_with(&pieces);
    let cli = agentos();
    let mut child = start(&cli, &server, &["Hello"]);
    let mut out = child.stdout.take().unwrap();
    assert_eq!(read_until(&mut out, "first\n"), "first\n");
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert_eq!(rest.len(), PIECES * piece.len() + 1);
}

#[test]
fn every_failure_has_its_code_and_its_exit_status() {
    let cut = || Reply::Bytes(stream(&[text("Good ")]));
    let locked = || Reply::json(401, &json!({"error": {"message": "no"}}));
    let answer = |word: &'static str| Reply::Bytes(stream(&[text("Good "), end(word)]));
    let cases: [(Reply, &[&str], &str, i32); 9] = [
        (cut(), &[], "broken-stream", 5),
        (locked(), &[], "key-required", 5),
        (
            Reply::http(200, &[("content-type", "text/html")], b"<html>"),
            &[],
            "html",
            5,
        ),
        (answer("length"), &[], "unfinished-answer", 9),
        (answer("content_filter"), &[], "unfinished-answer", 5),
        (answer("tool_calls"), &[], "unfinished-answer", 5),
        (
            Reply::Hang(Vec::new()),
            &["--first-byte-timeout", "1"],
            "read-timeout",
            9,
        ),
        (
            Reply::Hang(stream(&[text("Good ")])),
            &["--idle-timeout", "1"],
            "read-timeout",
            9,
        ),
        (
            Reply::Drip(stream(&[text("Good ")])),
            &["--total-timeout", "1"],
            "read-timeout",
            9,
        ),
    ];
    for (reply, flags, code, exit) in cases {
        let server = FakeServer::start(move |_| reply.clone()).unwrap();
        let output = send(&agentos(), &server, &[&["Hello"], flags].concat());
        assert_eq!(output.code, Some(exit), "{code} {flags:?}: {output}");
        assert!(output.stderr.contains(&format!("[{code}]")), "{code}: {output}");
        if let Some(flag) = flags.first() {
            assert!(output.stderr.contains(&format!("{flag} SECONDS")), "{output}");
        }
    }
    let closed = format!("{}/v1", closed_port().unwrap());
    let calls: [(&[&str], &str, i32); 8] = [
        (
            &["-p", "vllm", "--base-url", &closed, "--model", "m", "Hello"],
            "refused",
            5,
        ),
        (&["-p", "anthropic", "Hello"], "missing-key", 5),
        (&["-p", "nobody", "Hello"], "usage", 2),
        (&["Hello"], "missing-provider", 2),
        (&["-p", "replay", "Hello"], "usage", 2),
        (&["-p", "claude-code", "Hello"], "usage", 2),
        (&["-p", "ollama", " "], "usage", 2),
        (&["-p", "ollama", "--image", "missing.png", "Hello"], "usage", 2),
    ];
    for (args, code, exit) in calls {
        let args = [&["chat", "send", "--json"], args].concat();
        let output = agentos().run(&args).unwrap();
        let error: Value = output.json().unwrap();
        validate_value(SchemaName::Error, &error).unwrap();
        assert_eq!(
            (error["error"]["code"].as_str(), output.code),
            (Some(code), Some(exit)),
            "{output}"
        );
    }
}

/// Where each wire takes an answer: what the servers are asked before does not matter here.
// LB-09, PB-06: one call, whichever adapter answers.
#[test]
fn an_image_reaches_every_wire() {
    for (provider, path) in [
        ("openai", "/v1"),
        ("lmstudio", "/v1"),
        ("vllm", "/v1"),
        ("llamacpp", ""),
        ("ollama", ""),
        ("anthropic", "/v1"),
        ("gemini", "/v1beta"),
    ] {
        let server = FakeServer::start(|request| match request.method.as_str() {
            "GET" => Reply::json(
                200,
                &json!({"data": [{"id": "m", "object": "model", "state": "loaded"}]}),
            ),
            _ => Reply::json(400, &json!({"error": {"message": "seen"}})),
        })
        .unwrap();
        let cli = agentos();
        let image = cli.home().join("shot.png");
        write_file(&image, PNG);
        let base = format!("{}{path}", server.url());
        let args = [
            "chat",
            "send",
            "-p",
            provider,
            "--base-url",
            &base,
            "--model",
            "m",
            "--send-key",
            "--image",
            image.to_str().unwrap(),
            "What is this?",
        ];
        let key = format!("AGENTOS_{}_API_KEY", provider.to_uppercase());
        let output = cli.env(key, "sk-0123456789abcdef").run(&args).unwrap();
        let requests = server.requests();
        let bodies: Vec<String> = requests
            .iter()
            .map(|request| request.json().to_string())
            .collect();
        assert!(
            bodies
                .iter()
                .any(|body| body.contains(PNG_BASE64) && body.contains("What is this?")),
            "{provider}: {bodies:?} {output}"
        );
    }
    let cli = agentos();
    let image = cli.home().join("shot.svg");
    write_file(&image, "<svg/>");
    let output = cli
        .run(&[
            "chat",
            "send",
            "-p",
            "ollama",
            "--image",
            image.to_str().unwrap(),
            "What?",
        ])
        .unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("PNG, JPEG, GIF or WebP"), "{output}");
}
