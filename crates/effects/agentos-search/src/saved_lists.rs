//! Lists that are derived from a commit and kept: the files of a tree, the files that policy withholds, and the history.
//!
//! Owns: their form in a file, under a name that is a hash of what they were derived from. Never: keeps the content of a file.

use agentos_context::{PastCommit, hash_bytes};

use crate::bytes::{ByteReader, push_text, push_varint};
use crate::folder::IndexFolder;
use crate::segment::ObjectKey;
use std::path::Path;

/// First bytes of a list. The last one is the version.
const MARK: &[u8; 8] = b"AOSlist\x01";
/// Most bytes of a list that is read. A million paths have fewer.
const MOST_BYTES: u64 = 256 << 20;
/// Number of lists of one kind that are kept.
const KEPT: usize = 8;

/// Kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListKind {
    Files,
    Withheld,
    History,
}

impl ListKind {
    /// Returns the beginning of the names of such files.
    fn prefix(self) -> &'static str {
        match self {
            Self::Files => "files-",
            Self::Withheld => "withheld-",
            Self::History => "history-",
        }
    }
}

/// Lists in the folder of the index.
#[derive(Debug)]
pub struct SavedLists {
    folder: IndexFolder,
}

impl SavedLists {
    /// Opens the lists in a folder, which need not exist.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: IndexFolder::new(folder),
        }
    }

    /// Loads the paths and object ids of a tree. `None` if they were not saved.
    #[must_use]
    pub fn load_files(&self, tree: &str) -> Option<Vec<(String, String)>> {
        let bytes = self.load_list(ListKind::Files, tree)?;
        let mut reader = ByteReader(&bytes);
        let mut files: Vec<(String, String)> = Vec::new();
        while !reader.0.is_empty() {
            let shared = usize::try_from(reader.take_varint()?).ok()?;
            let above = files.last().map_or("", |(path, _)| path.as_str()).get(..shared)?;
            let path = [above, reader.take_text()?].concat();
            files.push((path, hex_of(&reader.take_array::<20>()?)));
        }
        Some(files)
    }

    /// Saves the paths and object ids of a tree. They are not saved if an id has another form.
    pub fn save_files(&self, tree: &str, files: &[(String, String)]) {
        let mut bytes = Vec::new();
        // Sorted paths share their beginnings. Written once, they make a list less than half as large.
        let mut last = "";
        for (path, object) in files {
            let pairs = path.char_indices().zip(last.chars());
            let same = pairs.take_while(|((_, a), b)| a == b).last();
            let shared = same.map_or(0, |((at, letter), _)| at + letter.len_utf8());
            push_varint(&mut bytes, u32::try_from(shared).unwrap_or(0));
            push_text(&mut bytes, path.get(shared..).unwrap_or_default());
            let Some(object) = crate::text_index::parse_object(object) else {
                return;
            };
            bytes.extend(object);
            last = path;
        }
        self.save_list(ListKind::Files, tree, &bytes);
    }

    /// Loads which files of a tree policy withholds by their names, in the order of the files. `scope` names the active rules.
    /// `None` if that was not saved.
    #[must_use]
    pub fn load_withheld(&self, tree: &str, scope: &str) -> Option<Vec<bool>> {
        let bytes = self.load_list(ListKind::Withheld, &format!("{tree} {scope}"))?;
        Some(bytes.into_iter().map(|byte| byte != 0).collect())
    }

    /// Saves which files of a tree policy withholds by their names.
    pub fn save_withheld(&self, tree: &str, scope: &str, withheld: &[bool]) {
        let bytes: Vec<u8> = withheld.iter().map(|is| u8::from(*is)).collect();
        self.save_list(ListKind::Withheld, &format!("{tree} {scope}"), &bytes);
    }

    /// Loads the history that leads to a commit. `None` if it was not saved.
    #[must_use]
    pub fn load_history(&self, commit: &str) -> Option<Vec<PastCommit>> {
        let bytes = self.load_list(ListKind::History, commit)?;
        let mut reader = ByteReader(&bytes);
        let mut commits = Vec::new();
        while !reader.0.is_empty() {
            let subject = reader.take_text()?.to_owned();
            let mut paths = Vec::new();
            for _ in 0..reader.take_varint()? {
                paths.push(reader.take_text()?.to_owned());
            }
            commits.push(PastCommit { subject, paths });
        }
        Some(commits)
    }

    /// Saves the history that leads to a commit.
    pub fn save_history(&self, commit: &str, commits: &[PastCommit]) {
        let mut bytes = Vec::new();
        for commit in commits {
            push_text(&mut bytes, &commit.subject);
            push_varint(&mut bytes, u32::try_from(commit.paths.len()).unwrap_or(0));
            commit.paths.iter().for_each(|path| push_text(&mut bytes, path));
        }
        self.save_list(ListKind::History, commit, &bytes);
    }

    /// Loads a list, if it is the one with this key and not damaged.
    fn load_list(&self, kind: ListKind, key: &str) -> Option<Vec<u8>> {
        let name = file_name(kind, key);
        let mut bytes = self.folder.read_file(&name, MOST_BYTES).ok()?;
        let begins = list_head(kind, key);
        let found = check_list(&bytes, &begins);
        if found.is_none() {
            tracing::debug!(name, "a damaged list is removed");
            self.folder.remove_files([name.as_str()]);
        }
        bytes.truncate(found?);
        bytes.drain(..begins.len());
        Some(bytes)
    }

    /// Saves a list. A failure is ignored: the list is derived again next time.
    fn save_list(&self, kind: ListKind, key: &str, content: &[u8]) {
        let head = list_head(kind, key);
        // The head is part of the sum: a file that somebody renamed does not fit its name.
        let sum = hash_bytes(content) ^ hash_bytes(&head);
        match self
            .folder
            .write_file(&file_name(kind, key), &[&head, content, &sum.to_le_bytes()])
        {
            Ok(()) => self.folder.remove_old(kind.prefix(), KEPT),
            Err(error) => tracing::debug!(%error, "a list is not saved"),
        }
    }
}

/// Checks a list, and returns where its content ends. `None` if it is damaged, or another list.
fn check_list(bytes: &[u8], head: &[u8]) -> Option<usize> {
    let (covered, sum) = bytes.split_last_chunk::<8>()?;
    let content = covered.strip_prefix(head)?;
    let expected = hash_bytes(content) ^ hash_bytes(head);
    (u64::from_le_bytes(*sum) == expected).then_some(covered.len())
}

fn list_head(kind: ListKind, key: &str) -> Vec<u8> {
    [MARK.as_slice(), kind.prefix().as_bytes(), key.as_bytes(), b"\n"].concat()
}

fn file_name(kind: ListKind, key: &str) -> String {
    format!("{}{:016x}", kind.prefix(), hash_bytes(key.as_bytes()))
}

fn hex_of(object: &ObjectKey) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |value: u8| DIGITS.get(usize::from(value & 15)).copied().unwrap_or('0');
    let mut text = String::with_capacity(2 * object.len());
    for byte in object {
        text.push(digit(byte >> 4));
        text.push(digit(*byte));
    }
    text
}
