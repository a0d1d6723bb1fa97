//! Results of calls as text for a model.
//!
//! Owns: the words for content that is no text. Never: fetches what a result refers to.

use agentos_programs::ToolboxResult;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// Returns the text of a result. Untrusted, like everything that a tool returns.
#[must_use]
pub fn describe_result(result: &CallToolResult) -> ToolboxResult {
    let parts: Vec<String> = result.content.iter().map(describe_block).collect();
    let text = match (parts.is_empty(), &result.structured_content) {
        // Servers repeat the data as text for clients that do not read it, so it is used only where there is no text.
        (true, Some(data)) => data.to_string(),
        (true, None) => String::new(),
        (false, _) => parts.join("\n"),
    };
    ToolboxResult {
        text,
        is_error: result.is_error.unwrap_or(false),
    }
}

fn describe_block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => describe_binary("an image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => describe_binary("a sound", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                let kind = mime_type.as_deref().unwrap_or("unknown type");
                describe_binary("a file", kind, blob.len())
            }
            // The library adds kinds without a new major version.
            _ => "[content of a kind that is not known]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[a link that is not followed: {}]", link.uri),
        _ => "[content of a kind that is not known]".to_owned(),
    }
}

/// Describes content in base64, of which four characters are three bytes.
fn describe_binary(what: &str, kind: &str, characters: usize) -> String {
    let bytes = characters / 4 * 3;
    format!("[{what} that is not shown: {kind}, about {bytes} bytes]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_content_becomes_text() {
        let resource = |contents: serde_json::Value| json!({ "type": "resource", "resource": contents });
        let cases = [
            (json!({ "content": [] }), ""),
            (
                json!({ "content": [], "structuredContent": { "a": 1 } }),
                r#"{"a":1}"#,
            ),
            (
                json!({ "content": [{ "type": "text", "text": "one" }, { "type": "text", "text": "two" }] }),
                "one\ntwo",
            ),
            (
                json!({ "content": [{ "type": "image", "data": "AAAAAAAA", "mimeType": "image/png" }] }),
                "[an image that is not shown: image/png, about 6 bytes]",
            ),
            (
                json!({ "content": [resource(json!({ "uri": "a:b", "text": "inside" }))] }),
                "inside",
            ),
            (
                json!({ "content": [resource(json!({ "uri": "a:b", "blob": "AAAA" }))] }),
                "[a file that is not shown: unknown type, about 3 bytes]",
            ),
            (
                json!({ "content": [{ "type": "resource_link", "uri": "https://example.com/x", "name": "x" }] }),
                "[a link that is not followed: https://example.com/x]",
            ),
        ];
        for (document, text) in cases {
            let result: CallToolResult = serde_json::from_value(document).unwrap();
            assert_eq!(describe_result(&result).text, text);
        }
    }
}
