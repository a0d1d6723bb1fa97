//! A helper that confines itself, as Linux and macOS want it.
//!
//! Owns: starting it, what it is told first, and its exit code. Never: gives it a variable or a descriptor of ours.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::flow::{self, Begun, Streams};
use super::{Caps, Ended, Input, Stream};
use crate::stage::{FIRST, VERB};
use crate::watch::{Stop, Why, process};
use crate::{Order, SandboxError};

pub(super) fn run(
    helper: &Path,
    order: &Order,
    input: Input,
    caps: Caps,
    stop: &Stop,
    seen: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Ended, SandboxError> {
    let at = Instant::now();
    let first = framed(order)?;
    let mut child = start(helper)?;
    stop.began(process(child.id()));
    let begun = Begun {
        at,
        streams: streams(&mut child),
        first,
        report: None,
    };
    let (report, status) = flow::see(begun, input, caps, stop, seen, || child.wait())?;
    let code = match stop.why() {
        Some(Why::Finished) => Some(0),
        _ => status.code().and_then(|code| u8::try_from(code).ok()),
    };
    Ok(Ended {
        report,
        code: code.ok_or_else(|| SandboxError::NoReport("a signal ended it".to_owned()))?,
        elapsed: at.elapsed(),
    })
}

/// All three were asked for; one that is not there is at its end.
fn streams(child: &mut Child) -> Streams {
    fn readable(from: Option<impl Read + Send + 'static>) -> Box<dyn Read + Send> {
        from.map_or_else(
            || Box::new(std::io::empty()) as Box<dyn Read + Send>,
            |from| Box::new(from),
        )
    }
    Streams {
        stdin: child.stdin.take().map_or_else(
            || Box::new(std::io::sink()) as Box<dyn Write + Send>,
            |stdin| Box::new(stdin),
        ),
        stdout: readable(child.stdout.take()),
        stderr: readable(child.stderr.take()),
    }
}

fn framed(order: &Order) -> Result<Vec<u8>, SandboxError> {
    let text = serde_json::to_string(order)
        .map_err(std::io::Error::other)
        .map_err(SandboxError::io("write the order"))?;
    Ok(format!("{:8}{text}", text.len()).into_bytes())
}

fn start(helper: &Path) -> Result<Child, SandboxError> {
    Command::new(helper)
        .args([VERB, FIRST])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(SandboxError::io("start the helper that confines a tool"))
}
