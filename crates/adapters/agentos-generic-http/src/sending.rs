//! The size of a request that is about to be sent, from its body.
//!
//! Owns: the bytes of the body, and what images count in place of theirs. Never: knows a vendor; a [`crate::Service`] does.

use agentos_model::{ChatMessage, MessagePart};
use agentos_net::Request;
use agentos_tool::SendingSize;
use serde_json::Value;

/// Most tokens that any known vendor bills for one image: `gpt-4o-mini` counts 2,833 and 5,667 for each tile of 512 pixels, and scales an
/// image down to 2,048 by 768 pixels, which has 8 tiles.
pub const MOST_IMAGE_TOKENS: u64 = 2_833 + 8 * 5_667;

/// Tokens that a server's chat template may add to a request, although no byte of the body has them: the default system prompts and
/// the markers of the known templates have fewer.
const TEMPLATE_TOKENS: u64 = 256;
/// Longest text before the image in one string of a body, such as `data:image/png;base64,`.
const LONGEST_PREFIX: usize = 128;

/// Facts about a request besides its body.
pub(crate) struct BodyFacts<'a> {
    /// Messages from which the body was made.
    pub(crate) messages: &'a [ChatMessage],
    /// Most tokens of one image at this vendor. `None` if the vendor is not known.
    pub(crate) most_image_tokens: Option<u64>,
    /// Most tokens that the vendor adds to the request.
    pub(crate) added_tokens: u64,
    /// Limit on the answer in the body.
    pub(crate) output_tokens: Option<u64>,
}

/// Measures a request that is ready.
pub(crate) fn measure_request(request: &Request, facts: &BodyFacts<'_>) -> SendingSize {
    let images: Vec<&str> = facts.messages.iter().flat_map(list_images).collect();
    let mut found = FoundImages::default();
    if let Some(body) = request.body.as_ref().filter(|_| !images.is_empty()) {
        found.search_value(body, &images, facts.most_image_tokens);
    }
    let text = request.count_json_bytes().saturating_sub(found.bytes);
    SendingSize {
        text_tokens: text
            .saturating_add(facts.added_tokens)
            .saturating_add(TEMPLATE_TOKENS),
        image_tokens: found.tokens,
        output_tokens: facts.output_tokens,
    }
}

fn list_images(message: &ChatMessage) -> Vec<&str> {
    let parts = message.parts.iter();
    parts
        .flat_map(|part| match part {
            MessagePart::Image(image) => std::slice::from_ref(image),
            MessagePart::ToolResult(result) => result.images.as_slice(),
            MessagePart::Text(_) | MessagePart::ToolCall(_) | MessagePart::Thinking(_) => &[],
        })
        .map(|image| image.base64.as_str())
        .collect()
}

/// Images in a body.
#[derive(Default)]
struct FoundImages {
    bytes: u64,
    tokens: u64,
}

impl FoundImages {
    /// Adds the images in a value. Searched in the body and not counted in the messages, because a wire may leave an image out, and its
    /// bytes would then be taken off the text.
    fn search_value(&mut self, value: &Value, images: &[&str], most: Option<u64>) {
        match value {
            Value::String(text) => {
                if let Some(image) = images.iter().find(|image| is_image(text, image)) {
                    let bytes = u64::try_from(image.len()).unwrap_or(u64::MAX);
                    self.bytes = self.bytes.saturating_add(bytes);
                    // A small file may have many pixels, so its bytes alone bound nothing at a vendor that is not known.
                    let tokens = most.unwrap_or(bytes.max(MOST_IMAGE_TOKENS));
                    self.tokens = self.tokens.saturating_add(tokens);
                }
            }
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.search_value(item, images, most)),
            Value::Object(fields) => fields
                .values()
                .for_each(|field| self.search_value(field, images, most)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn is_image(text: &str, image: &str) -> bool {
    let Some(prefix) = text.len().checked_sub(image.len()) else {
        return false;
    };
    !image.is_empty() && prefix <= LONGEST_PREFIX && text.ends_with(image)
}
