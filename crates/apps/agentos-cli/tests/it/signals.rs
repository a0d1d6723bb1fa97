//! Ctrl-C, SIGTERM and SIGHUP: every verb ends with its code and a word on what remains, and a question stays open.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use agentos_testkit::cli::{CliOutput, program, send_signal};
use agentos_testkit::repo::{TestRepo, make_fifo, write_file};
use agentos_testkit::server::{FakeServer, Reply};

use crate::support::{
    SLOPPY_FIX, WORKFLOW_EDIT, agentos, call_on_terminal, chat_server, openai_at, pipe_in, run_in, small_repo,
};

/// The signals, with the exit code and the name that the program says.
const SIGNALS: [(&str, i32, &str); 3] = [
    ("INT", 130, "Ctrl-C"),
    ("TERM", 143, "SIGTERM"),
    ("HUP", 129, "SIGHUP"),
];

/// The end of the question for consent.
const QUESTION: &str = "[e]xplain: ";

/// Way in which a person leaves the question.
#[derive(Debug, Clone, Copy)]
enum Leave {
    /// Types this: Ctrl-C or Ctrl-D.
    Key(&'static [u8]),
    /// Sends this signal.
    Signal(&'static str),
}

/// Calls the program on a terminal, and leaves it at its question for consent. Returns the exit code and the screen.
/// `None`, with a word on screen, if no terminal can be made.
fn leave_question(repo: &TestRepo, call: &str, leave: Leave) -> Option<(Option<i32>, String)> {
    // The shell's process becomes the program, so its number is known.
    let line = format!("echo pid=$$; exec {} {call}", env!("CARGO_BIN_EXE_agentos"));
    let mut child = call_on_terminal(&agentos(), repo.path(), (60, 24), &line)?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut seen = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let length = screen.read(&mut piece).unwrap();
        seen.extend_from_slice(&piece[..length]);
        if length == 0 || String::from_utf8_lossy(&seen).contains(QUESTION) {
            break;
        }
    }
    match leave {
        Leave::Key(key) => keys.write_all(key).unwrap(),
        Leave::Signal(name) => {
            let text = String::from_utf8_lossy(&seen);
            let (_, after) = text.split_once("pid=").unwrap();
            let number = after.lines().next().unwrap().trim().parse().unwrap();
            assert!(send_signal(number, name));
        }
    }
    screen.read_to_end(&mut seen).unwrap();
    let code = child.wait().unwrap().code();
    Some((code, String::from_utf8_lossy(&seen).into_owned()))
}

/// Opens a FIFO for writing, which waits until the program opens it for reading, and keeps it open.
fn hold_open(fifo: &Path) -> Child {
    let line = format!("exec 3>'{}'; echo open; cat >&3", fifo.display());
    let mut writer = program("sh")
        .args(["-c", &line])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut word = [0; 5];
    writer.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    writer
}

/// Writes a text into a FIFO that is held open, and closes it.
fn close(mut writer: Child, text: &str) {
    // The program may have closed its end already.
    let _ = writer.stdin.take().unwrap().write_all(text.as_bytes());
    writer.wait().unwrap();
}

/// Number of requests that wait for a person.
fn open_requests(repo: &TestRepo) -> usize {
    let open = run_in(repo, &["approve", "--json"]).json().unwrap();
    open["requests"].as_array().unwrap().len()
}

#[test]
fn a_question_that_is_left_stays_open() {
    let leaves = [
        (Leave::Key(b"\x03"), 130),
        (Leave::Key(b"\x04"), 130),
        (Leave::Signal("TERM"), 143),
        (Leave::Signal("HUP"), 129),
    ];
    for (leave, code) in leaves {
        for call in [
            "apply fix.diff",
            "run -p replay --replay fix.diff --context none add-ci",
            "approve",
        ] {
            let repo = small_repo();
            repo.write("fix.diff", WORKFLOW_EDIT);
            let mut call = call.to_owned();
            if call == "approve" {
                let asked = pipe_in(&repo, &["apply", "-", "--json"], WORKFLOW_EDIT)
                    .json()
                    .unwrap();
                call = format!("approve {}", asked["run"].as_str().unwrap());
            }
            let Some((ended, seen)) = leave_question(&repo, &call, leave) else {
                return;
            };
            assert_eq!(ended, Some(code), "{call} {leave:?}: {seen}");
            // The terminal is narrow, and a sentence is wrapped.
            let words = seen.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains("the request stays open") && words.contains("agentos approve"),
                "{call} {leave:?}: {seen}"
            );
            assert_eq!(open_requests(&repo), 1, "{call} {leave:?}: {seen}");
            assert!(!repo.has(".github/workflows/ci.yml"));
            assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
        }
    }
}

