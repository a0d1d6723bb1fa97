//! Binary data of a canonical diff in words, for a person.
//!
//! Owns: size and SHA-256 of the content on each side. Never: shows a part of the data, or changes another line.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::{HEADER, unpack_data};
use crate::canonical::to_hex;
use crate::parse::{LineCursor, read_binary_data};
use crate::text::{contains, split_lines};

/// Returns the diff with each block of binary data replaced by two lines that state size and SHA-256 of the content before
/// and after. Data in another form than that of a canonical diff stays as it is.
#[must_use]
pub fn describe_binary(diff: &[u8]) -> Cow<'_, [u8]> {
    // Nearly no change has a binary file.
    if !contains(diff, HEADER) {
        return Cow::Borrowed(diff);
    }
    let lines = split_lines(diff);
    let mut cursor = LineCursor::new(&lines, b"");
    let mut out = Vec::new();
    while let Some(line) = lines.get(cursor.at) {
        cursor.at += 1;
        let below = cursor.at;
        // A line of content begins with a mark, so such a line is always a header.
        let words = if line.text == HEADER {
            describe_block(&mut cursor)
        } else {
            None
        };
        if words.is_none() {
            cursor.at = below;
        }
        out.extend_from_slice(words.as_ref().map_or(line.full, String::as_bytes));
    }
    Cow::Owned(out)
}

/// Describes the data of both directions, which begin at the cursor. Returns `None` if the data is not in stored blocks.
fn describe_block(cursor: &mut LineCursor<'_, '_>) -> Option<String> {
    let mut read_content = || {
        let data = read_binary_data(cursor).ok()?.filter(|data| !data.is_delta)?;
        // An empty line ends each direction. Any other line is not of the data, and has to be shown.
        cursor.line(cursor.at).filter(|line| line.is_empty())?;
        cursor.at += 1;
        // Stored blocks are no larger than the text, so this limit refuses everything that is packed.
        unpack_data(&data, b"", data.packed.len()).ok()
    };
    let (new, old) = (read_content()?, read_content()?);
    let words = |side: &str, content: &[u8]| {
        let bytes = if content.len() == 1 { "byte" } else { "bytes" };
        let sum = to_hex(&Sha256::digest(content));
        format!("binary {side}: {} {bytes}, sha256 {sum}\n", content.len())
    };
    Some(words("before", &old) + &words("after", &new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, FileState, RepoPath};

    #[test]
    fn data_is_shown_as_size_and_sum_and_nothing_else_changes() {
        let file = |content: &[u8]| Some(FileState::regular(content));
        let path = |name: &str| RepoPath::new(name).unwrap();
        let change = Change::new(vec![
            (path("a.txt"), file(b"GIT\n"), file(b"GIT binary patch\n")),
            (path("logo.bin"), file(b"\0"), file(&[0; 70_000])),
            (path("z.txt"), None, file(b"z\n")),
        ]);
        let change = change.unwrap();
        let shown = describe_binary(change.canonical_diff());
        insta::assert_snapshot!(String::from_utf8_lossy(&shown), @r"
        diff --git a/a.txt b/a.txt
        index 34725a9fe338215fd7b45f3109fe420d7624c64a..946df7eb5493d8bae06b5d6fc164dd52890782d9 100644
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -GIT
        +GIT binary patch
        diff --git a/logo.bin b/logo.bin
        index f76dd238ade08917e6712764a16a22005a50573d..9fea790a02baeb2724691491835d06627644ac43 100644
        binary before: 1 byte, sha256 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
        binary after: 70000 bytes, sha256 f51b279903037b37ea1828a1021499995718d38016cad6c0da30962a41be052f
        diff --git a/z.txt b/z.txt
        new file mode 100644
        index 0000000000000000000000000000000000000000..b68025345d5301abad4d9ec9166f455243a0d746
        --- /dev/null
        +++ b/z.txt
        @@ -0,0 +1 @@
        +z
        ");
        let (text, _) = change.canonical_diff().split_at(40);
        assert_eq!(describe_binary(text), text);
        let cut = change.canonical_diff().len() - 200;
        let cut = change.canonical_diff().get(..cut).unwrap();
        assert_eq!(describe_binary(cut), cut);
    }
}
