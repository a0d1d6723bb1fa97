//! Reads the binary data of our own canonical diff.
//!
//! Owns: the strict reader of that one form, which shares no code with the writer. Never: unpacks, repairs or guesses: one different
//! byte is a refusal.
//!
//! The form is git's (`GIT binary patch`), with data in stored blocks of RFC 1951, so no decompressor is needed.

/// Bytes in a full line of data.
const LINE: usize = 52;

/// Returns the contents of both directions: the new one, then the old one. `None` if the text has another form.
pub(crate) fn read_stored(text: &[u8]) -> Option<[Vec<u8>; 2]> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let new = read_direction(&mut lines)?;
    let old = read_direction(&mut lines)?;
    // The text ends in a line feed, so one empty piece is left.
    (lines.next() == Some(b"") && lines.next().is_none()).then_some([new, old])
}

fn read_direction<'a>(lines: &mut impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let size = std::str::from_utf8(lines.next()?)
        .ok()?
        .strip_prefix("literal ")?;
    let size: usize = size.parse().ok()?;
    let mut packed = Vec::new();
    let mut is_last = false;
    loop {
        let line = lines.next()?;
        let Some((mark, digits)) = line.split_first() else {
            break;
        };
        let count = match mark {
            b'A'..=b'Z' => usize::from(mark - b'A') + 1,
            b'a'..=b'z' => usize::from(mark - b'a') + 27,
            _ => return None,
        };
        // Only the last line may be shorter.
        if is_last || count > LINE {
            return None;
        }
        is_last = count < LINE;
        read_digits(digits, count, &mut packed)?;
    }
    let content = read_blocks(&packed)?;
    (content.len() == size).then_some(content)
}

/// Adds the bytes of a line: five digits to the base of 85 mean four bytes.
fn read_digits(digits: &[u8], count: usize, out: &mut Vec<u8>) -> Option<()> {
    const ALPHABET: &[u8] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let start = out.len();
    for group in digits.chunks(5) {
        let mut sum: u64 = 0;
        for digit in group {
            let value = ALPHABET.iter().position(|known| known == digit)?;
            sum = sum * 85 + value as u64;
        }
        out.extend_from_slice(&u32::try_from(sum).ok()?.to_be_bytes());
    }
    if digits.len() != count.div_ceil(4) * 5 {
        return None;
    }
    // The writer fills the last group up with zeros.
    let filled = out.split_off(start + count);
    filled.iter().all(|byte| *byte == 0).then_some(())
}

/// Reads a zlib stream of stored blocks. `None` if a block is packed, too short or too long, or if anything follows.
fn read_blocks(packed: &[u8]) -> Option<Vec<u8>> {
    let mut rest = packed.strip_prefix(b"\x78\x01")?;
    let mut content = Vec::with_capacity(rest.len());
    loop {
        let (head, behind) = rest.split_first_chunk::<5>()?;
        let [last, low, high, low_not, high_not] = *head;
        let length = u16::from_le_bytes([low, high]);
        if last > 1 || u16::from_le_bytes([low_not, high_not]) != !length {
            return None;
        }
        let (block, behind) = behind.split_at_checked(usize::from(length))?;
        content.extend_from_slice(block);
        rest = behind;
        if last == 1 {
            break;
        }
    }
    // The sum at the end is not computed again: the caller compares the content with its git id.
    (rest.len() == 4).then_some(content)
}

#[cfg(test)]
mod tests {
    use agentos_landing::{Change, FileState, RepoPath};

    use super::*;

    fn data(old: &[u8], new: &[u8]) -> Vec<u8> {
        let path = RepoPath::new("a").unwrap();
        let states = (path, Some(FileState::regular(old)), Some(FileState::regular(new)));
        let change = Change::new(vec![states]).unwrap();
        let diff = change.canonical_diff();
        let mark = b"GIT binary patch\n";
        let at = diff
            .windows(mark.len())
            .position(|window| window == mark)
            .unwrap();
        diff[at + mark.len()..].to_vec()
    }

    #[test]
    fn both_contents_of_a_canonical_diff_are_read() {
        for size in [0, 1, 3, 4, 41, 52, 65_535, 65_536, 200_000] {
            let old: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let new = b"\0new".to_vec();
            assert_eq!(read_stored(&data(&old, &new)), Some([new, old]), "{size}");
        }
    }

    #[test]
    fn one_different_byte_is_refused_or_gives_other_content() {
        let text = data(b"old\n", b"a\0b");
        let right = read_stored(&text);
        for at in 0..text.len() {
            let mut other = text.clone();
            other[at] ^= 1;
            // The check sum is not looked at, so a change in it alone leaves the content as it is.
            let is_sum = read_stored(&other) == right;
            assert!(!is_sum || (20..30).contains(&at) || (45..).contains(&at), "{at}");
            assert_eq!(read_stored(&text[..at]), None, "{at}");
        }
    }
}
