//! This program as the confined process of an adapter: it reads requests until its input ends.
//!
//! Owns: the requests that run, the window of each, and their lines. Never: keeps anything but a connection of a request that has ended, or goes on
//! without its parent.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::poll_fn;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread;

use agentos_generic_http::ToolCaller;
use agentos_model::{ChatEvent, ChatStream};
use agentos_net::Names;
use agentos_programs::{AdapterWork, ChildLine, HostedLine, NameLookup, ParentLine, SEND_WINDOW};
use agentos_tool::{BoxFuture, Progress, ProgressSink, Secret, SendGate, SendingSize, ToolError, ToolTask};
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use super::{HostedGreeting, VERB};
use agentos_ground::runtime;
use agentos_providers::servers::Hosting;

/// Lines of the parent that wait at most. The pipe holds the rest back.
const MOST_WAITING: usize = 16;

/// Runs as a hosted adapter if these arguments (without the program's name) say so, and returns the exit code. `None` if they
/// do not.
pub(crate) fn run_as_child(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    // Exactly one argument: with more, this is no call of ours, and the ordinary program reports an unknown verb.
    if args.next()? != VERB || args.next().is_some() {
        return None;
    }
    Some(match serve_parent() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    })
}

/// Reads the greeting, and then serves requests until the input ends.
fn serve_parent() -> Result<(), String> {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    let unread = |error: &dyn std::fmt::Display| format!("the greeting cannot be read: {error}");
    // A process that was started early and is not needed any more gets no greeting.
    if input.read_line(&mut line).map_err(|error| unread(&error))? == 0 {
        return Ok(());
    }
    drop(input);
    let greeting: HostedGreeting = serde_json::from_str(&line).map_err(|error| unread(&error))?;
    // The key is in `greeting`; this copy would stay in memory as long as the process.
    drop(line);
    let hosting = Hosting {
        profile: greeting.profile,
        key: greeting.key.as_deref().map(Secret::new),
        key_obstacle: greeting.key_obstacle,
    };
    // The sandbox has no network to look names up in. The adapter fails as its parent did, with the same message.
    let names = match greeting.found {
        NameLookup::Host => Names::Loopback,
        NameLookup::Nothing => Names::Unknown,
        NameLookup::Silence => Names::Silent,
    };
    let adapter: Arc<dyn ToolCaller> = hosting.make_adapter(names).map_err(|error| error.message)?.into();
    write_line(&ChildLine::Ready);
    let (sender, receiver) = mpsc::channel(MOST_WAITING);
    thread::Builder::new()
        .spawn(move || read_lines(&sender))
        .map_err(|error| format!("the system refused a thread: {error}"))?;
    runtime::block_on(serve_requests(adapter, receiver)).map_err(|error| error.message)?
}

/// Reads the lines of the parent until the input ends, or a line is none of its.
fn read_lines(sender: &mpsc::Sender<Result<ParentLine, String>>) {
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string());
        let parsed = line.and_then(|line| serde_json::from_str(&line).map_err(|error| error.to_string()));
        let is_wrong = parsed.is_err();
        if sender.blocking_send(parsed).is_err() || is_wrong {
            return;
        }
    }
}

/// Serves requests at the same time, until the input ends. The ones that still run then are dropped: nobody reads their answers.
async fn serve_requests(
    adapter: Arc<dyn ToolCaller>,
    mut lines: mpsc::Receiver<Result<ParentLine, String>>,
) -> Result<(), String> {
    let running = RunningRequests::default();
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            // Whatever else it has left behind, this process must not go on with it.
            () = running.panicked.notified() => return Err("a request panicked".to_owned()),
        };
        let Some(line) = line else {
            return Ok(());
        };
        match line.map_err(|error| format!("a request cannot be read: {error}"))? {
            ParentLine::Request { id, work } => running.start_request(id, *work, &adapter),
            ParentLine::Credit { id, bytes } => running.add_credit(id, bytes),
            ParentLine::Permit { id } => running.permit_sending(id),
            ParentLine::Cancel { id } => running.cancel_request(id),
        }
    }
}

/// Requests that have not ended.
#[derive(Clone, Default)]
struct RunningRequests {
    map: Arc<Mutex<BTreeMap<u64, RunningRequest>>>,
    /// Signals that a request panicked.
    panicked: Arc<Notify>,
}

/// Signals a panic of the request that owns it.
struct PanicGuard(Arc<Notify>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.notify_one();
        }
    }
}

struct RunningRequest {
    window: Arc<SendWindow>,
    gate: Arc<ParentGate>,
    task: AbortHandle,
}

