//! Encoded forms of a secret, each reduced to its letters and digits.
//!
//! Owns: the encodings. Never: decodes an escape; `view` does.

/// Minimum number of letters and digits in a form. Shorter forms occur in ordinary text by accident.
const SHORTEST_FORM: usize = 12;
/// Minimum number of letters and digits in a part of a form that is searched for on its own.
const SHORTEST_PART: usize = 16;
/// Maximum length in bytes of a secret that is also searched for in twice encoded forms. Longer values are tokens and
/// certificates, whose forms would cost too much memory.
const LONGEST_NESTED: usize = 160;
/// Maximum length of a form whose parts are taken every [`PART_STEP`] characters. Longer forms have fewer parts.
const LONGEST_DENSE: usize = 256;
/// Distance between the starts of two parts of a form.
const PART_STEP: usize = 4;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Adds the forms of a secret to `all`. Returns false if the unencoded secret is not among them and must be searched for
/// exactly: it has too few letters and digits, or it consists of words that ordinary text may contain with other separators.
pub(super) fn add_forms(secret: &[u8], all: &mut Vec<Vec<u8>>) -> bool {
    let is_covered = !is_words(secret) && keep_alphanumeric(secret).len() >= SHORTEST_FORM;
    if is_covered {
        add_with_parts(keep_alphanumeric(secret), all);
    }
    // Reversed and rotated words are no ordinary text any more, so these forms are searched for words too.
    let turned = [reverse_bytes(secret), rotate_letters(secret)].map(|form| keep_alphanumeric(&form));
    for form in turned.into_iter().chain(encode_bytes(secret)) {
        add_with_parts(form, all);
    }
    if secret.len() <= LONGEST_NESTED {
        let inner = [
            reverse_bytes(secret),
            rotate_letters(secret),
            encode_bits(secret, 6, 0, BASE64),
            encode_bits(secret, 6, 0, BASE64_URL),
            encode_bits(secret, 5, 0, BASE32),
            encode_each_byte(secret, |byte| format!("{byte:02x}")),
            encode_each_byte(secret, |byte| format!("{byte:02X}")),
        ];
        // The first one is the reversed secret, so reversing it again would give the secret itself.
        all.extend(
            inner
                .iter()
                .skip(1)
                .map(|inner| keep_alphanumeric(&reverse_bytes(inner))),
        );
        all.extend(inner.iter().flat_map(|inner| encode_bytes(inner)));
    }
    all.retain(|form| form.len() >= SHORTEST_FORM);
    is_covered
}

/// Returns true if a value consists of words, like `sk-no-key-required`, and is not random: no digits, and only one case.
fn is_words(secret: &[u8]) -> bool {
    // Placeholders are words. Found among letters and digits only, they would match ordinary sentences about keys.
    let has = |fits: fn(&u8) -> bool| secret.iter().any(fits);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    !has(u8::is_ascii_digit) && !is_mixed
}

/// Returns the encodings of bytes. Base64 and Base32 have one for each alignment, because the text around the bytes may be
/// encoded together with them.
fn encode_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![
        encode_each_byte(bytes, |byte| format!("{byte:02x}")),
        encode_each_byte(bytes, |byte| format!("0x{byte:02x}")),
        // Arrays in C, Go and Rust write a small byte with one digit or with two.
        encode_each_byte(bytes, |byte| format!("0x{byte:x}")),
        encode_each_byte(bytes, |byte| format!("{byte}")),
        encode_each_byte(bytes, |byte| format!("{byte:03}")),
        // `od` prints three octal digits, and `xxd -b` eight binary ones.
        encode_each_byte(bytes, |byte| format!("{byte:03o}")),
        encode_each_byte(bytes, |byte| format!("{byte:08b}")),
    ];
    for alphabet in [BASE64, BASE64_URL] {
        all.extend((0..3).map(|before| encode_bits(bytes, 6, before, alphabet)));
    }
    all.extend((0..5).map(|before| encode_bits(bytes, 5, before, BASE32)));
    all.iter().map(|form| keep_alphanumeric(form)).collect()
}

/// Adds a form, and parts of it, so that a part stays intact if the form is split in two.
fn add_with_parts(form: Vec<u8>, all: &mut Vec<Vec<u8>>) {
    let half = form.len() / 2;
    // Parts of at most half of the form: wherever one cut falls, one of the halves stays whole and contains a part.
    let size = SHORTEST_PART.max(form.len().div_ceil(4));
    if size <= half {
        let most = half - size + 1;
        let step = if form.len() <= LONGEST_DENSE {
            most.min(PART_STEP)
        } else {
            most
        };
        let last = form.len() - size;
        let starts = (0..last).step_by(step).chain([last]);
        let parts = starts.filter_map(|at| form.get(at..at + size));
        all.extend(parts.map(<[u8]>::to_vec));
    }
    all.push(form);
}

/// Returns the letters and digits, in lower case.
fn keep_alphanumeric(text: &[u8]) -> Vec<u8> {
    let kept = text.iter().filter(|byte| byte.is_ascii_alphanumeric());
    kept.map(u8::to_ascii_lowercase).collect()
}

/// Returns the bytes in reverse order.
fn reverse_bytes(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect()
}

/// Rotates letters by 13 positions (ROT13).
fn rotate_letters(bytes: &[u8]) -> Vec<u8> {
    let turn = |byte: u8, first: u8| (byte - first + 13) % 26 + first;
    let each = bytes.iter().map(|byte| match byte {
        b'a'..=b'z' => turn(*byte, b'a'),
        b'A'..=b'Z' => turn(*byte, b'A'),
        _ => *byte,
    });
    each.collect()
}

/// Encodes each byte separately with `write`.
fn encode_each_byte(bytes: &[u8], write: fn(u8) -> String) -> Vec<u8> {
    bytes.iter().flat_map(|byte| write(*byte).into_bytes()).collect()
}

/// Encodes bytes `width` bits at a time (RFC 4648), as if `before` other bytes preceded them. Returns only the characters
/// that do not depend on neighboring bytes.
fn encode_bits(bytes: &[u8], width: usize, before: usize, alphabet: &[u8]) -> Vec<u8> {
    let (mut out, mut pending, mut count) = (Vec::new(), 0_usize, 0);
    // These leading bits share a character with the unknown byte before, so that character is not known.
    let skipped = (width - before * 8 % width) % width;
    for (at, byte) in bytes.iter().enumerate() {
        pending = pending << 8 | usize::from(*byte);
        count += 8;
        if at == 0 {
            count -= skipped;
            pending &= (1 << count) - 1;
        }
        while count >= width {
            count -= width;
            out.extend(alphabet.get(pending >> count));
            pending &= (1 << count) - 1;
        }
    }
    out
}
