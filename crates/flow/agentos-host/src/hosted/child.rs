//! This program as the confined process of an adapter: it reads requests until its input ends.
//!
//! Owns: the requests that run, the window of each, and their lines. Never: keeps anything of a request that has ended, or goes on
//! without its parent.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use agentos_generic_http::ToolCaller;
use agentos_model::{ChatEvent, ChatRequest};
use agentos_net::Names;
use agentos_programs::{AdapterWork, ChildLine, HostedLine, NameLookup, ParentLine, SEND_WINDOW};
use agentos_tool::{Progress, ProgressSink, Secret, ToolTask};
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use super::{HostedGreeting, VERB};
use crate::runtime;
use crate::servers::Hosting;

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
        // Locked until the request is in the map: it removes itself at its end.
        let mut map = self.lock();
        let guard = PanicGuard(Arc::clone(&self.panicked));
        let task = tokio::spawn(async move {
            let _guard = guard;
            let end = match work {
                AdapterWork::Task(task) => answer_task(adapter.as_ref(), &task, id).await,
                AdapterWork::Chat(request) => answer_chat(adapter.as_ref(), &request, id, &own).await,
            };
            // Before the line, so that a cancellation after it finds nothing to cancel.
            if running.lock().remove(&id).is_some() {
                write_line(&ChildLine::Answer { id, line: end });
            }
        });
        let task = task.abort_handle();
        map.insert(id, RunningRequest { window, task });
    }

    fn add_credit(&self, id: u64, bytes: usize) {
        if let Some(request) = self.lock().get(&id) {
            request.window.add_credit(bytes);
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
async fn answer_task(adapter: &dyn ToolCaller, task: &ToolTask, id: u64) -> HostedLine {
    match adapter.run(task, &LineSink(id)).await {
        Ok(output) => HostedLine::Output { output },
        Err(error) => HostedLine::Error { error },
    }
}

/// Writes the events of a conversation, each when it arrives and the window has room. Returns the line of its end.
async fn answer_chat(
    model: &dyn ToolCaller,
    request: &ChatRequest,
    id: u64,
    window: &SendWindow,
) -> HostedLine {
    let mut stream = model.chat(request);
    loop {
        match stream.next_event().await {
            Ok(Some(event @ ChatEvent::Finish(_))) => return HostedLine::Event { event },
            Ok(Some(event)) => {
                // While this waits, nobody reads the connection, so the server waits too.
                window.wait_for_room().await;
                let line = HostedLine::Event { event };
                window.count_sent(write_line(&ChildLine::Answer { id, line }));
            }
            // A stream ends with `Finish` or an error. This one broke that rule, and the parent reports a request without an end.
            Ok(None) => return HostedLine::Cancelled,
            Err(error) => return HostedLine::Error { error },
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

    async fn wait_for_room(&self) {
        while *self.lock() >= SEND_WINDOW {
            self.room.notified().await;
        }
    }
}

/// A progress sink that writes the adapter's progress as lines of a request.
struct LineSink(u64);

impl ProgressSink for LineSink {
    fn progress(&self, progress: Progress) {
        let line = match progress {
            Progress::Text(text) => HostedLine::Text { text },
            Progress::Note(note) => HostedLine::Note { note },
            // Only programs have output streams besides their answer.
            Progress::Transcript(_) => return,
            // The parent alone reads the repository and calls programs, so a child has nothing to report about that.
            Progress::Read(_) | Progress::Called(_) => return,
        };
        write_line(&ChildLine::Answer { id: self.0, line });
    }
}

/// Writes one line, and returns its length. An error is ignored: if nobody reads it, the parent is about to end this process.
fn write_line(line: &ChildLine) -> usize {
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&text).and_then(|()| out.flush());
    text.len()
}
