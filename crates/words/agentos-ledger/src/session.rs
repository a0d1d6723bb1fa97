//! What happens to a session between its turns.
//!
//! Owns: the shapes of these events. Never: contains the text of a conversation.

use agentos_tool::{RunId, ThinkingLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallRecord, ReadText, Reader, SessionKey};

/// Body of a `session` record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRecord {
    /// The session.
    pub session: SessionKey,
    /// The event.
    // Flattened, so that a reader of the tape finds the session and the event at one level.
    #[serde(flatten)]
    pub event: SessionEvent,
}

/// Event of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum SessionEvent {
    /// The session began, with these settings.
    Begun {
        /// The settings.
        settings: SessionSettings,
        /// The session whose turns it begins with. `None` if it begins empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fork: Option<ForkOrigin>,
    },
    /// The settings changed; they hold from the next turn on.
    Changed {
        /// All settings after the change.
        // Not only the changed ones: the last such record alone then shows what holds.
        settings: SessionSettings,
    },
    /// Earlier messages are sent as a summary from now on.
    Compressed(Box<CompressionReceipt>),
    /// The compression of this number of the tape is taken back: the messages themselves are sent again.
    Restored {
        /// Number of the record of the compression.
        compression: u64,
    },
    /// The messages so far are not sent any more. They stay readable.
    Cleared,
    /// The messages of this turn and of all later ones are not sent any more, because later answers can repeat what the turn read. They
    /// stay readable.
    Dropped {
        /// First turn that is not sent.
        turn: RunId,
    },
    /// A person let a reader see texts that the session read and that policy withholds from the reader.
    Shared {
        /// The reader. The leave holds for no other one.
        reader: Reader,
        /// The texts.
        texts: Vec<ReadText>,
    },
    /// The session was deleted, and the texts that no other session has were removed.
    Deleted,
}

/// Settings of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSettings {
    /// `sha256:` and the hash of the blob with the title for people. `None` if there is none.
    // Not the words: a record stays when the session is deleted, and a blob does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_sha256: Option<String>,
    /// The provider of the next turn. `None` if the user's default is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model of the next turn. `None` if the provider's own is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `sha256:` and the hash of the blob with the system prompt. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_sha256: Option<String>,
    /// Blobs with the pinned texts, which are sent word for word in every turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinRef>,
    /// Folder of the repository that tools read. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Names of the toolboxes that models are offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolboxes: Vec<String>,
    /// Thinking that is requested of models. `None` if the profile decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
}

impl SessionSettings {
    /// Returns the provider and model of the next turn as a person would type them. `None` if the user's default is meant.
    #[must_use]
    pub fn model_name(&self) -> Option<String> {
        let provider = self.provider.as_ref()?;
        Some(match &self.model {
            Some(model) => format!("{provider}/{model}"),
            None => provider.clone(),
        })
    }
}

/// Pinned text, by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinRef {
    /// `sha256:` and the hash of the blob with the text.
    pub pin_sha256: String,
}

/// Turns that another session has in common with this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkOrigin {
    /// The session that it was forked from.
    pub session: SessionKey,
    /// Last turn that both have. `None` if the original had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<RunId>,
}

/// Proof of a compression: the summary, and the hashes of what it replaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompressionReceipt {
    /// `sha256:` and the hash of the blob with the summary.
    pub summary_sha256: String,
    /// Hashes of the messages that it replaces, in their order. They stay in the blobs.
    pub replaced: Vec<String>,
    /// Tokens of the replaced messages, estimated.
    pub tokens_before: u64,
    /// Tokens of the summary, estimated.
    pub tokens_after: u64,
    /// The call of the model that wrote the summary. `None` if a rule made it without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallRecord>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_event_reads_back_from_its_record() {
        let bodies = json!([
            { "session": "conversation:a", "event": "begun", "settings": { "provider": "openai", "model": "gpt" },
              "fork": { "session": "conversation:b", "turn": "t-1" } },
            { "session": "conversation:a", "event": "changed",
              "settings": { "system_sha256": "sha256:00", "pins": [{ "pin_sha256": "sha256:01" }] } },
            { "session": "conversation:a", "event": "compressed", "summary_sha256": "sha256:02", "replaced": ["sha256:03"],
              "tokens_before": 900, "tokens_after": 90 },
            { "session": "conversation:a", "event": "restored", "compression": 7 },
            { "session": "conversation:a", "event": "cleared" },
            { "session": "conversation:a", "event": "dropped", "turn": "20261121T091400Z-1a2b3c4d" },
            { "session": "conversation:a", "event": "shared",
              "reader": { "provider": "far", "execution_mode": "cloud", "adapter": "openai" },
              "texts": [{ "repository": "00ff", "path": "a.txt", "blobs": ["b0"] }] },
            { "session": "conversation:a", "event": "deleted" },
        ]);
        for body in bodies.as_array().unwrap() {
            let record: SessionRecord = serde_json::from_value(body.clone()).unwrap();
            assert_eq!(&serde_json::to_value(&record).unwrap(), body);
        }
        let unknown: Value = json!({ "session": "conversation:a", "event": "exploded" });
        assert!(serde_json::from_value::<SessionRecord>(unknown).is_err());
    }
}
