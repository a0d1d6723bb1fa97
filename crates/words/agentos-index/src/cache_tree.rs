//! The extension `TREE`: for each folder of the index the id of the tree object that it equals, if that is known.
//!
//! Owns: invalidating the folders above touched paths. Never: computes an id.

use std::collections::BTreeSet;

use crate::entry::list_parents;

/// Limit on nested folders; git itself stops far below.
const MAX_DEPTH: usize = 4096;
const ID: usize = 20;

/// Returns the extension with the folders above `paths` invalidated. `None` if it cannot be parsed, or a path is now a
/// file where it has a folder: git rebuilds it.
pub(crate) fn invalidate_parents<'a>(
    extension: &[u8],
    paths: impl Iterator<Item = &'a str>,
) -> Option<Vec<u8>> {
    let mut stale = BTreeSet::from([&b""[..]]);
    let mut touched = BTreeSet::new();
    for path in paths {
        stale.extend(list_parents(path).map(str::as_bytes));
        touched.insert(path.as_bytes());
    }
    let mut out = Vec::with_capacity(extension.len());
    let mut rest = extension;
    let mut folder: Vec<u8> = Vec::new();
    // For each open folder: how many subfolders are still to come, and the length of its parent's path.
    let mut open: Vec<(u32, usize)> = Vec::new();
    while !rest.is_empty() {
        let (name, after) = split_at_byte(rest, 0)?;
        let (numbers, after) = split_at_byte(after, b'\n')?;
        let (count, below) = std::str::from_utf8(numbers).ok()?.split_once(' ')?;
        let (count, below) = (count.parse::<i64>().ok()?, below.parse::<u32>().ok()?);
        let above = folder.len();
        enter_folder(&mut folder, name, open.is_empty())?;
        // A file is now where a folder was.
        if touched.contains(folder.as_slice()) || open.len() > MAX_DEPTH {
            return None;
        }
        // An invalid node has the count -1 and no id.
        let id = if count < 0 { 0 } else { ID };
        let (id, after) = after.split_at_checked(id)?;
        out.extend_from_slice(name);
        out.push(0);
        if stale.contains(folder.as_slice()) {
            out.extend_from_slice(format!("-1 {below}\n").as_bytes());
        } else {
            out.extend_from_slice(numbers);
            out.push(b'\n');
            out.extend_from_slice(id);
        }
        rest = after;
        open.push((below, above));
        while let Some((0, above)) = open.last().copied() {
            folder.truncate(above);
            open.pop();
            match open.last_mut() {
                Some((left, _)) => *left = left.checked_sub(1)?,
                // More than one outermost folder.
                None if !rest.is_empty() => return None,
                None => {}
            }
        }
    }
    open.is_empty().then_some(out)
}

/// Appends a name to the path of the current folder; only the outermost folder has none.
fn enter_folder(folder: &mut Vec<u8>, name: &[u8], is_outermost: bool) -> Option<()> {
    if is_outermost {
        return name.is_empty().then_some(());
    }
    if !folder.is_empty() {
        folder.push(b'/');
    }
    folder.extend_from_slice(name);
    (!name.is_empty()).then_some(())
}

fn split_at_byte(bytes: &[u8], end: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == end)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two folders, one of them with one in it.
    fn example() -> Vec<u8> {
        let id = [b'i'; ID];
        let node =
            |name: &str, numbers: &str| [name.as_bytes(), b"\0", numbers.as_bytes(), b"\n", &id].concat();
        [
            node("", "5 2"),
            node("a", "2 1"),
            node("b", "1 0"),
            node("c", "3 0"),
        ]
        .concat()
    }

    fn seen(paths: &[&str]) -> Option<String> {
        let out = invalidate_parents(&example(), paths.iter().copied())?;
        let text = String::from_utf8(out).unwrap();
        Some(
            text.replace(&"i".repeat(ID), "+ ")
                .replace('\0', ":")
                .replace('\n', " "),
        )
    }

    #[test]
    fn folders_above_a_path_are_invalidated_and_others_stay() {
        for (paths, left) in [
            (&[][..], ":-1 2 a:2 1 + b:1 0 + c:3 0 + "),
            (&["x"], ":-1 2 a:2 1 + b:1 0 + c:3 0 + "),
            (&["c/x"], ":-1 2 a:2 1 + b:1 0 + c:-1 0 "),
            (&["a/b/x"], ":-1 2 a:-1 1 b:-1 0 c:3 0 + "),
            (&["new/x", "a/x"], ":-1 2 a:-1 1 b:1 0 + c:3 0 + "),
        ] {
            assert_eq!(seen(paths).as_deref(), Some(left), "{paths:?}");
        }
    }

    #[test]
    fn an_extension_that_cannot_be_parsed_is_dropped() {
        assert_eq!(seen(&["a/b"]), None, "a file where a folder was");
        let whole = example();
        for end in 1..whole.len() {
            assert_eq!(
                invalidate_parents(&whole[..end], std::iter::empty()),
                None,
                "cut at {end}"
            );
        }
        assert_eq!(
            invalidate_parents(&[whole.clone(), whole].concat(), std::iter::empty()),
            None
        );
        assert_eq!(invalidate_parents(b"", std::iter::empty()), Some(Vec::new()));
    }
}