#[test]
fn a_no_to_the_question_leaves_the_request_open_and_says_how_to_close_it() {
    let repo = small_repo();
    let asked = pipe_in(&repo, &["apply", "-", "--json"], WORKFLOW_EDIT)
        .json()
        .unwrap();
    let call = format!("approve {}", asked["run"].as_str().unwrap());
    let Some((ended, seen)) = leave_question(&repo, &call, Leave::Key(b"n\n")) else {
        return;
    };
    assert_eq!(ended, Some(4), "{seen}");
    assert!(
        seen.contains("the request stays open") && seen.contains("`agentos deny "),
        "{seen}"
    );
    assert_eq!(open_requests(&repo), 1, "{seen}");
    assert_eq!(run_in(&repo, &["deny", "@~1"]).code, Some(0));
    assert_eq!(open_requests(&repo), 0);
}

#[test]
fn the_status_line_is_cleared_before_the_question() {
    let repo = small_repo();
    repo.write("fix.diff", WORKFLOW_EDIT);
    let call = "run -p replay --replay fix.diff --context none add-ci";
    let Some((_, seen)) = leave_question(&repo, call, Leave::Key(b"\x03")) else {
        return;
    };
    let (before, _) = seen.split_once("policy asks for your consent").unwrap();
    assert!(before.contains("waiting for the first token"), "{seen:?}");
    let line = before.rsplit('\n').next().unwrap();
    // What was drawn on the line of the question is cleared.
    let (_, left) = line.rsplit_once("\r\u{1b}[2K").unwrap_or(("", line));
    assert_eq!(left.replace("\u{1b}[33m", ""), "", "{seen:?}");
}

