//! Files in another encoding than UTF-8, seen as UTF-8: UTF-16 with a byte order mark, and Latin-1.
//!
//! Owns: recognising these encodings, and writing a result in them. Never: writes UTF-8 into such a file.
//!
//! Answers are UTF-8, whatever the file is. A line with `é` is then not found in a file in Latin-1, and an added one
//! would put two bytes into it that show as `Ã©`. So such a file is decoded, edited and encoded again, which leaves
//! every other byte as it is, since both encodings have one form for each character.

use crate::parse::{HunkLine, LineMark};
use crate::refusal::about_path;
use crate::text::{BOM, decode_utf16};
use crate::{Refusal, RefusalCode};

/// Encoding of a file that is not in UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEncoding {
    /// UTF-16, low byte first, with its mark.
    Utf16Le,
    /// UTF-16, high byte first, with its mark.
    Utf16Be,
    /// ISO 8859-1: each byte is the character with its number.
    Latin1,
}

impl TextEncoding {
    /// Returns the name of the encoding for a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Latin1 => "Latin-1",
        }
    }

    /// Recognises the encoding of a file by the lines of its edit, and returns its text in UTF-8. Returns `None` if the
    /// lines are to be compared with the bytes as they are.
    ///
    /// # Errors
    /// Fails if an added line has characters outside ASCII and nothing shows the file's encoding.
    pub(super) fn recognise<'l>(
        path: &str,
        content: &[u8],
        lines: impl Iterator<Item = &'l HunkLine>,
    ) -> Result<Option<(Self, Vec<u8>)>, Refusal> {
        for (mark, encoding) in [(b"\xff\xfe", Self::Utf16Le), (b"\xfe\xff", Self::Utf16Be)] {
            if let Some(rest) = content.strip_prefix(mark) {
                let read = match encoding {
                    Self::Utf16Be => u16::from_be_bytes,
                    Self::Utf16Le | Self::Latin1 => u16::from_le_bytes,
                };
                // A second mark, or the zeros of UTF-32, show another format.
                let is_text = |text: &String| !text.contains('\0') && !text.as_bytes().starts_with(BOM);
                let text = decode_utf16(rest, read).filter(|text| rest.len() % 2 == 0 && is_text(text));
                return Ok(text.map(|text| (encoding, text.into_bytes())));
            }
        }
        let (mut foreign, mut adds) = (false, false);
        for line in lines {
            // The bytes of the answer are not UTF-8, so they may be those of the file.
            if std::str::from_utf8(&line.text).is_err() {
                return Ok(None);
            }
            foreign |= !line.text.is_ascii();
            adds |= line.mark == LineMark::Add && !line.text.is_ascii();
        }
        let mut chunks = content.utf8_chunks();
        // A file with characters in UTF-8 is in UTF-8, apart from the bytes that are not.
        if !foreign || std::str::from_utf8(content).is_ok() || !chunks.all(|chunk| chunk.valid().is_ascii()) {
            return Ok(None);
        }
        if looks_western(content) {
            let text: String = content.iter().map(|byte| char::from(*byte)).collect();
            return Ok(Some((Self::Latin1, text.into_bytes())));
        }
        if !adds {
            return Ok(None);
        }
        let what = "is not in UTF-8, and nothing shows which encoding an added line needs";
        Err(about_path(RefusalCode::Encoding, path, what)
            .hint("convert the file to UTF-8 first, or add lines in ASCII only"))
    }

    /// Encodes a result.
    ///
    /// # Errors
    /// Fails if the encoding lacks one of its characters.
    pub(super) fn encode(self, path: &str, text: &[u8]) -> Result<Vec<u8>, Refusal> {
        let lacks = |what: String| {
            let what = format!("is in {}, which has no {what}", self.name());
            about_path(RefusalCode::Encoding, path, &what)
                .hint("write it with other characters, or convert the file to UTF-8 first")
        };
        let Ok(text) = std::str::from_utf8(text) else {
            return Err(lacks("bytes such as those of the answer".to_owned()));
        };
        // The mark of UTF-8 is no character of the file.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let units = |write: fn(u16) -> [u8; 2], mark: [u8; 2]| {
            let units = text.encode_utf16().flat_map(write);
            mark.into_iter().chain(units).collect()
        };
        match self {
            Self::Utf16Le => Ok(units(u16::to_le_bytes, *b"\xff\xfe")),
            Self::Utf16Be => Ok(units(u16::to_be_bytes, *b"\xfe\xff")),
            Self::Latin1 => text
                .chars()
                .map(|one| u8::try_from(one).map_err(|_| lacks(format!("`{one}`"))))
                .collect(),
        }
    }
}

/// Returns true if the bytes above ASCII are letters and signs of Latin-1. It has none from 0x80 to 0x9F, where
/// Windows code pages have quotes; and the words of languages with another alphabet are runs of such bytes.
fn looks_western(content: &[u8]) -> bool {
    /// Words such as `Größe` and `naïve` have at most two in a row.
    const RUN: usize = 2;
    let mut runs = content.split(u8::is_ascii);
    let printable = content
        .iter()
        .all(|byte| *byte != 0 && !(0x80..0xa0).contains(byte));
    printable && runs.all(|run| run.len() <= RUN)
}
