//! A conversation on a terminal: keys, several lines, history and completion.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use agentos_testkit::cli::{Cli, send_signal};
use agentos_testkit::server::{FakeServer, Recorded, Reply, head};
use serde_json::json;

use crate::sessions::{add_provider, counting_server, ok, say};
use crate::support::{agentos, call_on_terminal};

/// Sign of a line editor that waits for keys: the terminal is asked to mark pastes.
const READY: &str = "\u{1b}[?2004h";
const UP: &str = "\u{1b}[A";
const LEFT: &str = "\u{1b}[D";

/// A program on a terminal, and a person who types.
struct Typist {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    seen: Vec<u8>,
    /// Bytes of `seen` that were waited for.
    at: usize,
}

impl Typist {
    /// Starts the line of a shell. `None`, with a word on screen, if no terminal can be made.
    fn start(cli: &Cli, columns: usize, line: &str) -> Option<Self> {
        let mut child = call_on_terminal(cli, cli.home(), (columns, 24), line)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Some(Self {
            child,
            keys,
            screen,
            seen: Vec::new(),
            at: 0,
        })
    }

    /// Reads the screen until it shows this text, behind what was waited for before.
    fn wait_for(&mut self, text: &str) {
        let mut piece = [0; 1024];
        loop {
            let new = String::from_utf8_lossy(&self.seen[self.at..]).into_owned();
            if let Some(found) = new.find(text) {
                // Only ASCII is waited for, so that bytes can be counted; lossy text may be longer than its bytes.
                self.at = (self.at + found + text.len()).min(self.seen.len());
                return;
            }
            let length = self.screen.read(&mut piece).unwrap();
            assert!(length > 0, "`{text}` did not come: {new}");
            self.seen.extend_from_slice(&piece[..length]);
        }
    }

    fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns the number of the process that the screen shows behind `pid=`.
    fn read_number(&self) -> u32 {
        let screen = String::from_utf8_lossy(&self.seen).into_owned();
        let (_, after) = screen.split_once("pid=").unwrap();
        after.lines().next().unwrap().trim().parse().unwrap()
    }

    /// Reads the rest of the screen. Returns the exit code and everything that was shown.
    fn finish(mut self) -> (Option<i32>, String) {
        self.screen.read_to_end(&mut self.seen).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, String::from_utf8_lossy(&self.seen).into_owned())
    }
}

/// The last message of each request.
fn list_sent(server: &FakeServer) -> Vec<String> {
    let last = |request: &Recorded| {
        let messages = request.json()["messages"].clone();
        messages.as_array().unwrap().last().unwrap()["content"].to_string()
    };
    server.requests().iter().map(last).collect()
}

fn chat_line(more: &str) -> String {
    format!(
        "exec {} chat -p mine -c talk {more}",
        env!("CARGO_BIN_EXE_agentos")
    )
}

#[test]
fn a_line_is_edited_with_history_completion_and_several_lines() {
    let cli = agentos();
    let server = counting_server(&cli);
    let Some(mut typist) = Typist::start(&cli, 80, &chat_line("")) else {
        return;
    };
    let typed: &[(&str, &str)] = &[
        (&format!("Helo{LEFT}l\r"), "messages"),
        (&format!("{UP} again\r"), "messages"),
        ("\u{1b}[200~one\ntwo \\\nthree\u{1b}[201~\r", "messages"),
        ("\"\"\"\rfirst\rsecond\"\"\"\r", "messages"),
        ("a \\\rb\u{1b}\rc\r", "messages"),
        ("never sent\u{3}", "cleared"),
        ("/mod\tmi\t\r", "mine answers from the next turn on"),
        ("/stat\t\r", "session  conversation:talk"),
        ("/modle\r", "did you mean `/model`?"),
    ];
    for (keys, shown) in typed {
        typist.wait_for(READY);
        typist.type_keys(keys);
        typist.wait_for(shown);
    }
    typist.wait_for(READY);
    typist.type_keys("\u{4}");
    let (code, screen) = typist.finish();
    // The status of the last line, as without a terminal.
    assert_eq!(code, Some(2), "{screen}");
    assert_eq!(
        list_sent(&server),
        [
            r#""Hello""#,
            r#""Hello again""#,
            r#""one\ntwo \\\nthree""#,
            r#""first\nsecond""#,
            r#""a \nb\nc""#,
        ]
    );
}

