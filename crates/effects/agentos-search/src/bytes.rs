//! Numbers in bytes.
//!
//! Owns: the little-endian and variable-length forms of numbers, and reading them without leaving the bytes. Never: trusts a
//! length that it read.

/// Reads numbers from the front of bytes. Every method returns `None` if the bytes end first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteReader<'a>(pub &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn take_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn take_u32(&mut self) -> Option<u32> {
        self.take_array().map(u32::from_le_bytes)
    }

    pub(crate) fn take_u64(&mut self) -> Option<u64> {
        self.take_array().map(u64::from_le_bytes)
    }

    /// Reads a number of 7 bits a byte, the low ones first. `None` also if it does not fit 32 bits.
    pub(crate) fn take_varint(&mut self) -> Option<u32> {
        let mut value = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.take_array()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return u32::try_from(value).ok();
            }
        }
        None
    }

    /// Reads a text with its length before it.
    pub(crate) fn take_text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.take_varint()?).ok()?;
        std::str::from_utf8(self.take_bytes(length)?).ok()
    }
}

/// Writes a number of 7 bits a byte, the low ones first.
pub(crate) fn push_varint(into: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        into.push((value as u8) | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// Writes a text with its length before it. A longer text than 4 GiB is cut; no path or subject is.
pub(crate) fn push_text(into: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len()).unwrap_or(0);
    push_varint(into, length);
    into.extend(text.as_bytes().iter().take(length as usize));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for value in [0, 1, 127, 128, 300, 1 << 21, u32::MAX] {
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            let mut reader = ByteReader(&bytes);
            assert_eq!(reader.take_varint(), Some(value));
            assert_eq!(reader.0, b"");
            bytes.pop();
            assert_eq!(ByteReader(&bytes).take_varint(), None, "{value}");
        }
        // More than 32 bits, and a number that does not end.
        assert_eq!(ByteReader(&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F]).take_varint(), None);
        assert_eq!(ByteReader(&[0x80; 9]).take_varint(), None);
        assert_eq!(ByteReader(&[200, 1, b'a']).take_text(), None);
    }
}
