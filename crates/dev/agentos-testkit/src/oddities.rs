//! Answers of model servers in the shape of public bug reports, one file for each.
//!
//! Owns: finding, reading and playing the files below `fixtures/oddities`. Never: says how an answer has to be read; the snapshots
//! of the tests do.
//!
//! A file begins with lines `# about:`, `# source:` and `# wire:`, and continues with an HTTP answer as the server sends it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_model::{ChatRequest, MessagePart, Model, ReplyBuilder, ToolSpec};
use agentos_tool::{FreeGate, ToolError};
use serde_json::json;

use crate::server::{FakeServer, Reply, head};

/// Answer of a server that is odd in one way.
#[derive(Debug, Clone)]
pub struct Oddity {
    /// Server that sends it, which is the name of the folder.
    pub server: String,
    /// Name of the file, without its ending.
    pub name: String,
    /// The oddity, in words for a reader.
    pub about: String,
    /// Public report or project from which the shape is taken.
    pub source: String,
    /// Wire that reads it: `openai`, `anthropic`, `gemini`, `ollama` or `llamacpp`.
    pub wire: String,
    /// Status.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Oddity {
    /// Reads all files, sorted by server and name.
    ///
    /// # Errors
    /// If a file cannot be read, or does not have the form.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for folder in sorted(&root())? {
            for file in sorted(&folder)? {
                found.push(read(&folder, &file)?);
            }
        }
        Ok(found)
    }

    /// Reads the files of one wire.
    ///
    /// # Errors
    /// As [`Oddity::all`].
    pub fn of_wire(wire: &str) -> io::Result<Vec<Self>> {
        let mut found = Self::all()?;
        found.retain(|oddity| oddity.wire == wire);
        Ok(found)
    }

    /// `server/name`, for messages.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.server, self.name)
    }

    /// Returns a header. `None` if the answer does not have it.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    /// The answer as a server sends it: without a length, and closed at its end.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let mut bytes = head(self.status, &headers, None);
        bytes.extend_from_slice(&self.body);
        Reply::Bytes(bytes)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/oddities")
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn read(folder: &Path, file: &Path) -> io::Result<Oddity> {
    let bad = |what: &str| io::Error::other(format!("{}: {what}", file.display()));
    let bytes = std::fs::read(file)?;
    let end = bytes
        .windows(2)
        .position(|pair| pair == b"\n\n")
        .ok_or_else(|| bad("no head"))?;
    let (start, rest) = bytes.split_at(end);
    let start = std::str::from_utf8(start).map_err(|_| bad("the head is not UTF-8"))?;
    let note = |name: &str| {
        let found = start
            .lines()
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(": "));
        found
            .map(str::to_owned)
            .ok_or_else(|| bad(&format!("no `{name}`")))
    };
    let mut lines = start.lines().skip_while(|line| line.starts_with('#'));
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    Ok(Oddity {
        server: name_of(folder),
        name: name_of(file),
        about: note("about")?,
        source: note("source")?,
        wire: note("wire")?,
        status: status.ok_or_else(|| bad("no status"))?,
        headers: lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body: rest.get(2..).unwrap_or_default().to_vec(),
    })
}

/// Plays the answers of one wire that came with status 200, and writes a line for each. Failures by status have a table of their own.
///
/// # Errors
/// If a fixture cannot be read, or there is no free port.
pub async fn replay_wire(
    wire: &str,
    is_asked: &str,
    make: impl Fn(&str) -> Box<dyn Model>,
) -> io::Result<String> {
    let mut lines = Vec::new();
    for oddity in Oddity::of_wire(wire)?
        .iter()
        .filter(|oddity| oddity.status == 200)
    {
        lines.push(replay(oddity, is_asked, &make).await?);
    }
    Ok(lines.join("\n"))
}

/// Asks a model whose server answers oddly, and writes what a person and a conversation get: text, thinking, calls and warnings, or the
/// error. `make` makes the model for a server's root; the path of the request for the answer contains `is_asked`.
///
/// # Errors
/// If there is no free port.
pub async fn replay(
    oddity: &Oddity,
    is_asked: &str,
    make: impl Fn(&str) -> Box<dyn Model>,
) -> io::Result<String> {
    let (reply, asked) = (oddity.reply(), is_asked.to_owned());
    let server = FakeServer::start(move |request| match request.path.contains(&asked) {
        true => reply.clone(),
        false => Reply::json(404, &json!({"error": "File Not Found"})),
    })?;
    let mut request = ChatRequest::from_text("hello ".repeat(200));
    let tool = ToolSpec {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({"type": "object"}),
    };
    // llama.cpp's own wire has no tools: a conversation with one goes over the other wire.
    request.tools.extend((oddity.wire != "llamacpp").then_some(tool));
    let model = make(&server.url());
    let read = read_reply(model.as_ref(), &request).await;
    let shown = match read {
        Ok(words) => words,
        Err(error) => format!(
            "[{}] {}",
            error.detail,
            error.message.replace(&server.port().to_string(), "PORT")
        ),
    };
    Ok(format!("{}: {shown}", oddity.id()))
}

async fn read_reply(model: &dyn Model, request: &ChatRequest) -> Result<String, ToolError> {
    let mut stream = model.chat(request, Arc::new(FreeGate));
    let mut reply = ReplyBuilder::default();
    while let Some(event) = stream.next_event().await? {
        reply.add_event(event);
    }
    let Some(reply) = reply.finish_reply("server") else {
        return Ok("no end".to_owned());
    };
    let mut words = vec![format!("{:?}", reply.text)];
    for part in &reply.message.parts {
        match part {
            MessagePart::Thinking(thinking) => words.push(format!("thought {:?}", thinking.text)),
            MessagePart::ToolCall(call) => words.push(format!("calls {} {}", call.name, call.arguments)),
            MessagePart::Text(_) | MessagePart::Image(_) | MessagePart::ToolResult(_) => {}
        }
    }
    // Every fixture names one model, which is never the requested one.
    let warnings = reply
        .end
        .warnings
        .iter()
        .filter(|warning| !warning.contains("was requested, but"));
    words.extend(warnings.map(|warning| format!("({warning})")));
    Ok(words.join(" "))
}
