//! Values that look random: long, of the characters of one word, and with as much variety as chance gives.
//!
//! Owns: the measure. Never: states that something is a secret; a digest, an id or an image looks the same.

/// Minimum length. Shorter words have too few characters to decide.
const LEAST: usize = 20;
/// Maximum length. Longer words are data, such as an embedded image.
const MOST: usize = 200;
/// Minimum entropy in bits for each character: random base64 of 20 characters has about 4.0, a long identifier at
/// most 3.8.
const BITS: f64 = 4.0;
/// Minimum entropy for hexadecimal text, which has at most 4 bits.
const HEX_BITS: f64 = 3.3;

/// Returns true if a word of this line looks random.
pub(super) fn looks_random(text: &[u8]) -> bool {
    text.split(|byte| !is_word(*byte))
        .filter(|word| (LEAST..=MOST).contains(&word.len()))
        .any(is_random)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte)
}

fn is_random(word: &[u8]) -> bool {
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    if word.iter().all(u8::is_ascii_hexdigit) {
        return digits > 0 && digits < word.len() && entropy_bits(word) >= HEX_BITS;
    }
    let upper = word.iter().any(u8::is_ascii_uppercase);
    let lower = word.iter().any(u8::is_ascii_lowercase);
    // A path has slashes and few digits; the name of a constant has no lower case.
    digits >= 2 && upper && lower && entropy_bits(word) >= BITS
}

/// Returns Shannon's entropy of the characters, in bits.
fn entropy_bits(word: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in word {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = u32::try_from(word.len()).map_or(f64::MAX, f64::from);
    let share = |count: u32| f64::from(count) / length;
    let bits = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| share(*count));
    bits.map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_stand_out_from_names() {
        let cases = [
            ("let k = \"Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5a\";", true),
            ("id = 2c26b46b68ffc68ff99b453c1d30413413422d70", true),
            ("pub fn the_quick_brown_fox_jumps_over_the_lazy_dog() {}", false),
            ("const MAXIMUM_NUMBER_OF_CONNECTIONS_2: u32 = 10;", false),
            ("import { SomethingVeryLongAndCamelCased } from 'x'", false),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
            ("0000000000000000000000000000000000000000", false),
        ];
        for (text, expected) in cases {
            assert_eq!(looks_random(text.as_bytes()), expected, "{text}");
        }
    }
}
