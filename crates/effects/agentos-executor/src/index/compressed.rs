//! Entries of an index of version 4, whose names say only what differs from the name before.
//!
//! Owns: both ways between that form and the one of versions 2 and 3. Never: keeps anything.

use super::file::{Entry, Fault, Slot, append, head_length};

/// The entries in the form of versions 2 and 3, where they are in it, and where they end in the file.
pub(super) fn entries(
    content: &[u8],
    mut at: usize,
    count: u32,
) -> Result<(Vec<u8>, Vec<Slot>, usize), Fault> {
    let mut bytes = Vec::with_capacity(content.len());
    let mut slots = Vec::new();
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let name = at + head_length(content, at)?;
        let head = content.get(at..name).ok_or(Fault::Short)?;
        let (cut, length) = variable(content.get(name..).ok_or(Fault::Short)?)?;
        let rest = content.get(name + length..).ok_or(Fault::Short)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(Fault::Short)?;
        let stays = path.len().checked_sub(cut).ok_or(Fault::Name)?;
        path.truncate(stays);
        path.extend_from_slice(rest.get(..end).ok_or(Fault::Short)?);
        // Names grow from one to the next: a small file must not become a large memory.
        if bytes.len() > MOST {
            return Err(Fault::Name);
        }
        slots.push(append(&mut bytes, head, &path));
        at = name + length + end + 1;
    }
    Ok((bytes, slots, at))
}

/// Far more than the names of any repository take.
const MOST: usize = 1 << 30;

/// The entries as version 4 has them.
pub(super) fn packed<'a>(entries: impl Iterator<Item = Entry<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before: &[u8] = &[];
    for entry in entries {
        let same = before
            .iter()
            .zip(entry.path)
            .take_while(|(one, other)| one == other)
            .count();
        bytes.extend_from_slice(entry.head());
        write_variable(&mut bytes, before.len() - same);
        bytes.extend_from_slice(entry.path.get(same..).unwrap_or_default());
        bytes.push(0);
        before = entry.path;
    }
    bytes
}

/// A number as git writes offsets in packs: seven bits a byte, the highest first, and one more for each byte that
/// follows. Gives the number and the bytes it took.
fn variable(bytes: &[u8]) -> Result<(usize, usize), Fault> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            value = value.checked_add(1).ok_or(Fault::Name)?;
        }
        value = value
            .checked_mul(128)
            .and_then(|value| value.checked_add(usize::from(byte & 0x7f)))
            .ok_or(Fault::Name)?;
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
    }
    Err(Fault::Short)
}

fn write_variable(bytes: &mut Vec<u8>, mut value: usize) {
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
            write_variable(&mut bytes, value);
            assert_eq!(variable(&bytes), Ok((value, bytes.len())));
        }
        assert_eq!(variable(&[0x80]), Err(Fault::Short));
        assert_eq!(variable(&[0xff; 40]), Err(Fault::Name));
    }
}
