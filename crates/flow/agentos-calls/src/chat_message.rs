//! Messages of the user to models, with images.
//!
//! Owns: reading images, and what an empty message is. Never: sends a message.

use std::path::PathBuf;

use agentos_engine::ports::EffectError;
use agentos_model::{ChatMessage, ImageData, MessagePart};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Calls;
use agentos_ground::error::usage_error;
use agentos_ground::files;

/// Largest image, in bytes. The vendors' limits are between 5 and 20 MB.
const LARGEST_IMAGE: u64 = 20 << 20;

impl Calls<'_> {
    /// Makes a message of the user with images before its text.
    ///
    /// # Errors
    /// If an image cannot be read, or there is neither a text nor an image.
    pub fn make_message(self, text: &str, images: &[PathBuf]) -> Result<ChatMessage, EffectError> {
        if text.trim().is_empty() && images.is_empty() {
            return Err(
                usage_error("the message is empty").hint("write it in quotes, or pipe it in with `-`")
            );
        }
        let images = images.iter().map(|file| self.read_image(file));
        let mut parts: Vec<MessagePart> = images.collect::<Result<_, _>>()?;
        parts.push(MessagePart::Text(text.to_owned()));
        Ok(ChatMessage {
            parts,
            ..ChatMessage::from_user("")
        })
    }

    fn read_image(self, file: &std::path::Path) -> Result<MessagePart, EffectError> {
        let bytes = files::read_file(self.ground.environment(), file, LARGEST_IMAGE)?;
        let media_type = image_type(&bytes).ok_or_else(|| {
            usage_error(format!("`{}` is not an image that models read", file.display()))
                .hint("convert it to PNG, JPEG, GIF or WebP")
        })?;
        Ok(MessagePart::Image(ImageData {
            media_type: media_type.to_owned(),
            base64: STANDARD.encode(bytes),
        }))
    }
}

/// Returns the media type of an image by its first bytes. `None` for all others: a name may lie, and servers look at the bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        _ => is_webp.then_some("image/webp"),
    }
}

#[cfg(test)]
mod tests {
    use super::image_type;

    #[test]
    fn an_image_is_known_by_its_bytes() {
        let cases: [(&[u8], Option<&str>); 7] = [
            (b"\x89PNG\r\n\x1a\n", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg>", None),
            (b"", None),
        ];
        for (bytes, media_type) in cases {
            assert_eq!(image_type(bytes), media_type);
        }
    }
}
