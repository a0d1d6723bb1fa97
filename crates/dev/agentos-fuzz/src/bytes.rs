//! A fuzzer's bytes, read as numbers and cut into parts.
//!
//! Owns: the cuts. Never: draws by chance; the same bytes are always the same case.

/// The bytes in their order, then zeros without end.
#[derive(Debug, Clone)]
pub(crate) struct ByteReader<'d>(pub(crate) &'d [u8]);

impl<'d> ByteReader<'d> {
    /// Takes one byte.
    pub(crate) fn next(&mut self) -> u8 {
        // Zeros after the end: a fuzzer shortens inputs, and a case must not become invalid by that.
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// Takes two bytes as a number.
    pub(crate) fn next_u16(&mut self) -> usize {
        usize::from(self.next()) << 8 | usize::from(self.next())
    }

    /// Takes up to `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> &'d [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Returns true if nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Cuts bytes into chunks of 1 to 8 bytes, or far longer ones, as `seed` says.
pub(crate) fn cut_chunks(bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    let (mut rest, mut state) = (bytes, u32::from(seed).wrapping_add(1));
    while !rest.is_empty() {
        // The linear congruential generator of Numerical Recipes. Any fixed sequence would do; it must not depend on
        // anything but the seed.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wide = if seed & 1 == 0 { 7 } else { 255 };
        let length = usize::try_from(state >> 24).unwrap_or(0) % (wide + 1) + 1;
        let (chunk, after) = rest.split_at(length.min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// Splits bytes at NUL bytes. There is at least one part.
pub(crate) fn split_parts(data: &[u8]) -> Vec<&[u8]> {
    data.split(|byte| *byte == 0).collect()
}

/// Returns a part as text, with everything that is not UTF-8 replaced.
pub(crate) fn read_text(part: Option<&&[u8]>) -> String {
    String::from_utf8_lossy(part.copied().unwrap_or_default()).into_owned()
}
