//! What git remembers in an index of folders that are as a tree has them: the extension `TREE`.
//!
//! Owns: forgetting the folders above touched paths. Never: makes up what is not there.

use std::collections::BTreeSet;

use crate::preflight::ancestors;

/// Folders in folders; git itself ends far below.
const MOST_DEEP: usize = 4096;
const ID: usize = 20;

/// The same without what the paths make untrue. None if that is all, or what is there is not understood: git makes it
/// again.
pub(super) fn without<'a>(extension: &[u8], paths: impl Iterator<Item = &'a str>) -> Option<Vec<u8>> {
    let mut untrue = BTreeSet::from([&b""[..]]);
    let mut touched = BTreeSet::new();
    for path in paths {
        untrue.extend(ancestors(path).map(str::as_bytes));
        touched.insert(path.as_bytes());
    }
    let mut out = Vec::with_capacity(extension.len());
    let mut rest = extension;
    let mut folder: Vec<u8> = Vec::new();
    // For each open folder: how many are still to come in it, and how long the name of the folder above is.
    let mut open: Vec<(u32, usize)> = Vec::new();
    while !rest.is_empty() {
        let (name, after) = cut(rest, 0)?;
        let (numbers, after) = cut(after, b'\n')?;
        let (count, below) = std::str::from_utf8(numbers).ok()?.split_once(' ')?;
        let (count, below) = (count.parse::<i64>().ok()?, below.parse::<u32>().ok()?);
        let above = folder.len();
        enter(&mut folder, name, open.is_empty())?;
        // A file came where a folder was.
        if touched.contains(folder.as_slice()) || open.len() > MOST_DEEP {
            return None;
        }
        let id = if count < 0 { 0 } else { ID };
        let (id, after) = after.split_at_checked(id)?;
        out.extend_from_slice(name);
        out.push(0);
        if untrue.contains(folder.as_slice()) {
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

/// Goes into a folder; the outermost has no name.
fn enter(folder: &mut Vec<u8>, name: &[u8], is_outermost: bool) -> Option<()> {
    if is_outermost {
        return name.is_empty().then_some(());
    }
    if !folder.is_empty() {
        folder.push(b'/');
    }
    folder.extend_from_slice(name);
    (!name.is_empty()).then_some(())
}

fn cut(bytes: &[u8], end: u8) -> Option<(&[u8], &[u8])> {
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
        let out = without(&example(), paths.iter().copied())?;
        let text = String::from_utf8(out).unwrap();
        Some(
            text.replace(&"i".repeat(ID), "+ ")
                .replace('\0', ":")
                .replace('\n', " "),
        )
    }

    #[test]
    fn folders_above_a_path_are_forgotten_and_others_stay() {
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
    fn what_is_not_understood_is_forgotten() {
        assert_eq!(seen(&["a/b"]), None, "a file where a folder was");
        let whole = example();
        for end in 1..whole.len() {
            assert_eq!(without(&whole[..end], std::iter::empty()), None, "cut at {end}");
        }
        assert_eq!(
            without(&[whole.clone(), whole].concat(), std::iter::empty()),
            None
        );
        assert_eq!(without(b"", std::iter::empty()), Some(Vec::new()));
    }
}
