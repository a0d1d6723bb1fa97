//! Git's binary patches: the content of a file that is no text, as a complete git diff states it.
//!
//! Owns: reading `literal` and `delta` data with limits, and writing `literal` data for the canonical diff. Never: reads
//! more bytes than the data states, or believes a size or an id that the bytes do not have.
//!
//! The canonical diff must depend on base and result alone. A compressor may change its output with its version, so the
//! data is written in stored blocks (RFC 1951, 3.2.4), which leave it nothing to choose. Git reads them as any other.

mod base85;
mod delta;
mod summary;

use std::sync::Arc;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

pub use summary::describe_binary;

/// Longest part of a stored block: its length has 16 bits.
const STORED: usize = 0xffff;
/// Bytes that one line of data holds, as git writes it.
const LINE: usize = 52;

/// Line that begins a binary patch.
pub(crate) const HEADER: &[u8] = b"GIT binary patch";

/// Direction of a binary patch, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct BinaryData {
    /// True if the data changes the old content; false if it is the new content itself.
    pub is_delta: bool,
    /// Stated size of the data once it is unpacked.
    pub size: u64,
    /// Packed data.
    pub packed: Vec<u8>,
}

/// Reason why binary data cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryFault {
    /// The data is damaged or has another size than it states.
    Damaged,
    /// The data is for other old content.
    OtherBase,
    /// The result would be larger than the limit.
    TooLarge,
}

/// Returns true if the content is shown as binary data: it has a NUL byte.
///
/// Git looks at the first 8000 bytes only (`buffer_is_binary` in xdiff-interface.c). A NUL behind them is as unreadable.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content.contains(&0)
}

/// Reads a line `literal SIZE` or `delta SIZE`. Returns `None` for any other line.
pub(crate) fn read_method(line: &[u8]) -> Option<BinaryData> {
    let text = std::str::from_utf8(line).ok()?.trim_end();
    let (method, size) = text.split_once(' ')?;
    let is_delta = match method {
        "literal" => false,
        "delta" => true,
        _ => return None,
    };
    let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    Some(BinaryData {
        is_delta,
        size: size.parse().ok().filter(|_| is_number)?,
        packed: Vec::new(),
    })
}

/// Adds the bytes of a line of data. Returns `None` if the line is none.
pub(crate) fn read_line(line: &[u8], packed: &mut Vec<u8>) -> Option<()> {
    let (mark, digits) = line.split_first()?;
    let count = length_marks().position(|length| length == *mark)? + 1;
    base85::decode_digits(digits, count, packed)
}

/// Returns the new content that the data states, of `most` bytes or fewer.
///
/// # Errors
/// If the data is damaged, too large, or was made for other old content.
pub(crate) fn unpack_data(data: &BinaryData, old: &[u8], most: usize) -> Result<Arc<[u8]>, BinaryFault> {
    let size = usize::try_from(data.size).map_err(|_| BinaryFault::TooLarge)?;
    if size > most {
        return Err(BinaryFault::TooLarge);
    }
    // The stated size limits what is unpacked, so a small text cannot become a large one that states less.
    let unpacked = decompress_to_vec_zlib_with_limit(&data.packed, size).map_err(|_| BinaryFault::Damaged)?;
    if unpacked.len() != size {
        return Err(BinaryFault::Damaged);
    }
    if data.is_delta {
        return delta::apply_delta(old, &unpacked, most).map(Arc::from);
    }
    Ok(Arc::from(unpacked))
}

/// Writes the binary patch from one content to the other, in both directions.
pub(crate) fn render_binary(out: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    out.extend_from_slice(HEADER);
    out.push(b'\n');
    for content in [new, old] {
        out.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
        for line in store_blocks(content).chunks(LINE) {
            out.extend(length_marks().nth(line.len() - 1));
            base85::encode_digits(line, out);
            out.push(b'\n');
        }
        out.push(b'\n');
    }
}

/// Returns the letters with which git states the number of bytes in a line of data, from 1 on.
fn length_marks() -> impl Iterator<Item = u8> {
    (b'A'..=b'Z').chain(b'a'..=b'z')
}

/// Returns the content as a zlib stream (RFC 1950) of stored blocks.
fn store_blocks(content: &[u8]) -> Vec<u8> {
    // Deflate with a window of 32 KB at the lowest level.
    let mut out = vec![0x78, 0x01];
    // No content is one empty block.
    let empty = content.is_empty().then_some(content);
    let mut blocks = content.chunks(STORED).chain(empty).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or_default();
        out.push(u8::from(blocks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend_from_slice(&adler2::adler32_slice(content).to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the first direction of a binary patch.
    fn read_first(patch: &[u8]) -> BinaryData {
        let text = patch.strip_prefix(b"GIT binary patch\n").unwrap();
        let mut lines = text.split(|byte| *byte == b'\n');
        let mut data = read_method(lines.next().unwrap()).unwrap();
        for line in lines.take_while(|line| !line.is_empty()) {
            read_line(line, &mut data.packed).unwrap();
        }
        data
    }

    #[test]
    fn content_is_written_as_git_writes_it_but_not_compressed() {
        let mut out = Vec::new();
        render_binary(&mut out, b"", b"a\0b");
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r"
        GIT binary patch
        literal 3
        NcmV+e0Q~=90Ac}%0K@<Q

        literal 0
        KcmV+b0RR6000031

        ");
    }

    #[test]
    fn every_size_reads_back() {
        for size in [0, 1, 3, 4, 5, 40, 41, 42, 52, 65534, 65535, 65536, 200_000] {
            let content: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
            let mut out = Vec::new();
            render_binary(&mut out, b"", &content);
            let data = read_first(&out);
            assert_eq!(
                unpack_data(&data, b"", size).as_deref(),
                Ok(content.as_slice()),
                "{size}"
            );
            if size > 0 {
                assert_eq!(unpack_data(&data, b"", size - 1), Err(BinaryFault::TooLarge));
            }
        }
    }

    #[test]
    fn a_size_that_is_not_true_is_not_believed() {
        let mut out = Vec::new();
        render_binary(&mut out, b"", &[0; 100_000]);
        for size in [0, 1, 99_999, 100_001, 1 << 30] {
            let data = BinaryData {
                size,
                ..read_first(&out)
            };
            assert_eq!(
                unpack_data(&data, b"", 2 << 30),
                Err(BinaryFault::Damaged),
                "{size}"
            );
        }
        let cut = BinaryData {
            packed: read_first(&out).packed.split_last().unwrap().1.to_vec(),
            ..read_first(&out)
        };
        assert_eq!(unpack_data(&cut, b"", 1 << 20), Err(BinaryFault::Damaged));
    }

    #[test]
    fn only_the_two_methods_of_git_are_read() {
        for line in [
            "literal",
            "literal ",
            "literal -1",
            "literal +1",
            "zstd 4",
            "literal 1 2",
        ] {
            assert_eq!(read_method(line.as_bytes()), None, "{line}");
        }
        let large = format!("literal {}0", u64::MAX);
        assert_eq!(read_method(large.as_bytes()), None);
    }
}