impl RunningRequests {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, RunningRequest>> {
        // Entries are moved in and out in one step, so the map is valid even after a panic of a request.
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_request(&self, id: u64, work: AdapterWork, adapter: &Arc<dyn ToolCaller>) {
        let window = Arc::new(SendWindow::default());
        let (running, adapter, own) = (self.clone(), Arc::clone(adapter), Arc::clone(&window));
        let gate = Arc::new(ParentGate {
            id,
            window: Arc::clone(&window),
            permits: Notify::new(),
        });
        let asked = Arc::clone(&gate);
        // Locked until the request is in the map: it removes itself at its end.
        let mut map = self.lock();
        let guard = PanicGuard(Arc::clone(&self.panicked));
        let task = tokio::spawn(async move {
            let _guard = guard;
            let mut lines = LineBatch {
                is_whole: matches!(work, AdapterWork::WholeChat(_)),
                ..LineBatch::default()
            };
            let end = match work {
                AdapterWork::Task(task) => answer_task(adapter.as_ref(), &task, asked).await,
                AdapterWork::Chat(request) => {
                    answer_chat(adapter.chat(&request, asked), (id, &own), &mut lines).await
                }
                AdapterWork::WholeChat(request) => {
                    answer_chat(adapter.chat_whole(&request, asked), (id, &own), &mut lines).await
                }
                AdapterWork::Side(request) => match adapter.ask_endpoint(&request, asked).await {
                    Ok(document) => HostedLine::Document { document },
                    Err(error) => HostedLine::Error { error },
                },
            };
            // The text of an answer that broke off in the middle. The end of a whole one comes after all its text.
            if let Some(text) = lines.take_text() {
                lines.await_room(&own).await;
                own.count_sent(lines.add_event(id, text));
            }
            // Before the line, so that a cancellation after it finds nothing to cancel.
            if running.lock().remove(&id).is_some() {
                lines.add_line(&ChildLine::Answer { id, line: end });
                lines.write_all();
            }
        });
        let task = task.abort_handle();
        map.insert(id, RunningRequest { window, gate, task });
    }

    fn add_credit(&self, id: u64, bytes: usize) {
        if let Some(request) = self.lock().get(&id) {
            request.window.add_credit(bytes);
        }
    }

    fn permit_sending(&self, id: u64) {
        if let Some(request) = self.lock().get(&id) {
            request.gate.permits.notify_one();
        }
    }

