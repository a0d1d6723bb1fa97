//! Changes sound files as a fuzzer's bytes say, in the way of somebody who forges them by hand.
//!
//! Owns: the steps. Never: computes a hash or a signature; whoever can do that needs no forgery.

use crate::bytes::ByteReader;
use crate::scratch::FileMap;

/// Largest number of steps of one input.
const MOST_STEPS: usize = 12;

/// Changes the files step by step. Each step takes a byte for its kind, one for the file, and two or four for the
/// positions.
pub(crate) fn mutate(files: &mut FileMap, bytes: &mut ByteReader<'_>, words: &[&str]) {
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            return;
        }
        let (step, file) = (bytes.next(), bytes.next());
        // The files are sorted by name, so that a byte selects the same file in every run.
        let Some(name) = files.keys().nth(usize::from(file) % files.len().max(1)).cloned() else {
            return;
        };
        if step % 12 == 8 {
            files.remove(&name);
            continue;
        }
        let Some(content) = files.get_mut(&name) else {
            return;
        };
        match step % 12 {
            0..=3 => change_bytes(content, step % 12, bytes),
            4..=6 => change_lines(content, step % 12, bytes),
            7 => content.truncate(bytes.next_u16() % (content.len() + 1)),
            9 => replace_word(content, bytes, words),
            10 => copy_member(content, bytes),
            _ => note_last_record(files),
        }
    }
}

fn change_bytes(content: &mut Vec<u8>, step: u8, bytes: &mut ByteReader<'_>) {
    let at = bytes.next_u16() % (content.len() + 1);
    let value = bytes.next();
    match step {
        0 => content
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|byte| *byte ^= 1 << (value & 7)),
        1 => content.iter_mut().skip(at).take(1).for_each(|byte| *byte = value),
        2 => drop(content.splice(at..at, bytes.take(usize::from(value & 31)).iter().copied())),
        _ => {
            let end = (at + usize::from(value)).min(content.len());
            content.drain(at..end);
        }
    }
}

fn change_lines(content: &mut Vec<u8>, step: u8, bytes: &mut ByteReader<'_>) {
    let mut lines: Vec<Vec<u8>> = content
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let count = lines.len().max(1);
    let (one, other) = (
        usize::from(bytes.next()) % count,
        usize::from(bytes.next()) % count,
    );
    match step {
        4 if !lines.is_empty() => drop(lines.remove(one)),
        5 => {
            if let Some(line) = lines.get(one).cloned() {
                lines.insert(other, line);
            }
        }
        6 if !lines.is_empty() => lines.swap(one, other),
        _ => {}
    }
    *content = lines.concat();
}

/// Replaces the nth occurrence of one word by another.
fn replace_word(content: &mut Vec<u8>, bytes: &mut ByteReader<'_>, words: &[&str]) {
    let count = words.len().max(1);
    let (from, to, nth) = (bytes.next(), bytes.next(), bytes.next());
    let word = |at: u8| words.get(usize::from(at) % count).copied().unwrap_or_default();
    let (from, to) = (word(from).as_bytes(), word(to).as_bytes());
    let places: Vec<usize> = content
        .windows(from.len().max(1))
        .enumerate()
        .filter_map(|(at, window)| (window == from).then_some(at))
        .collect();
    if let Some(at) = places.get(usize::from(nth) % places.len().max(1)).copied() {
        content.splice(at..at + from.len(), to.iter().copied());
    }
}

/// Members of a record that one line may copy from another.
const MEMBERS: [&str; 8] = [
    "hash",
    "prev",
    "seq",
    "ts",
    "run",
    "kind",
    "body_sha256",
    "redacted",
];

/// Copies a member from another line, or removes the `body`, and writes the line as canonical JSON.
fn copy_member(content: &mut Vec<u8>, bytes: &mut ByteReader<'_>) {
    let text = String::from_utf8_lossy(content).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let count = lines.len().max(1);
    let (to, from) = (
        usize::from(bytes.next()) % count,
        usize::from(bytes.next()) % count,
    );
    let which = bytes.next();
    let read = |at: usize| {
        lines
            .get(at)
            .and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok())
    };
    let (Some(mut line), Some(other)) = (read(to), read(from)) else {
        return;
    };
    let Some(members) = line.as_object_mut() else {
        return;
    };
    // A redacted copy has records without a body, so a forger would claim to have one.
    if which & 0x80 != 0 {
        members.remove("body");
        members.insert("redacted".to_owned(), true.into());
    }
    let name = MEMBERS.get(usize::from(which & 7)).copied().unwrap_or_default();
    if let Some(value) = other.get(name) {
        members.insert(name.to_owned(), value.clone());
    }
    // `serde_json` keeps the members of a map in the order of canonical JSON.
    if let Some(place) = lines.get_mut(to) {
        *place = line.to_string();
    }
    *content = lines
        .iter()
        .flat_map(|line| [line.as_bytes(), b"\n"])
        .flatten()
        .copied()
        .collect();
}

/// Rewrites `head.json` for the tape in its current state, as a forger would who knows that file.
fn note_last_record(files: &mut FileMap) {
    let tape = files.get("tape.jsonl").cloned().unwrap_or_default();
    let tape = String::from_utf8_lossy(&tape).into_owned();
    let last = tape
        .lines()
        .last()
        .and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let Some(last) = last else {
        files.remove("head.json");
        return;
    };
    let member = |name: &str| last.get(name).cloned().unwrap_or_default();
    let head = serde_json::json!({ "v": 1, "seq": member("seq"), "hash": member("hash") });
    files.insert("head.json".to_owned(), format!("{head}\n").into_bytes());
}
