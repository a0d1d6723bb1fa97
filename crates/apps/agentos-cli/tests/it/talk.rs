//! A conversation on a terminal: keys, several lines, history and completion.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use agentos_testkit::cli::{Cli, send_signal};
use agentos_testkit::server::{FakeServer, Recorded};

use crate::sessions::{counting_server, ok};
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
    let screen = String::from_utf8_lossy(&typist.seen).into_owned();
    let (_, after) = screen.split_once("pid=").unwrap();
    let number = after.lines().next().unwrap().trim().parse().unwrap();
    assert!(send_signal(number, "TERM"));
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
