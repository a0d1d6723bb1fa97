//! Applies hunks of our own canonical diff to the content that they were made from.
//!
//! Owns: the strict parser of such hunks. Never: searches, repairs or guesses: one different byte is a refusal.

/// Applies hunks and returns the new content. `None` if they do not fit exactly.
pub(crate) fn apply_hunks(old: &[u8], hunks: &[u8]) -> Option<Vec<u8>> {
    let mut old_lines = old.split_inclusive(|byte| *byte == b'\n');
    let mut taken = 0;
    let mut new = Vec::with_capacity(old.len());
    let mut lines = hunks.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        if line.starts_with(b"@@ -") {
            let start = lines_before(line)?;
            while taken < start {
                new.extend_from_slice(old_lines.next()?);
                taken += 1;
            }
            continue;
        }
        let (mark, mut text) = line.split_first()?;
        // `\ No newline at end of file` is about the line before it.
        if lines.next_if(|next| next.starts_with(b"\\")).is_some() {
            text = text.strip_suffix(b"\n")?;
        }
        if matches!(mark, b' ' | b'-') {
            taken += 1;
            if old_lines.next()? != text {
                return None;
            }
        }
        match mark {
            b' ' | b'+' => new.extend_from_slice(text),
            b'-' => {}
            _ => return None,
        }
    }
    for line in old_lines {
        new.extend_from_slice(line);
    }
    Some(new)
}

/// Returns the number of lines of the old content before a hunk, from its header `@@ -start[,count] +…`. `None` if the
/// header is not valid.
fn lines_before(header: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(header).ok()?.strip_prefix("@@ -")?;
    let (range, _) = text.split_once(' ')?;
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    let start: usize = start.parse().ok()?;
    // A hunk without old lines names the line after which it inserts; every other hunk names its first line.
    if count == "0" {
        Some(start)
    } else {
        start.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_that_fit_give_the_new_content() {
        type Case = (&'static [u8], &'static [u8], Option<&'static [u8]>);
        let cases: [Case; 9] = [
            (b"a\nb\nc\n", b"@@ -2 +2 @@\n-b\n+B\n", Some(b"a\nB\nc\n")),
            (
                b"a\nb\nc\n",
                b"@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -3 +4 @@\n-c\n+C\n",
                Some(b"a\nx\nb\nC\n"),
            ),
            (b"", b"@@ -0,0 +1 @@\n+\0\n", Some(b"\0\n")),
            (
                b"a\n",
                b"@@ -1,0 +2 @@\n+b\n\\ No newline at end of file\n",
                Some(b"a\nb"),
            ),
            (
                b"a",
                b"@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n",
                Some(b""),
            ),
            (b"a\n", b"@@ -1 +1 @@\n-b\n+c\n", None),
            (b"a", b"@@ -1 +1 @@\n-a\n+c\n", None),
            (b"a\n", b"@@ -5 +5 @@\n-a\n+c\n", None),
            (b"a\n", b"@@ -1 +1 @@\n-a\n?c\n", None),
        ];
        for (old, hunks, expected) in cases {
            assert_eq!(
                apply_hunks(old, hunks).as_deref(),
                expected,
                "{}",
                String::from_utf8_lossy(hunks)
            );
        }
    }
}