    /// Drops a request, which closes its connection. One that has ended already has written its end.
    fn cancel_request(&self, id: u64) {
        if let Some(request) = self.lock().remove(&id) {
            request.task.abort();
            let line = HostedLine::Cancelled;
            write_line(&ChildLine::Answer { id, line });
        }
    }
}

/// Answers a task, and returns the line of its end.
async fn answer_task(adapter: &dyn ToolCaller, task: &ToolTask, gate: Arc<ParentGate>) -> HostedLine {
    match adapter.run(task, &LineSink(gate)).await {
        Ok(output) => HostedLine::Output { output },
        Err(error) => HostedLine::Error { error },
    }
}

/// Writes the events of a conversation, none later than it arrives unless the window has no room or only the whole answer is wanted.
/// Those that are there together are written together. Returns the line of the end, which follows what waits in `lines`.
async fn answer_chat(
    mut stream: Box<dyn ChatStream + '_>,
    (id, window): (u64, &SendWindow),
    lines: &mut LineBatch,
) -> HostedLine {
    loop {
        let event = next_or_flush(stream.as_mut(), lines).await;
        match event {
            Ok(Some(event @ ChatEvent::Finish(_))) => return HostedLine::Event { event },
            Ok(Some(event)) => {
                if lines.joins(&event) {
                    lines.join_text(event);
                    continue;
                }
                // Each line has its own look at the window: the parent ends a process that sends one beyond it.
                if let Some(text) = lines.take_text() {
                    lines.await_room(window).await;
                    window.count_sent(lines.add_event(id, text));
                }
                lines.await_room(window).await;
                window.count_sent(lines.add_event(id, event));
            }
            // A stream ends with `Finish` or an error. This one broke that rule, and the parent reports a request without an end.
            Ok(None) => return HostedLine::Cancelled,
            Err(error) => return HostedLine::Error { error },
        }
    }
}

/// Waits for the next event. If it is not there yet, what waits in `lines` is written first.
async fn next_or_flush(
    stream: &mut (dyn ChatStream + '_),
    lines: &mut LineBatch,
) -> Result<Option<ChatEvent>, ToolError> {
    let mut next = stream.next_event();
    // The task that reads the connection may have the next event ready, and passes on one at a time: it gets one turn before that.
    let mut has_waited = false;
    let soon = poll_fn(|context| match next.as_mut().poll(context) {
        Poll::Ready(event) => Poll::Ready(Some(event)),
        Poll::Pending if std::mem::replace(&mut has_waited, true) => Poll::Ready(None),
        Poll::Pending => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    if let Some(event) = soon.await {
        return event;
    }
    if !lines.is_whole {
        lines.write_all();
    }
    next.await
}

/// Lines that are written together.
#[derive(Default)]
struct LineBatch {
    bytes: Vec<u8>,
    /// True if only the whole answer is wanted: then adjacent pieces of text are joined.
    is_whole: bool,
    /// Text that is not a line yet, because more may follow.
    text: String,
}

/// Length in bytes at which joined text becomes a line.
const LONGEST_TEXT: usize = 16 << 10;

impl LineBatch {
    /// Returns true if the event is only added to the text that waits.
    fn joins(&self, event: &ChatEvent) -> bool {
        self.is_whole && matches!(event, ChatEvent::Text { .. }) && self.text.len() < LONGEST_TEXT
    }

    fn join_text(&mut self, event: ChatEvent) {
        if let ChatEvent::Text { text } = event {
            self.text.push_str(&text);
        }
    }

    /// Takes the joined text as one event. `None` if there is none.
    fn take_text(&mut self) -> Option<ChatEvent> {
        let text = std::mem::take(&mut self.text);
        (!text.is_empty()).then_some(ChatEvent::Text { text })
    }

    /// Waits for room in the window. While this waits, nobody reads the connection, so the server waits too.
    async fn await_room(&mut self, window: &SendWindow) {
        if !window.has_room() {
            self.write_all();
            window.wait_for_room().await;
        }
    }

    /// Adds the line of an event, and returns its length.
    fn add_event(&mut self, id: u64, event: ChatEvent) -> usize {
        let line = HostedLine::Event { event };
        self.add_line(&ChildLine::Answer { id, line })
    }

    fn add_line(&mut self, line: &ChildLine) -> usize {
        let before = self.bytes.len();
        // JSON of these types cannot fail. If it did, the parent would end this process for a line that is no message.
        let _ = serde_json::to_writer(&mut self.bytes, line);
        self.bytes.push(b'\n');
        self.bytes.len() - before
    }

    /// Writes all lines. An error is ignored: if nobody reads them, the parent is about to end this process.
    fn write_all(&mut self) {
        if !self.bytes.is_empty() {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(&self.bytes).and_then(|()| out.flush());
            self.bytes.clear();
        }
    }
}

/// Bytes of a request's lines that the parent has not read yet.
#[derive(Default)]
struct SendWindow {
    unread: Mutex<usize>,
    room: Notify,
}

impl SendWindow {
    fn lock(&self) -> MutexGuard<'_, usize> {
        // A number is valid at every moment.
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_sent(&self, bytes: usize) {
        *self.lock() += bytes;
    }

    fn add_credit(&self, bytes: usize) {
        let mut unread = self.lock();
        *unread = unread.saturating_sub(bytes);
        self.room.notify_one();
    }

    fn has_room(&self) -> bool {
        *self.lock() < SEND_WINDOW
    }

    async fn wait_for_room(&self) {
        while !self.has_room() {
            self.room.notified().await;
        }
    }
}

/// A progress sink that writes the adapter's progress as lines of a request.
struct LineSink(Arc<ParentGate>);

impl ProgressSink for LineSink {
    fn progress(&self, progress: Progress) {
        let line = match progress {
            Progress::Text(text) => HostedLine::Text { text },
            Progress::Note(note) => HostedLine::Note { note },
            // Only programs have output streams besides their answer.
            Progress::Transcript(_) => return,
            // The parent alone reads the repository and calls programs, so a child has nothing to report about that.
            Progress::Read(_) | Progress::Called(_) | Progress::Viewed(_) => return,
        };
        write_line(&ChildLine::Answer { id: self.0.id, line });
    }

    fn send_gate(&self) -> Arc<dyn SendGate> {
        Arc::<ParentGate>::clone(&self.0)
    }
}

/// Gate whose permissions come from the parent, which alone knows the budgets.
struct ParentGate {
    id: u64,
    window: Arc<SendWindow>,
    permits: Notify,
}

impl ParentGate {
    /// Writes a line at once. It counts for the window of the request like its other lines.
    fn write(&self, line: HostedLine) {
        let mut lines = LineBatch::default();
        let bytes = lines.add_line(&ChildLine::Answer { id: self.id, line });
        self.window.count_sent(bytes);
        lines.write_all();
    }
}

impl SendGate for ParentGate {
    fn permit(&self, size: SendingSize) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.write(HostedLine::Sending { size });
            // A parent that does not permit the sending cancels the request.
            self.permits.notified().await;
            Ok(())
        })
    }

    fn note_failure(&self, failure: &str, has_begun: bool) {
        let failure = failure.to_owned();
        self.write(HostedLine::SendingFailed { failure, has_begun });
    }
}

/// Writes one line.
fn write_line(line: &ChildLine) {
    let mut lines = LineBatch::default();
    lines.add_line(line);
    lines.write_all();
}
