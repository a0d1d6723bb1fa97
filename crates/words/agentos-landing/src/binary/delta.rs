//! Git's deltas: new content as copies of the old content and new bytes (gitformat-pack(5), "Deltified representation").
//!
//! Owns: reading one, with every size checked. Never: copies from outside the old content.

use super::BinaryFault;

/// Applies a delta to the old content. The result has `most` bytes or fewer.
///
/// # Errors
/// If the delta is damaged, too large, or was made for old content of another size.
pub(super) fn apply_delta(old: &[u8], delta: &[u8], most: usize) -> Result<Vec<u8>, BinaryFault> {
    let mut rest = delta.iter().copied();
    if read_size(&mut rest) != Some(old.len()) {
        return Err(BinaryFault::OtherBase);
    }
    let size = read_size(&mut rest).ok_or(BinaryFault::Damaged)?;
    if size > most {
        return Err(BinaryFault::TooLarge);
    }
    let mut new = Vec::new();
    while let Some(step) = rest.next() {
        let room = size - new.len();
        if step & 0x80 != 0 {
            let (start, length) = read_copy(step, &mut rest).ok_or(BinaryFault::Damaged)?;
            let end = start.checked_add(length).filter(|_| length <= room);
            let copied = end.and_then(|end| old.get(start..end));
            new.extend_from_slice(copied.ok_or(BinaryFault::Damaged)?);
        } else {
            let length = usize::from(step);
            let before = new.len();
            // 0 is reserved by the format.
            if length == 0 || length > room {
                return Err(BinaryFault::Damaged);
            }
            new.extend(rest.by_ref().take(length));
            if new.len() - before != length {
                return Err(BinaryFault::Damaged);
            }
        }
    }
    (new.len() == size).then_some(new).ok_or(BinaryFault::Damaged)
}

/// Reads a size: seven bits a byte, the lowest first. Returns `None` if it does not end or is too large.
fn read_size(rest: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut size: u64 = 0;
    for shift in (0..63).step_by(7) {
        let byte = rest.next()?;
        size |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(size).ok();
        }
    }
    None
}

/// Reads the start and the length of a copy: a bit of `step` is set for each byte of them that is not zero. Returns
/// `None` if a byte is missing.
fn read_copy(step: u8, rest: &mut impl Iterator<Item = u8>) -> Option<(usize, usize)> {
    let mut number = |bits: std::ops::Range<u32>| {
        let first = bits.start;
        bits.into_iter().try_fold(0_usize, |number, bit| {
            if step & 1 << bit == 0 {
                return Some(number);
            }
            Some(number | usize::from(rest.next()?) << (8 * (bit - first)))
        })
    };
    let start = number(0..4)?;
    let length = number(4..7)?;
    Some((start, if length == 0 { 0x1_0000 } else { length }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_new_bytes_make_the_result() {
        // Sizes 6 and 7; copy 4 bytes from 2; three new bytes.
        let delta = b"\x06\x07\x91\x02\x04\x03xyz";
        assert_eq!(apply_delta(b"abcdef", delta, 7).as_deref(), Ok(&b"cdefxyz"[..]));
        let most = vec![b'a'; 0x1_0000];
        // A length of zero means 65536.
        let whole = b"\x80\x80\x04\x80\x80\x04\x80";
        assert_eq!(apply_delta(&most, whole, 1 << 20).as_ref(), Ok(&most));
    }

    #[test]
    fn a_delta_that_lies_is_refused() {
        use BinaryFault::{Damaged, OtherBase, TooLarge};
        let cases: [(&[u8], BinaryFault); 10] = [
            (b"", OtherBase),
            (b"\x05\x07\x91\x02\x04\x03xyz", OtherBase),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", OtherBase),
            (b"\x06", Damaged),
            (b"\x06\x20\x91\x02\x04\x03xyz", TooLarge),
            // The copy leaves the old content; the result is longer, shorter, or cut off; the reserved step.
            (b"\x06\x07\x91\x03\x04\x03xyz", Damaged),
            (b"\x06\x06\x91\x02\x04\x03xyz", Damaged),
            (b"\x06\x08\x91\x02\x04\x03xyz", Damaged),
            (b"\x06\x07\x91\x02\x04\x03xy", Damaged),
            (b"\x06\x07\x00", Damaged),
        ];
        for (delta, fault) in cases {
            assert_eq!(apply_delta(b"abcdef", delta, 16), Err(fault), "{delta:?}");
        }
    }
}