#[test]
fn a_text_of_several_lines_is_recalled_as_it_was_sent() {
    let cli = agentos();
    let server = counting_server(&cli);
    let Some(mut typist) = Typist::start(&cli, 80, &chat_line("")) else {
        return;
    };
    for keys in [
        "one\\\rtwo\r".to_owned(),
        format!("{UP}\r"),
        // The backslash of a command that was pasted stays when another one begins a new line.
        "\u{1b}[200~cp a \\\n  b\u{1b}[201~\\\rnow\r".to_owned(),
        format!("{UP} or later\r"),
        "\"\"\"\rfirst\rsecond\"\"\"\r".to_owned(),
        format!("{UP}\r"),
    ] {
        typist.wait_for(READY);
        typist.type_keys(&keys);
        typist.wait_for("messages");
    }
    typist.wait_for(READY);
    typist.type_keys("\u{4}");
    let (code, screen) = typist.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(
        list_sent(&server),
        [
            r#""one\ntwo""#,
            r#""one\ntwo""#,
            r#""cp a \\\n  b\nnow""#,
            r#""cp a \\\n  b\nnow or later""#,
            r#""first\nsecond""#,
            r#""first\nsecond""#,
        ]
    );
}

#[test]
fn the_history_has_no_text_that_a_terminal_would_interpret() {
    let cli = agentos();
    let server = counting_server(&cli);
    say(&cli, "talk", "plain words");
    for text in ["red \u{1b}]0;title\u{7}", "turned \u{202e}sdrow"] {
        say(&cli, "talk", text);
    }
    let Some(mut typist) = Typist::start(&cli, 80, &chat_line("")) else {
        return;
    };
    typist.wait_for(READY);
    typist.type_keys(&format!("{UP}\r"));
    typist.wait_for("messages");
    typist.wait_for(READY);
    typist.type_keys("\u{4}");
    let (_, screen) = typist.finish();
    assert!(
        !screen.contains("\u{1b}]0;") && !screen.contains('\u{202e}'),
        "{screen:?}"
    );
    assert_eq!(list_sent(&server).last().unwrap(), r#""plain words""#);
}

#[test]
fn the_history_is_that_of_the_session_and_goes_with_it() {
    let cli = agentos();
    let server = counting_server(&cli);
    let Some(mut first) = Typist::start(&cli, 80, &chat_line("")) else {
        return;
    };
    first.wait_for(READY);
    first.type_keys("The password is tulip.\r");
    first.wait_for("messages");
    first.wait_for(READY);
    first.type_keys("\u{4}");
    assert_eq!(first.finish().0, Some(0));
    let mut second = Typist::start(&cli, 80, &chat_line("")).unwrap();
    second.wait_for(READY);
    second.type_keys(&format!("{UP}\r"));
    second.wait_for("messages");
    second.wait_for(READY);
    second.type_keys("\u{4}");
    assert_eq!(second.finish().0, Some(0));
    assert_eq!(list_sent(&server), [r#""The password is tulip.""#; 2]);
    ok(&cli, &["chat", "delete", "talk"]);
    let holding = find_files_with(cli.home(), "tulip");
    assert!(holding.is_empty(), "{holding:?}");
}

/// Returns the files below a folder that contain a word.
fn find_files_with(folder: &std::path::Path, word: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if entry.is_dir() {
            found.extend(find_files_with(&entry, word));
        } else if entry.is_file() && String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).contains(word) {
            found.push(entry);
        }
    }
    found
}

#[test]
fn a_signal_at_the_prompt_leaves_the_terminal_as_it_was() {
    let cli = agentos();
    let _server = counting_server(&cli);
    let line = format!("sh -c 'echo pid=$$; {}'; echo code=$?; stty -a", chat_line(""));
    let Some(mut typist) = Typist::start(&cli, 80, &line) else {
        return;
    };
    typist.wait_for(READY);
    typist.type_keys("half a line");
    typist.wait_for("half a line");
    assert!(send_signal(typist.read_number(), "TERM"));
    let (_, screen) = typist.finish();
    assert!(screen.contains("SIGTERM: the session stays"), "{screen}");
    let (_, after) = screen.split_once("code=143").unwrap();
    for mode in ["icanon", "echo", "isig"] {
        assert!(
            after.split_whitespace().any(|word| word == mode),
            "{mode}: {after}"
        );
    }
}

#[test]
fn sigterm_in_an_answer_ends_the_conversation() {
    let cli = agentos();
    // The first answer never ends; a second one would.
    let server = FakeServer::start(|request| {
        let event =
            json!({ "model": "tiny", "choices": [{ "index": 0, "delta": { "content": "begun words" } }] });
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {event}\n\n").as_bytes());
        match request.json().to_string().contains("Hello") {
            true => Reply::Hang(bytes),
            false => Reply::Bytes(bytes),
        }
    })
    .unwrap();
    add_provider(&cli, "mine", &server);
    let line = format!("sh -c 'echo pid=$$; {}'; echo code=$?", chat_line(""));
    let Some(mut typist) = Typist::start(&cli, 80, &line) else {
        return;
    };
    typist.wait_for(READY);
    typist.type_keys("Hello\r");
    // The end of a word shows it.
    typist.wait_for("begun");
    typist.type_keys("the next line\n/exit\n");
    assert!(send_signal(typist.read_number(), "TERM"));
    typist.wait_for("code=");
    let (_, screen) = typist.finish();
    assert!(screen.contains("code=143"), "{screen}");
    assert_eq!(list_sent(&server), [r#""Hello""#]);
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_plain_lines() {
    let cli = agentos();
    let server = counting_server(&cli);
    let Some(mut typist) = Typist::start(
        &cli,
        80,
        &format!("TERM=dumb {}", chat_line("").replace("exec ", "")),
    ) else {
        return;
    };
    typist.wait_for("> ");
    typist.type_keys("Hello \\\nagain\n");
    typist.wait_for("1 messages");
    typist.wait_for("> ");
    typist.type_keys("\u{4}");
    let (code, screen) = typist.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains(READY), "{screen}");
    assert_eq!(list_sent(&server), [r#""Hello \nagain""#]);
}

/// A server that answers with this text, in pieces of seven characters.
fn writing_server(cli: &Cli, text: &'static str) -> FakeServer {
    let server = FakeServer::start(move |_| {
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(7) {
            let content: String = piece.iter().collect();
            let event =
                json!({ "model": "tiny", "choices": [{ "index": 0, "delta": { "content": content } }] });
            bytes.extend_from_slice(format!("data: {event}\n\n").as_bytes());
        }
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2}});
        bytes.extend_from_slice(format!("data: {end}\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap();
    add_provider(cli, "mine", &server);
    server
}

#[test]
fn markdown_is_styled_on_a_terminal_and_nowhere_else() {
    const ANSWER: &str = "# Title\nA **bold** word and `code`.";
    let cli = agentos();
    let _server = writing_server(&cli, ANSWER);
    let call = |variables: &str, more: &str| {
        let program = env!("CARGO_BIN_EXE_agentos");
        let line = format!("unset NO_COLOR; {variables} {program} chat send -p mine Hello {more}");
        let typist = Typist::start(&cli, 80, &line)?;
        Some(typist.finish().1.replace('\r', ""))
    };
    let Some(styled) = call("", "") else { return };
    assert!(
        styled.contains(
            "\u{1b}[1m\u{1b}[4mTitle\u{1b}[0m\nA \u{1b}[1mbold\u{1b}[0m word and \u{1b}[36mcode\u{1b}[0m."
        ),
        "{styled:?}"
    );
    for (variables, more) in [
        ("", "--plain"),
        ("NO_COLOR=1", ""),
        ("TERM=dumb", ""),
        ("", "| cat"),
    ] {
        let plain = call(variables, more).unwrap();
        assert!(plain.contains(ANSWER), "{variables} {more}: {plain:?}");
    }
    let piped = ok(&cli, &["chat", "send", "-p", "mine", "Hello"]);
    assert_eq!(piped.stdout, format!("{ANSWER}\n"));
}
