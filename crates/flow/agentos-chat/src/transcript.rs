//! The canonical text of a message, and its hash.
//!
//! Owns: both. Never: contains the form of a provider; those are derived from the messages for each request.

use agentos_chain::{hash_bytes, write_canonical};
use agentos_model::ChatMessage;

use crate::ports::StoreError;

/// Message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// Canonical JSON (RFC 8785).
    pub text: String,
    /// `sha256:` and the hash of the text.
    pub sha256: String,
}

/// Writes a message as canonical JSON. Equal messages have equal texts, so a message is stored once.
///
/// # Errors
/// If an argument of a call contains a number that the canonical form cannot have.
pub fn write_message(message: &ChatMessage) -> Result<StoredMessage, StoreError> {
    let text = serde_json::to_value(message)
        .and_then(|value| write_canonical(&value))
        .map_err(|error| StoreError {
            code: "evidence-invalid-record".to_owned(),
            message: "a message cannot be written as canonical JSON".to_owned(),
            source: Some(Box::new(error)),
        })?;
    let sha256 = hash_bytes(text.as_bytes());
    Ok(StoredMessage { text, sha256 })
}

/// Reads a message from its canonical JSON.
///
/// # Errors
/// If the text has another hash, or is not a message.
pub fn read_message(text: &str, sha256: &str) -> Result<ChatMessage, StoreError> {
    // Checked here and not only by the store: a conversation that was changed on the disk must not reach a model.
    if hash_bytes(text.as_bytes()) != sha256 {
        return Err(StoreError::new(
            "evidence-blob-changed",
            format!("the message `{sha256}` does not match its hash"),
        ));
    }
    serde_json::from_str(text).map_err(|error| StoreError {
        code: "evidence-invalid-record".to_owned(),
        message: format!("the text `{sha256}` is not a message"),
        source: Some(Box::new(error)),
    })
}

/// Returns true if the message reads back as it was written.
pub(crate) fn survives_storage(message: &ChatMessage) -> bool {
    write_message(message)
        .and_then(|stored| read_message(&stored.text, &stored.sha256))
        .is_ok_and(|read| read == *message)
}

#[cfg(test)]
mod tests {
    use agentos_model::{ImageData, MessagePart, ThinkingPart, ToolCall, ToolResult};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_has_one_text_and_one_hash() {
        let call = |arguments| {
            ChatMessage::from_model(vec![MessagePart::ToolCall(ToolCall {
                id: "a".to_owned(),
                name: "read_file".to_owned(),
                arguments,
                signature: None,
            })])
        };
        // The order in which a model writes the members does not matter.
        let one = write_message(&call(json!({ "b": 1, "a": [true, null] }))).unwrap();
        let other =
            write_message(&call(serde_json::from_str(r#"{"a":[true,null],"b":1}"#).unwrap())).unwrap();
        assert_eq!(one, other);
        insta::assert_snapshot!(one.text, @r#"{"parts":[{"tool_call":{"arguments":{"a":[true,null],"b":1},"id":"a","name":"read_file"}}],"role":"assistant"}"#);
        let wrong = read_message(&one.text.replace("read_file", "write_fil"), &one.sha256).unwrap_err();
        assert_eq!(wrong.code, "evidence-blob-changed");
        let other = agentos_chain::hash_bytes(b"{}");
        assert_eq!(
            read_message("{}", &other).unwrap_err().code,
            "evidence-invalid-record"
        );
    }

    proptest! {
        #[test]
        fn every_message_reads_back(text in ".{0,60}", number in -9_007_199_254_740_991_i64..9_007_199_254_740_991, is_error: bool) {
            let message = ChatMessage::from_model(vec![
                MessagePart::Text(text.clone()),
                MessagePart::Thinking(ThinkingPart { text: text.clone(), signature: Some(text.clone()), is_encrypted: false, provider: "p".to_owned() }),
                MessagePart::Image(ImageData { media_type: "image/png".to_owned(), base64: "AA==".to_owned() }),
                MessagePart::ToolCall(ToolCall { id: text.clone(), name: text.clone(), arguments: json!({ text.clone(): number }), signature: None }),
                MessagePart::ToolResult(ToolResult { tool_use_id: text.clone(), text, images: Vec::new(), is_error }),
            ]);
            let stored = write_message(&message).unwrap();
            prop_assert_eq!(read_message(&stored.text, &stored.sha256).unwrap(), message);
        }
    }
}
