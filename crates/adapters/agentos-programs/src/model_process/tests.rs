//! Many requests, crashes and hostile children, with children that are threads of the test.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};

use agentos_model::{ChatEvent, ChatFinish, ChatMessage, ChatRequest};
use agentos_sandbox::{InputSource, OutputStream, StopHandle};
use agentos_tool::{FinishReason, FreeGate};

use super::*;
use crate::hosted_lines::{ChildLine, HostedLine, ParentLine, SEND_WINDOW};
use crate::server_reach::{NameLookup, ReadyStock, ServerAttempt};

mod gate;

const KEY: &str = "sk-test-0123456789abcdef";
const LIMITS: ProcessLimits = ProcessLimits {
    total: Duration::from_secs(600),
    idle: Duration::from_secs(600),
};

/// What a child has of its parent.
struct FakeChild<'a> {
    input: InputSource,
    seen: &'a mut dyn FnMut(OutputStream, &[u8]),
    /// Number of this child, from 1 on.
    number: usize,
}

impl FakeChild<'_> {
    /// Waits for the next line of the parent. `None` at the end of the input.
    fn next_line(&mut self) -> Option<ParentLine> {
        let line = self.input.next()?;
        serde_json::from_slice(&line).ok()
    }

    /// Waits for the next request, and returns its id and the text of its message.
    fn next_request(&mut self) -> Option<(u64, String)> {
        loop {
            if let ParentLine::Request { id, work } = self.next_line()? {
                return Some((id, text_of(&work)));
            }
        }
    }

    fn write(&mut self, line: &ChildLine) {
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        (self.seen)(OutputStream::Out, &text);
    }

    fn ready(&mut self) {
        let greeting = self.input.next();
        assert_eq!(greeting, Some(b"greeting\n".to_vec()));
        self.write(&ChildLine::Ready);
    }

    fn say(&mut self, id: u64, text: &str) {
        let text = text.to_owned();
        self.write_event(id, ChatEvent::Text { text });
    }

    fn finish(&mut self, id: u64) {
        let end = ChatFinish {
            finish: FinishReason::Stop,
            model_id: None,
            endpoint: None,
            latency_ms: 1,
            warnings: Vec::new(),
        };
        self.write_event(id, ChatEvent::Finish(end));
    }

    fn write_event(&mut self, id: u64, event: ChatEvent) {
        let line = HostedLine::Event { event };
        self.write(&ChildLine::Answer { id, line });
    }
}

fn text_of(work: &AdapterWork) -> String {
    match work {
        AdapterWork::Chat(request) | AdapterWork::WholeChat(request) => {
            request.system.clone().unwrap_or_default()
        }
        AdapterWork::Task(task) => task.task_id.to_string(),
        AdapterWork::Side(request) => format!("{request:?}"),
    }
}

