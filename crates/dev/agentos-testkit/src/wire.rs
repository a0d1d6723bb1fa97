//! Recorded provider answers.
//!
//! Owns: finding, reading and playing the files below `fixtures/wire`. Never: changes one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::server::{Reply, head};

/// Recorded exchange between a client and a server.
#[derive(Debug, Clone, Deserialize)]
pub struct Fixture {
    /// The folder it stands in, as in `lmstudio`.
    #[serde(skip)]
    pub folder: String,
    /// Name of the file, without `.json`.
    pub case: String,
    /// The health state an adapter has to report on seeing this; none where it is not about health.
    pub tool_health: Option<String>,
    /// Recorded request.
    pub request: FixtureRequest,
    /// Recorded response.
    pub response: FixtureResponse,
}

/// Request of a recorded exchange.
#[derive(Debug, Clone, Deserialize)]
pub struct FixtureRequest {
    /// Method, as in `POST`.
    pub method: String,
    /// With the query.
    pub path: String,
    /// Headers as sent.
    pub headers: BTreeMap<String, String>,
    /// The JSON sent, where it was JSON.
    pub body: Option<Value>,
}

/// Response of a recorded exchange. Exactly one kind of body is set.
#[derive(Debug, Clone, Deserialize)]
pub struct FixtureResponse {
    /// The status line's number.
    pub status: u16,
    /// Headers as sent.
    pub headers: BTreeMap<String, String>,
    /// A body that is JSON.
    pub body: Option<Value>,
    body_text: Option<String>,
    body_hex: Option<String>,
    sse: Option<Vec<String>>,
    ndjson: Option<Vec<String>>,
    raw_text: Option<String>,
    tail: Option<String>,
}

impl Fixture {
    /// Reads one file.
    ///
    /// # Errors
    /// When it is not there or not a fixture.
    pub fn load(folder: &str, case: &str) -> io::Result<Self> {
        read(&root().join(folder).join(format!("{case}.json")), folder)
    }

    /// Reads a folder, sorted by name.
    ///
    /// # Errors
    /// When it is not there or holds something that is no fixture.
    pub fn all(folder: &str) -> io::Result<Vec<Self>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(root().join(folder))? {
            paths.push(entry?.path());
        }
        paths.sort();
        paths.iter().map(|path| read(path, folder)).collect()
    }

    /// `folder/case`, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.folder, self.case)
    }

    /// Returns the key that was sent, in whichever header, or `None` if there was none.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.request
            .headers
            .iter()
            .find_map(|(name, value)| match name.to_ascii_lowercase().as_str() {
                "authorization" => value.strip_prefix("Bearer "),
                "x-api-key" | "x-goog-api-key" => Some(value.as_str()),
                _ => None,
            })
    }

    /// The JSON documents of the answer in their order: the one that it is, or those of its events or lines.
    #[must_use]
    pub fn documents(&self) -> Vec<Value> {
        if let Some(body) = &self.response.body {
            return vec![body.clone()];
        }
        let events = self.response.sse.iter().flatten();
        let data = events.map(|event| {
            let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
            lines.collect::<Vec<_>>().join("\n")
        });
        let lines = self.response.ndjson.iter().flatten().cloned();
        data.chain(lines)
            .filter_map(|text| serde_json::from_str(&text).ok())
            .collect()
    }

    /// The answer, byte for byte as far as the recording holds it.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let response = &self.response;
        let body = response.bytes();
        let headers: Vec<(&str, &str)> = response
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| !is_framing(name))
            .collect();
        let is_stream = response.sse.is_some() || response.ndjson.is_some() || response.raw_text.is_some();
        let length = (!is_stream).then(|| response.declared_length(body.len()));
        let mut bytes = head(response.status, &headers, length);
        bytes.extend_from_slice(&body);
        Reply::Bytes(bytes)
    }
}

impl FixtureResponse {
    fn bytes(&self) -> Vec<u8> {
        if let Some(json) = &self.body {
            return json.to_string().into_bytes();
        }
        if let Some(hex) = &self.body_hex {
            return from_hex(hex);
        }
        if let Some(events) = &self.sse {
            let mut text: String = events.iter().map(|event| format!("{event}\n\n")).collect();
            text.push_str(self.tail.as_deref().unwrap_or_default());
            return text.into_bytes();
        }
        if let Some(lines) = &self.ndjson {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            return text.into_bytes();
        }
        let text = self.body_text.as_ref().or(self.raw_text.as_ref());
        text.cloned().unwrap_or_default().into_bytes()
    }

    /// JSON is serialised again and has its own length. Text keeps the declared one, so that a body that was cut
    /// on purpose is cut here too.
    fn declared_length(&self, actual: usize) -> usize {
        let declared = self
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        match (
            &self.body_text,
            declared.and_then(|(_, length)| length.parse().ok()),
        ) {
            (Some(_), Some(declared)) => actual.max(declared),
            _ => actual,
        }
    }
}

fn is_framing(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter_map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire")
}

fn read(path: &Path, folder: &str) -> io::Result<Fixture> {
    let text = std::fs::read_to_string(path)?;
    let mut fixture: Fixture = serde_json::from_str(&text).map_err(|cause| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {cause}", path.display()))
    })?;
    folder.clone_into(&mut fixture.folder);
    Ok(fixture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recording_is_read() {
        let folders = [
            "anthropic",
            "derived",
            "generic",
            "litellm",
            "llamacpp",
            "llamacpp_router",
            "lmstudio",
            "ollama",
            "openai",
            "openrouter",
            "vllm",
        ];
        let counts = folders.map(|folder| Fixture::all(folder).unwrap().len());
        assert_eq!(counts, [33, 21, 4, 37, 87, 13, 28, 33, 38, 10, 11]);
    }

    #[test]
    fn a_cut_body_is_played_cut() {
        let Reply::Bytes(bytes) = Fixture::load("derived", "truncated_json").unwrap().reply() else {
            panic!("a fixture is bytes");
        };
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("content-length: 789") && body.len() < 789, "{head}");
    }
}
