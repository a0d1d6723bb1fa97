//! The permission that a child waits for before each sending.

use agentos_tool::{BoxFuture, SendGate, SendingSize};

use super::*;

/// Gate that permits a number of sendings, and lists what it is asked and told.
struct CountingGate {
    permits: usize,
    seen: Mutex<Vec<String>>,
}

impl SendGate for CountingGate {
    fn permit(&self, size: SendingSize) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let mut seen = self.seen.lock().unwrap();
            seen.push(format!("asked for {}", size.text_tokens));
            match seen.len() > self.permits {
                false => Ok(()),
                true => Err(AgentError::Thread.into_tool_error(0)),
            }
        })
    }

    fn note_failure(&self, failure: &str, has_begun: bool) {
        self.seen.lock().unwrap().push(format!("{failure} {has_begun}"));
    }
}

fn read_with(reader: &AnswerReader, gate: &CountingGate) -> Result<Option<HostedLine>, ToolError> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(reader.next_line(gate));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(line) => return line,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_child_sends_only_what_was_permitted() {
    let (heard, lines) = channel();
    let heard = Mutex::new(heard);
    let (process, _) = process_of(move |child| {
        child.ready();
        let (id, _) = child.next_request().unwrap();
        let size = |text_tokens| SendingSize {
            text_tokens,
            image_tokens: 0,
            output_tokens: None,
        };
        let answer = |line| ChildLine::Answer { id, line };
        child.write(&answer(HostedLine::Sending { size: size(7) }));
        let permit = child.next_line();
        child.write(&answer(HostedLine::SendingFailed {
            failure: "server-error".to_owned(),
            has_begun: false,
        }));
        child.write(&answer(HostedLine::Sending { size: size(8) }));
        let cancel = child.next_line();
        child.write(&answer(HostedLine::Cancelled));
        let told = [permit, cancel].map(|line| serde_json::to_string(&line).unwrap());
        heard.lock().unwrap().send(told).unwrap();
        while child.next_line().is_some() {}
        Ok(0)
    });
    let gate = CountingGate {
        permits: 2,
        seen: Mutex::default(),
    };
    let reader = ask(&process, "hello");
    let refused = read_with(&reader, &gate).unwrap_err();
    drop(reader);
    assert_eq!(refused, AgentError::Thread.into_tool_error(0));
    assert_eq!(
        *gate.seen.lock().unwrap(),
        ["asked for 7", "server-error false", "asked for 8"]
    );
    let told = lines.recv().unwrap();
    assert_eq!(told, [r#"{"permit":{"id":1}}"#, r#"{"cancel":{"id":1}}"#]);
    process.end_processes();
}