type Play = dyn Fn(&mut FakeChild<'_>) -> Result<u8, AgentError> + Send + Sync;

struct FakeLauncher {
    play: Box<Play>,
    starts: Arc<AtomicUsize>,
    reach: ServerReach,
}

impl ProcessLauncher for FakeLauncher {
    fn name(&self) -> &str {
        "fake"
    }

    fn connect_server(&self) -> ServerAttempt {
        let obstacle = (self.reach != ServerReach::Open).then(|| vec!["nobody is there".to_owned()]);
        ServerAttempt {
            reach: self.reach,
            connection: None,
            obstacle,
        }
    }

    fn write_greeting(&self, _found: NameLookup) -> Result<Vec<u8>, String> {
        Ok(b"greeting".to_vec())
    }

    fn check_layers(&self, _stop: &StopHandle) -> Result<(), AgentError> {
        Ok(())
    }

    fn hide_secrets(&self, text: &str) -> String {
        text.replace(KEY, "[key]")
    }

    fn run_process(
        &self,
        _reach: ServerReach,
        _ready: &ReadyStock,
        input: InputSource,
        _stop: &StopHandle,
        seen: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Result<u8, AgentError> {
        let number = self.starts.fetch_add(1, Ordering::SeqCst) + 1;
        (self.play)(&mut FakeChild { input, seen, number })
    }
}

/// A process whose children do this.
fn process_of(
    play: impl Fn(&mut FakeChild<'_>) -> Result<u8, AgentError> + Send + Sync + 'static,
) -> (ModelProcess, Arc<AtomicUsize>) {
    process_with(LIMITS, ServerReach::Open, play)
}

fn process_with(
    limits: ProcessLimits,
    reach: ServerReach,
    play: impl Fn(&mut FakeChild<'_>) -> Result<u8, AgentError> + Send + Sync + 'static,
) -> (ModelProcess, Arc<AtomicUsize>) {
    let starts = Arc::new(AtomicUsize::new(0));
    let launcher = FakeLauncher {
        play: Box::new(play),
        starts: Arc::clone(&starts),
        reach,
    };
    let process = ModelProcess::with_launcher(Box::new(launcher), limits, Arc::default());
    (process, starts)
}

fn ask(process: &ModelProcess, text: &str) -> AnswerReader {
    let request = ChatRequest {
        system: Some(text.to_owned()),
        messages: vec![ChatMessage::from_user("x")],
        ..ChatRequest::default()
    };
    let sent = process.send_work(AdapterWork::Chat(request), Duration::from_secs(600));
    sent.unwrap_or_else(|error| panic!("{error}"))
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for the next line.
fn next(reader: &AnswerReader) -> Result<Option<HostedLine>, ToolError> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(reader.next_line(&FreeGate));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(line) => return line,
            Poll::Pending => thread::park(),
        }
    }
}

/// Reads an answer to its end, and returns its text.
fn read_all(reader: &AnswerReader) -> Result<String, ToolError> {
    let mut all = String::new();
    while let Some(line) = next(reader)? {
        if let HostedLine::Event {
            event: ChatEvent::Text { text },
        } = line
        {
            all.push_str(&text);
        }
    }
    Ok(all)
}

/// Answers each request with its own text, until the input ends.
fn echo_all(child: &mut FakeChild<'_>) -> Result<u8, AgentError> {
    child.ready();
    while let Some((id, text)) = child.next_request() {
        child.say(id, &text);
        child.finish(id);
    }
    Ok(0)
}

fn assert_nothing_left(process: &ModelProcess) {
    let slot = process.open_slot().unwrap();
    // The reader of an answer can be faster than the thread that writes its last credit.
    for _ in 0..1_000_000 {
        if slot.count_all().2 == 0 {
            break;
        }
        thread::yield_now();
    }
    assert_eq!(slot.count_all(), (0, 0, 0));
}

#[test]
fn a_thousand_requests_in_one_process_leave_nothing_behind() {
    let (process, starts) = process_of(echo_all);
    for round in 0..100 {
        let readers: Vec<_> = (0..10)
            .map(|number| (number, ask(&process, &format!("{round}/{number}"))))
            .collect();
        for (number, reader) in readers {
            assert_eq!(read_all(&reader).unwrap(), format!("{round}/{number}"));
        }
        assert_nothing_left(&process);
    }
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

#[test]
fn answers_that_arrive_mixed_are_not_mixed_up() {
    let (process, _) = process_of(|child| {
        child.ready();
        let mut asked = Vec::new();
        while asked.len() < 20 {
            asked.extend(child.next_request());
        }
        for round in 0..50 {
            for (id, text) in &asked {
                child.say(*id, &format!("{text}.{round} "));
            }
        }
        asked.iter().rev().for_each(|(id, _)| child.finish(*id));
        while child.next_line().is_some() {}
        Ok(0)
    });
    let readers: Vec<_> = (0..20).map(|number| ask(&process, &number.to_string())).collect();
    for (number, reader) in readers.iter().enumerate() {
        let expected: String = (0..50).map(|round| format!("{number}.{round} ")).collect();
        assert_eq!(read_all(reader).unwrap(), expected);
    }
}

/// A child that reports each line of its parent, and writes the lines that it is given when a request is cancelled.
fn commanded(
    reports: Sender<ParentLine>,
    commands: Receiver<ChildLine>,
) -> impl Fn(&mut FakeChild<'_>) -> Result<u8, AgentError> + Send + Sync + 'static {
    let both = Mutex::new((reports, commands));
    move |child| {
        child.ready();
        let both = both.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(line) = child.next_line() {
            let is_cancel = matches!(line, ParentLine::Cancel { .. });
            let _ = both.0.send(line);
            if is_cancel {
                both.1.iter().for_each(|line| child.write(&line));
            }
        }
        Ok(0)
    }
}

#[test]
fn one_of_three_is_cancelled_and_the_others_go_on() {
    let (report, reports) = channel();
    let (command, commands) = channel();
    let (process, starts) = process_of(commanded(report, commands));
    let mut readers: Vec<_> = (0..3).map(|number| ask(&process, &number.to_string())).collect();
    let ids: Vec<(u64, String)> = (0..3)
        .map(|_| match reports.recv().unwrap() {
            ParentLine::Request { id, work } => (id, text_of(&work)),
            other => panic!("{other:?}"),
        })
        .collect();
    let id_of = |text: &str| ids.iter().find(|(_, known)| known == text).unwrap().0;
    let answer = |id, line| command.send(ChildLine::Answer { id, line }).unwrap();
    let say = |id, text: &str| {
        let text = text.to_owned();
        let event = ChatEvent::Text { text };
        answer(id, HostedLine::Event { event });
    };
    // All of this is written when the cancellation arrives: the events of the cancelled one are on their way then.
    for text in ["0", "1", "2"] {
        say(id_of(text), text);
    }
    answer(id_of("1"), HostedLine::Cancelled);
    for text in ["0", "2"] {
        let end = serde_json::json!({ "type": "finish", "finish": "stop", "latency_ms": 1 });
        let event = serde_json::from_value(end).unwrap();
        answer(id_of(text), HostedLine::Event { event });
    }
    drop(command);
    drop(readers.remove(1));
    match reports.recv().unwrap() {
        ParentLine::Cancel { id } => assert_eq!(id, id_of("1")),
        other => panic!("{other:?}"),
    }
    assert_eq!(read_all(&readers[0]).unwrap(), "0");
    assert_eq!(read_all(&readers[1]).unwrap(), "2");
    assert_nothing_left(&process);
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

#[test]
fn a_reader_that_does_not_read_stops_its_own_answer_only() {
    const PIECE: usize = 1000;
    const PIECES: usize = 4 * SEND_WINDOW / PIECE;
    let (filled, full) = channel();
    let filled = Mutex::new(filled);
    let (process, _) = process_of(move |child| {
        child.ready();
        let (mut sent, mut unread, mut big) = (0, 0, None);
        while let Some(line) = child.next_line() {
            match line {
                ParentLine::Request { id, work } if text_of(&work) == "big" => big = Some(id),
                ParentLine::Request { id, .. } => {
                    child.say(id, "small");
                    child.finish(id);
                }
                ParentLine::Credit { bytes, .. } => unread -= bytes,
                ParentLine::Cancel { .. } | ParentLine::Permit { .. } => {}
            }
            let Some(id) = big else { continue };
            while unread < SEND_WINDOW && sent < PIECES {
                let event = ChatEvent::Text {
                    text: "x".repeat(PIECE),
                };
                let line = ChildLine::Answer {
                    id,
                    line: HostedLine::Event { event },
                };
                unread += serde_json::to_vec(&line).unwrap().len() + 1;
                sent += 1;
                child.write(&line);
            }
            if sent == PIECES {
                child.finish(id);
                big = None;
            }
            let _ = filled.lock().unwrap_or_else(PoisonError::into_inner).send(sent);
        }
        Ok(0)
    });
    let big = ask(&process, "big");
    // The window is full, and nothing of the answer was read.
    let sent = full.recv().unwrap();
    assert!(sent * PIECE <= SEND_WINDOW && sent < PIECES, "{sent}");
    for _ in 0..3 {
        assert_eq!(read_all(&ask(&process, "small")).unwrap(), "small");
        assert_eq!(full.recv().unwrap(), sent);
    }
    assert_eq!(read_all(&big).unwrap().len(), PIECES * PIECE);
    assert_nothing_left(&process);
}

#[test]
fn a_crash_fails_what_runs_and_what_waits_gets_the_next_process() {
    let (process, starts) = process_of(|child| {
        if child.number > 1 {
            return echo_all(child);
        }
        child.ready();
        let (id, text) = child.next_request().unwrap();
        child.say(id, &text);
        (child.seen)(
            OutputStream::Err,
            format!("\nout of memory at {KEY}\n\n").as_bytes(),
        );
        Ok(137)
    });
    let reader = ask(&process, "first");
    assert!(matches!(next(&reader), Ok(Some(HostedLine::Event { .. }))));
    let error = next(&reader).unwrap_err();
    assert_eq!(
        error.message,
        "the confined process of `fake` ended with exit code 137: out of memory at [key]"
    );
    assert_eq!(error.detail, "exit-code");
    assert!(matches!(next(&reader), Ok(None)));
    // The next request starts a new process; the first was not sent again.
    assert_eq!(read_all(&ask(&process, "second")).unwrap(), "second");
    assert_eq!(starts.load(Ordering::SeqCst), 2);
    assert_nothing_left(&process);
}

#[test]
fn a_request_that_was_not_written_survives_two_processes_that_die_at_once() {
    let (process, starts) = process_of(|child| match child.number {
        1 | 2 => Ok(1),
        _ => echo_all(child),
    });
    assert_eq!(read_all(&ask(&process, "patient")).unwrap(), "patient");
    assert_eq!(starts.load(Ordering::SeqCst), 3);
}

#[test]
fn a_process_that_always_dies_is_not_started_in_a_loop() {
    let (process, starts) = process_of(|child| {
        (child.seen)(OutputStream::Err, b"one\ntwo\nthree\nfour\n");
        Ok(3)
    });
    let error = read_all(&ask(&process, "x")).unwrap_err();
    assert_eq!(
        error.message,
        "the confined process of `fake` ended with exit code 3: two / three / four; 3 processes in a row ended like this"
    );
    assert_eq!(starts.load(Ordering::SeqCst), 3);
    // Each later request tries once.
    assert!(read_all(&ask(&process, "x")).is_err());
    assert_eq!(starts.load(Ordering::SeqCst), 4);
    assert_nothing_left(&process);
}

#[test]
fn a_process_that_cannot_be_confined_is_not_tried_again() {
    let (process, starts) = process_of(|_| Err(SandboxError::NotConfined("no".to_owned()).into()));
    let error = read_all(&ask(&process, "x")).unwrap_err();
    assert_eq!(error.detail, "not-confined");
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

#[test]
fn a_child_that_breaks_its_protocol_is_ended_with_all_its_answers() {
    let hostile: [(&str, &[u8]); 4] = [
        ("a line is not a message", b"hello\n"),
        (
            "a message names a request that is not running",
            b"{\"answer\":{\"id\":77,\"line\":{\"type\":\"event\",\"event\":{\"type\":\"text\",\"text\":\"x\"}}}}\n",
        ),
        ("the greeting was acknowledged twice", b"\"ready\"\n"),
        (
            "a message does not belong to this kind of request",
            b"{\"answer\":{\"id\":1,\"line\":{\"type\":\"text\",\"text\":\"x\"}}}\n",
        ),
    ];
    for (fault, line) in hostile {
        let line = line.to_vec();
        let (process, _) = process_of(move |child| {
            if child.number > 1 {
                return echo_all(child);
            }
            child.ready();
            let asked = [child.next_request(), child.next_request()];
            (child.seen)(OutputStream::Out, &line);
            // What comes after the fault reaches nobody.
            for (id, _) in asked.into_iter().flatten() {
                child.say(id, "late");
                child.finish(id);
            }
            while child.next_line().is_some() {}
            Ok(0)
        });
        let readers = [ask(&process, "a"), ask(&process, "b")];
        for reader in &readers {
            let error = read_all(reader).unwrap_err();
            assert_eq!(
                error.message,
                format!("the confined process of `fake` was ended, because it broke its protocol: {fault}")
            );
        }
        assert_eq!(read_all(&ask(&process, "c")).unwrap(), "c");
        assert_nothing_left(&process);
    }
}

#[test]
fn an_idle_process_ends_and_the_next_request_has_a_new_one() {
    let (ended, ends) = channel();
    let ended = Mutex::new(ended);
    let limits = ProcessLimits {
        idle: Duration::ZERO,
        ..LIMITS
    };
    let (process, starts) = process_with(limits, ServerReach::Open, move |child| {
        let code = echo_all(child);
        let _ = ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(child.number);
        code
    });
    for number in 1..=3 {
        assert_eq!(read_all(&ask(&process, "x")).unwrap(), "x");
        assert_eq!(ends.recv().unwrap(), number);
    }
    assert_eq!(starts.load(Ordering::SeqCst), 3);
}

#[test]
fn dropping_the_owner_ends_the_process_and_fails_what_runs() {
    let (started, starts) = channel();
    let started = Mutex::new(started);
    let (process, _) = process_of(move |child| {
        child.ready();
        let _ = child.next_request();
        let _ = started.lock().unwrap_or_else(PoisonError::into_inner).send(());
        while child.next_line().is_some() {}
        Err(SandboxError::Stopped.into())
    });
    let reader = ask(&process, "x");
    starts.recv().unwrap();
    drop(process);
    assert_eq!(next(&reader).unwrap_err().detail, "sandbox");
}

#[test]
fn a_server_that_cannot_be_reached_has_a_process_of_its_own() {
    let (process, _) = process_with(LIMITS, ServerReach::Refused, |child| {
        child.ready();
        while let Some((id, _)) = child.next_request() {
            let mut error = AgentError::Thread.into_tool_error(0);
            error.causes = vec!["what the sandbox says".to_owned()];
            let line = HostedLine::Error { error };
            child.write(&ChildLine::Answer { id, line });
        }
        Ok(0)
    });
    let error = read_all(&ask(&process, "x")).unwrap_err();
    assert_eq!(error.causes, ["nobody is there"]);
}
