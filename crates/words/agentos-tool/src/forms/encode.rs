//! The forms of a secret, as the letters and digits that are left of each.
//!
//! Owns: the encodings. Never: decodes; what an escape means is `view`'s.

/// Letters and digits of a form, at least: fewer are found in honest text by accident.
const SHORTEST_FORM: usize = 12;
/// Letters and digits of a part that gives a secret away.
const SHORTEST_PART: usize = 16;
/// Bytes of a secret that is also looked for in a form of a form; longer ones are tokens and certificates.
const LONGEST_NESTED: usize = 160;
/// Up to this length of a form its parts are looked for so densely that no more than [`PART_STEP`] letters are left of one.
const LONGEST_DENSE: usize = 256;
const PART_STEP: usize = 4;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Adds the forms of a secret to `all`. False if the secret itself is not among them and must be looked for as it is: it has
/// too few letters and digits, or consists of words that an honest text may hold with other marks between them.
pub(super) fn forms(secret: &[u8], all: &mut Vec<Vec<u8>>) -> bool {
    let is_covered = !is_words(secret) && squeeze(secret).len() >= SHORTEST_FORM;
    if is_covered {
        add_with_parts(squeeze(secret), all);
    }
    let turned = [reversed(secret), rotated(secret)].map(|form| squeeze(&form));
    for form in turned.into_iter().chain(encoded(secret)) {
        add_with_parts(form, all);
    }
    if secret.len() <= LONGEST_NESTED {
        let inner = [
            reversed(secret),
            rotated(secret),
            in_bits(secret, 6, 0, BASE64),
            in_bits(secret, 6, 0, BASE64_URL),
            in_bits(secret, 5, 0, BASE32),
            each_byte(secret, |byte| format!("{byte:02x}")),
            each_byte(secret, |byte| format!("{byte:02X}")),
        ];
        // The reverse of the first one is the secret itself.
        all.extend(inner.iter().skip(1).map(|inner| squeeze(&reversed(inner))));
        all.extend(inner.iter().flat_map(|inner| encoded(inner)));
    }
    all.retain(|form| form.len() >= SHORTEST_FORM);
    is_covered
}

/// Returns true if a value is words and no random text, as `sk-no-key-required` is: it has no digit, and one case.
fn is_words(secret: &[u8]) -> bool {
    let has = |fits: fn(&u8) -> bool| secret.iter().any(fits);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    !has(u8::is_ascii_digit) && !is_mixed
}

/// The encodings of bytes, wherever in the encoded text they stand.
fn encoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![
        each_byte(bytes, |byte| format!("{byte:02x}")),
        each_byte(bytes, |byte| format!("0x{byte:02x}")),
        each_byte(bytes, |byte| format!("0x{byte:x}")),
        each_byte(bytes, |byte| format!("{byte}")),
        each_byte(bytes, |byte| format!("{byte:03}")),
        each_byte(bytes, |byte| format!("{byte:03o}")),
        each_byte(bytes, |byte| format!("{byte:08b}")),
    ];
    for alphabet in [BASE64, BASE64_URL] {
        all.extend((0..3).map(|before| in_bits(bytes, 6, before, alphabet)));
    }
    all.extend((0..5).map(|before| in_bits(bytes, 5, before, BASE32)));
    all.iter().map(|form| squeeze(form)).collect()
}

/// Adds a form and the parts of it of which one is left whole where it is cut in two.
fn add_with_parts(form: Vec<u8>, all: &mut Vec<Vec<u8>>) {
    let half = form.len() / 2;
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
fn squeeze(text: &[u8]) -> Vec<u8> {
    let kept = text.iter().filter(|byte| byte.is_ascii_alphanumeric());
    kept.map(u8::to_ascii_lowercase).collect()
}

fn reversed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect()
}

/// Rotates letters by 13.
fn rotated(bytes: &[u8]) -> Vec<u8> {
    let turn = |byte: u8, first: u8| (byte - first + 13) % 26 + first;
    let each = bytes.iter().map(|byte| match byte {
        b'a'..=b'z' => turn(*byte, b'a'),
        b'A'..=b'Z' => turn(*byte, b'A'),
        _ => *byte,
    });
    each.collect()
}

fn each_byte(bytes: &[u8], write: fn(u8) -> String) -> Vec<u8> {
    bytes.iter().flat_map(|byte| write(*byte).into_bytes()).collect()
}

/// Encodes bytes `width` bits at a time (RFC 4648), as they stand behind `before` other bytes. Only characters that hold
/// nothing of the neighbours are kept.
fn in_bits(bytes: &[u8], width: usize, before: usize, alphabet: &[u8]) -> Vec<u8> {
    let (mut out, mut pending, mut count) = (Vec::new(), 0_usize, 0);
    // The first character of which all bits are known.
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
