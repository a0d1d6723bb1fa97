//! Entries of an index of version 4, whose names hold only what differs from the previous name.
//!
//! Owns: both directions between that form and the one of versions 2 and 3. Never: keeps state between calls.

use crate::IndexError;
use crate::entry::{EntrySlot, IndexEntry, append_entry, measure_head};

/// Limit on the expanded entries, far above what any repository takes.
const MAX_EXPANDED: usize = 1 << 30;

/// Expands entries into the form of versions 2 and 3: returns their bytes, their positions in these, and where they end
/// in the file.
pub(crate) fn expand_entries(
    content: &[u8],
    mut at: usize,
    count: u32,
) -> Result<(Vec<u8>, Vec<EntrySlot>, usize), IndexError> {
    let mut bytes = Vec::with_capacity(content.len());
    let mut slots = Vec::new();
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let name = at + measure_head(content, at)?;
        let head = content.get(at..name).ok_or(IndexError::Truncated)?;
        let (cut, length) = read_offset(content.get(name..).ok_or(IndexError::Truncated)?)?;
        let rest = content.get(name + length..).ok_or(IndexError::Truncated)?;
        let end = rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(IndexError::Truncated)?;
        // Cutting more than the previous name has is damage.
        let stays = path.len().checked_sub(cut).ok_or(IndexError::InvalidName)?;
        path.truncate(stays);
        path.extend_from_slice(rest.get(..end).ok_or(IndexError::Truncated)?);
        // Each name can be longer than the one before, so a small file can claim quadratic memory.
        if bytes.len() > MAX_EXPANDED {
            return Err(IndexError::NamesTooLarge);
        }
        slots.push(append_entry(&mut bytes, head, &path));
        at = name + length + end + 1;
    }
    Ok((bytes, slots, at))
}

/// Compresses entries into the form of version 4.
pub(crate) fn compress_entries(expanded: &[u8], slots: &[EntrySlot]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut previous: &[u8] = &[];
    for entry in slots.iter().filter_map(|slot| IndexEntry::at(expanded, *slot)) {
        let same = previous
            .iter()
            .zip(entry.path())
            .take_while(|(one, other)| one == other)
            .count();
        bytes.extend_from_slice(entry.head());
        write_offset(&mut bytes, previous.len() - same);
        bytes.extend_from_slice(entry.path().get(same..).unwrap_or_default());
        bytes.push(0);
        previous = entry.path();
    }
    bytes
}

/// Reads a number as git writes offsets in packs: seven bits a byte, the highest first, and one more for each byte that
/// follows. Returns the number and how many bytes it took.
fn read_offset(bytes: &[u8]) -> Result<(usize, usize), IndexError> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            // Git adds one for each further byte, so that every number has one form only.
            value = value.checked_add(1).ok_or(IndexError::InvalidName)?;
        }
        value = value
            .checked_mul(128)
            .and_then(|value| value.checked_add(usize::from(byte & 0x7f)))
            .ok_or(IndexError::InvalidName)?;
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
    }
    Err(IndexError::Truncated)
}

fn write_offset(bytes: &mut Vec<u8>, mut value: usize) {
    let low = |value: usize| u8::try_from(value & 0x7f).unwrap_or_default();
    let mut reversed = vec![low(value)];
    while value > 127 {
        value = (value >> 7) - 1;
        reversed.push(low(value) | 0x80);
    }
    bytes.extend(reversed.iter().rev());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_as_it_is_read() {
        for value in [0, 1, 127, 128, 129, 16_511, 16_512, 1_000_000] {
            let mut bytes = Vec::new();
            write_offset(&mut bytes, value);
            assert_eq!(read_offset(&bytes), Ok((value, bytes.len())));
        }
        assert_eq!(read_offset(&[0x80]), Err(IndexError::Truncated));
        assert_eq!(read_offset(&[0xff; 40]), Err(IndexError::InvalidName));
    }
}