#[test]
fn a_signal_ends_a_model_call_with_its_code_and_a_record() {
    for (name, code, _) in SIGNALS {
        let repo = small_repo();
        let server = FakeServer::start(|_| Reply::Hang(Vec::new())).unwrap();
        let flags = openai_at(&server.url());
        let mut args = vec!["run", "task"];
        args.extend(flags.iter().map(String::as_str));
        let cli = agentos().in_dir(repo.path());
        let child = cli
            .command(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(server.saw_request(Duration::from_secs(30)));
        assert!(send_signal(child.id(), name));
        let output = CliOutput::from(child.wait_with_output().unwrap());
        assert_eq!(output.code, Some(code), "{name}: {output}");
        assert!(output.stderr.contains("stopped by the user"), "{name}: {output}");
        let list = run_in(&repo, &["evidence", "list"]).stdout;
        assert!(list.contains("  interrupted  "), "{name}: {list}");
    }
}

#[test]
fn a_signal_ends_a_verb_that_waits_for_its_input() {
    for (name, code, word) in SIGNALS {
        let repo = small_repo();
        let fifo = repo.outside().join("answer");
        make_fifo(&fifo);
        let cli = agentos().in_dir(repo.path());
        let child = cli
            .command(&["apply", fifo.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let writer = hold_open(&fifo);
        assert!(send_signal(child.id(), name));
        let output = CliOutput::from(child.wait_with_output().unwrap());
        close(writer, "");
        assert_eq!(output.code, Some(code), "{name}: {output}");
        assert_eq!(output.stderr, format!("{word}: nothing was written\n"));
    }
}

/// Waits until the run has stored the answer that it was given: what follows is placing it.
fn wait_for_answer(repo: &TestRepo) {
    let blobs = repo.path().join(".git/agentos/blobs");
    let is_stored = || {
        let blobs = std::fs::read_dir(&blobs).into_iter().flatten().flatten();
        blobs.filter(|blob| blob.path().extension().is_none()).count() > 0
    };
    while !is_stored() {
        std::thread::yield_now();
    }
}

/// Comparing this hunk with every line of the file takes far longer than a signal needs. A run that ignored the signal would
/// refuse the answer, and end with 6.
#[test]
fn a_signal_ends_a_landing_that_takes_long() {
    let lines: String = (0..400_000).map(|n| format!("line {}\n", n / 3)).collect();
    let answer =
        "--- a/big.txt\n+++ b/big.txt\n@@ -7,4 +7,4 @@\n line 133332\n line 133333\n-line 133333\n+LINE\n \n";
    for (name, code, word) in SIGNALS {
        let repo = small_repo();
        write_file(&repo.path().join("big.txt"), &lines);
        repo.git(&["add", "big.txt"]);
        repo.git(&["commit", "-qm", "big"]);
        let answer_file = repo.outside().join("answer");
        write_file(&answer_file, answer);
        let cli = agentos().in_dir(repo.path());
        let child = cli
            .command(&["apply", answer_file.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_answer(&repo);
        assert!(send_signal(child.id(), name));
        let output = CliOutput::from(child.wait_with_output().unwrap());
        assert_eq!(output.code, Some(code), "{name}: {output}");
        assert!(
            output.stderr.contains(word) || output.stderr.contains("stopped"),
            "{name}: {output}"
        );
        assert_eq!(repo.git(&["status", "--porcelain"]), "", "{name}");
        // Nothing is left to finish or to roll back, and the tape is whole.
        let verified = run_in(&repo, &["evidence", "verify"]);
        assert_eq!(verified.code, Some(0), "{name}: {verified}");
    }
}

#[test]
fn a_signal_ends_a_health_check_that_is_repeated() {
    for (name, code, word) in SIGNALS {
        let server = chat_server(SLOPPY_FIX, || {});
        let flags = openai_at(&server.url());
        let mut args = vec!["tool", "health", "--watch=1"];
        args.extend(flags.iter().map(String::as_str));
        let cli = agentos();
        let mut child = cli
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let sent = send_signal(child.id(), name);
        let output = CliOutput::from(child.wait_with_output().unwrap());
        assert!(sent && first.contains("connected"), "{name}: {first}{output}");
        assert_eq!(output.code, Some(code), "{name}: {output}");
        assert_eq!(output.stderr, format!("{word}: nothing was written\n"));
    }
}

/// `nohup` starts a program with SIGHUP ignored, so that it outlives the terminal.
#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    let repo = small_repo();
    let fifo = repo.outside().join("answer");
    make_fifo(&fifo);
    let line = format!(
        "trap '' HUP; exec {} apply {}",
        env!("CARGO_BIN_EXE_agentos"),
        fifo.display()
    );
    let child = program("sh")
        .args(["-c", &line])
        .current_dir(repo.path())
        .env_clear()
        .envs(agentos().world())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let writer = hold_open(&fifo);
    assert!(send_signal(child.id(), "HUP"));
    close(writer, SLOPPY_FIX);
    let output = CliOutput::from(child.wait_with_output().unwrap());
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_run_that_was_killed_did_not_end() {
    let repo = small_repo();
    let server = FakeServer::start(|_| Reply::Hang(Vec::new())).unwrap();
    let flags = openai_at(&server.url());
    let mut args = vec!["run", "task"];
    args.extend(flags.iter().map(String::as_str));
    let cli = agentos().in_dir(repo.path());
    let mut child = cli
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(server.saw_request(Duration::from_secs(30)));
    child.kill().unwrap();
    child.wait().unwrap();
    let list = run_in(&repo, &["evidence", "list"]).stdout;
    assert!(list.contains("  did not end  "), "{list}");
}
