//! One turn: what was asked, the calls that answered it, and how it ended.
//!
//! Owns: the shape. Never: contains the text of a message.

use agentos_model::ChatRole;
use agentos_tool::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallRecord, RepositoryReads, SessionKey};

/// Body of a `turn` record. The record's `run` is the id of the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRecord {
    /// Session that the turn belongs to. `None` if it belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
    /// Program that asked, by the name of its token of the service. `None` if no token was used.
    // Not `token`: the value of a member with that name is removed as a secret before it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Kind of request that began the turn.
    pub source: TurnSource,
    /// Folder of the repository that was read or changed. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Runs on the repository's tape that belong to this turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// Texts of repositories that the turn showed to its model, and to whom the model can send them. A turn whose tools read a repository
    /// has an entry here, unless an earlier version of AgentOS wrote the record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<RepositoryReads>,
    /// Messages that the turn adds to its session, in their order. Empty if there is no session to add them to.
    // Hashes and not texts: a record can never be removed from the chain, and people must be able to delete what they wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRef>,
    /// Choice of the pool's member that answered, as `agentos schema pool-choice` describes it. `None` if the user named a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // Boxed, because most turns have none and lists of entries hold turns by value.
    pub choice: Option<Box<serde_json::Value>>,
    /// Choices before it, of members whose attempts failed and were discarded, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<serde_json::Value>,
    /// Calls of models, in their order. Empty if no model was called. The call for a summary is in the receipt of the summary, and
    /// here only if it gave none, so that each call is recorded once.
    pub calls: Vec<CallRecord>,
    /// How the turn ended.
    pub end: TurnEnd,
}

/// Kind of request that begins a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TurnSource {
    /// Single message without a session.
    Message,
    /// A message in a session.
    Session,
    /// A run on a repository, whose text is on the repository's tape.
    Run,
    /// A call of an agent that reads a repository over MCP. Only its reads are recorded.
    Agent,
}

/// Message of a turn, by the hash of its canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRef {
    /// Author of the message in the conversation.
    pub role: ChatRole,
    /// `sha256:` and the hash of the blob with the message.
    pub message_sha256: String,
    /// Provider and model that wrote it. `None` for messages of a person and results of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<MessageAuthor>,
    /// Reason why the model's message has no end: the code of the failure, or the name of the limit. `None` if the message is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// Model that wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAuthor {
    /// Name of the provider.
    pub provider: String,
    /// The model that answered. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum TurnEnd {
    /// With a whole answer.
    Answered,
    /// By a limit of the turn, such as `rounds`. What was said before it is kept.
    Limited {
        /// Name of the limit.
        limit: String,
    },
    /// By the user.
    Cancelled,
    /// By a failure.
    Failed {
        /// Code of the failure.
        code: String,
    },
}

/// Beginning of the name under which the calls of a token are counted, in the place of a session's name.
const TOKEN: &str = "token:";

/// Returns the name under which the calls of a token are counted, as budgets and reports show it.
#[must_use]
pub fn count_token(name: &str) -> String {
    format!("{TOKEN}{name}")
}

/// Returns the token whose calls are counted under a name. `None` if the name belongs to a session.
#[must_use]
pub fn find_counted_token(counted: &str) -> Option<&str> {
    counted.strip_prefix(TOKEN)
}

impl TurnRecord {
    /// Returns the reason why the last message of the turn was cut. `None` if it is complete, or the turn has no message.
    #[must_use]
    pub fn find_cut(&self) -> Option<&str> {
        self.messages.last()?.cut.as_deref()
    }

    /// Returns the name under which the calls of the turn are counted: the name of its session, else the name of its token. `None` if the
    /// turn has neither.
    #[must_use]
    pub fn counted_as(&self) -> Option<String> {
        let session = self.session.as_ref().map(|session| session.as_str().to_owned());
        session.or_else(|| self.caller.as_deref().map(count_token))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_reads_back_from_its_record() {
        let body = json!({
            "session": "conversation:default",
            "source": "session",
            "runs": ["20261121T091400Z-1a2b3c4d"],
            "reads": [{
                "repository": "00ff", "folder": "/home/ann/shop", "commit": "c0", "policy": "sha256:03",
                "readers": [{ "provider": "near", "execution_mode": "local", "adapter": "openai", "address": "http://127.0.0.1:8080" }],
                "files": [{ "by": "read_file", "path": "a.txt", "lines": [[1, 2]], "blobs": ["b0"], "text_hash": "sha256:02", "bytes": 8 }],
            }],
            "messages": [
                { "role": "user", "message_sha256": "sha256:00" },
                { "role": "assistant", "message_sha256": "sha256:01", "author": { "provider": "openai", "model": "gpt" }, "cut": "cancelled" },
            ],
            "calls": [{ "provider": "openai", "latency_ms": 3, "cost_usd": "0.5", "finish": "stop" }],
            "end": { "end": "limited", "limit": "rounds" },
        });
        let turn: TurnRecord = serde_json::from_value(body.clone()).unwrap();
        assert_eq!(serde_json::to_value(&turn).unwrap(), body);
    }
}
