//! Base 85 as git writes it: five digits for four bytes, in an alphabet of git's own (base85.c).
//!
//! Owns: the alphabet. Never: accepts a digit too many or too few.

/// Digits in the order of their values.
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Returns the value of a digit. Returns `None` for any other byte.
fn value_of(digit: u8) -> Option<u32> {
    let at = DIGITS.iter().position(|known| *known == digit)?;
    u32::try_from(at).ok()
}

/// Writes bytes as digits. The last group is filled up with zeros.
pub(super) fn encode_digits(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(4) {
        let mut filled = [0; 4];
        for (to, from) in filled.iter_mut().zip(group) {
            *to = *from;
        }
        let mut rest = u32::from_be_bytes(filled);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS.get((rest % 85) as usize).copied().unwrap_or_default();
            rest /= 85;
        }
        out.extend_from_slice(&digits);
    }
}

/// Adds the `count` bytes that these digits mean. Returns `None` if they mean another number of bytes.
pub(super) fn decode_digits(digits: &[u8], count: usize, out: &mut Vec<u8>) -> Option<()> {
    if digits.len() != count.div_ceil(4) * 5 {
        return None;
    }
    let mut left = count;
    for group in digits.chunks(5) {
        let mut sum: u32 = 0;
        for digit in group {
            // Five digits can state more than 32 bits.
            sum = sum.checked_mul(85)?.checked_add(value_of(*digit)?)?;
        }
        let bytes = sum.to_be_bytes();
        let taken = left.min(bytes.len());
        out.extend_from_slice(bytes.get(..taken)?);
        left -= taken;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_git() {
        let cases: [(&[u8], &str); 5] = [
            (b"", ""),
            (b"\0", "00000"),
            (b"\xff\xff\xff\xff", "|NsC0"),
            (b"hello world\n", "Xk~0{Zy<MXa%^M@"),
            (b"hell", "Xk~0{"),
        ];
        for (bytes, digits) in cases {
            let mut out = Vec::new();
            encode_digits(bytes, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), digits);
            let mut back = Vec::new();
            assert_eq!(decode_digits(&out, bytes.len(), &mut back), Some(()));
            assert_eq!(back, bytes);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for (digits, count) in [
            ("|NsC1", 4),
            ("~~~~~", 4),
            ("0000", 4),
            ("000000", 4),
            ("0000\"", 4),
            ("00000", 5),
            ("0000 ", 4),
        ] {
            assert_eq!(
                decode_digits(digits.as_bytes(), count, &mut Vec::new()),
                None,
                "{digits}"
            );
        }
    }
}
