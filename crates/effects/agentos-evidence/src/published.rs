//! The files of a tape that is published in a git ref: an export, with the tape in parts.
//!
//! Owns: which files a publication has, under which names, and how large they may be. Never: reads or writes a repository, or
//! opens a file whose name comes from one.
//!
//! | name | content |
//! |---|---|
//! | `tape/000001`, `tape/000002`, … | the tape, cut after the first line that ends at or after 4 MiB |
//! | `blobs/` and 64 hexadecimal digits | as in an export |
//! | `attestations/RUN.intoto.jsonl` | as in an export |
//! | `head.json`, `export.json`, and the signatures `head.json.sig`, `export.json.sig` | as in an export |
//!
//! The parts of a tape do not change when it grows, so a later publication adds only the last ones. The ref is named after
//! the first record, so that the tapes of several machines lie next to each other, and each only once. There is no list of
//! trusted keys: a reader who took the keys from the publication would trust whoever wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use agentos_chain::parse_hash;

use crate::line_view::LineView;
use crate::record::{MAX_LINE, fields_fit};
use crate::runs::TapeLines;
use crate::{EvidenceError, RecordKind, Store, blob, plain_file, segments};

/// Begin of the names of the refs with published tapes.
pub const PUBLISHED_REFS: &str = "refs/agentos/evidence/";
/// Most files of a publication.
pub const MOST_FILES: usize = 500_000;
/// Most bytes of all files together.
const MOST_BYTES: u64 = 2 << 30;
/// Bytes after which a part of the tape ends with its line.
const PART: u64 = 4 << 20;
/// Most parts of a tape.
const MOST_PARTS: u64 = 100_000;
/// Files next to the tape, with the most bytes that each may have.
const FIXED: [(&str, u64); 4] = [
    ("export.json", 64 << 10),
    ("export.json.sig", 4 << 10),
    ("head.json", 64 << 10),
    ("head.json.sig", 4 << 10),
];
/// Most bytes of a file with signed statements.
const MOST_STATEMENTS: u64 = 64 << 20;
/// End of the names of files with signed statements.
const STATEMENTS: &str = ".intoto.jsonl";

/// Part of an exported folder that becomes one file of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedPart {
    /// Name of the file in the publication.
    pub name: String,
    path: PathBuf,
    from: u64,
    bytes: u64,
}

impl PublishedPart {
    /// Reads the content.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut file = plain_file::open_regular(&self.path)?;
        file.seek(SeekFrom::Start(self.from))?;
        let mut bytes = Vec::new();
        file.take(self.bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Kind of a file of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PublishedFile<'a> {
    /// Part of the tape with this number.
    TapePart(u64),
    /// File with this name and this limit.
    Other(&'a str, u64),
}

impl<'a> PublishedFile<'a> {
    /// Reads the name of a file. `None` if no publication has such a file.
    fn from_name(name: &'a str) -> Option<Self> {
        if let Some((fixed, most)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
            return Some(Self::Other(fixed, *most));
        }
        let (folder, file) = name.split_once('/')?;
        match folder {
            "tape" => {
                let number = file.parse().ok().filter(|number| part_name(*number) == name)?;
                (1..=MOST_PARTS)
                    .contains(&number)
                    .then_some(Self::TapePart(number))
            }
            "blobs" => {
                let id = format!("sha256:{file}");
                parse_hash(&id)?;
                Some(Self::Other(name, blob::MOST_BYTES))
            }
            "attestations" => {
                let run = file.strip_suffix(STATEMENTS)?;
                fields_fit(run, "0").then_some(Self::Other(name, MOST_STATEMENTS))
            }
            _ => None,
        }
    }
}

fn part_name(number: u64) -> String {
    format!("tape/{number:06}")
}

impl Store {
    /// Returns the first 16 digits of the hash of the first record, which name the tape. `None` if there is no genuine first
    /// record.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn tape_id(&self) -> Result<Option<String>, EvidenceError> {
        let Some(mut lines) = TapeLines::open(self)? else {
            return Ok(None);
        };
        let Some(line) = lines.next()? else {
            return Ok(None);
        };
        let view = LineView::parse_line(line.text()).or_else(|| LineView::parse_withheld(line.text()));
        Ok(view.and_then(|view| Some(parse_hash(view.hash)?.get(..16)?.to_owned())))
    }

    /// Returns which of these hashes are those of intents on the tape.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn find_intents(&self, wanted: &BTreeSet<String>) -> Result<BTreeSet<String>, EvidenceError> {
        let mut found = BTreeSet::new();
        let Some(mut lines) = TapeLines::open(self)? else {
            return Ok(found);
        };
        while let Some(line) = lines.next()? {
            if let Some(record) = LineView::parse_line(line.text())
                && record.kind == RecordKind::Intent
                && wanted.contains(record.hash)
            {
                found.insert(record.hash.to_owned());
            }
        }
        Ok(found)
    }
}

/// Lists the files of a publication for an exported folder.
///
/// # Errors
/// When a file cannot be read, or there is more than a publication may have.
pub fn list_published(dir: &Path) -> Result<Vec<PublishedPart>, EvidenceError> {
    let mut parts = list_tape(&dir.join(segments::CURRENT))?;
    let mut add = |name: String, path: PathBuf| -> Result<(), EvidenceError> {
        let bytes = match fs::symlink_metadata(&path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(EvidenceError::io_error("read", &path)(source)),
        };
        parts.push(PublishedPart {
            name,
            path,
            from: 0,
            bytes,
        });
        Ok(())
    };
    for (name, _) in FIXED {
        add(name.to_owned(), dir.join(name))?;
    }
    for folder in ["attestations", "blobs"] {
        let above = dir.join(folder);
        let Ok(entries) = fs::read_dir(&above) else {
            continue;
        };
        for entry in entries {
            let entry = entry.map_err(EvidenceError::io_error("read", &above))?;
            if let Some(name) = entry.file_name().to_str() {
                add(format!("{folder}/{name}"), entry.path())?;
            }
        }
    }
    let sizes = parts.iter().map(|part| (part.name.as_str(), part.bytes));
    check_files(sizes).map_err(EvidenceError::BadPublication)?;
    Ok(parts)
}

/// Cuts the tape into its parts.
fn list_tape(path: &Path) -> Result<Vec<PublishedPart>, EvidenceError> {
    let failed = || EvidenceError::io_error("read", path);
    let mut tape = BufReader::new(plain_file::open_regular(path).map_err(failed())?);
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    let mut add = |from: u64, to: u64| {
        parts.push(PublishedPart {
            name: part_name(u64::try_from(parts.len()).unwrap_or(u64::MAX).saturating_add(1)),
            path: path.to_owned(),
            from,
            bytes: to - from,
        });
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = tape.read_until(b'\n', &mut line).map_err(failed())?;
        at += u64::try_from(read).unwrap_or(u64::MAX);
        if (read == 0 && at > from) || at - from >= PART {
            add(from, at);
            from = at;
        }
        if read == 0 {
            return Ok(parts);
        }
    }
}

/// Checks names and sizes of all files. The error says what is wrong.
///
/// # Errors
/// The first fault, for people.
fn check_files<'a>(files: impl Iterator<Item = (&'a str, u64)>) -> Result<u64, String> {
    let (mut parts, mut left, mut count) = (BTreeSet::new(), MOST_BYTES, 0_usize);
    for (name, size) in files {
        count += 1;
        let shown: String = name.chars().take(100).collect();
        let most = match PublishedFile::from_name(name) {
            Some(PublishedFile::TapePart(number)) => {
                parts.insert(number);
                PART + u64::try_from(MAX_LINE).unwrap_or(u64::MAX) + 1
            }
            Some(PublishedFile::Other(_, most)) => most,
            None => return Err(format!("`{shown}` is no file of a publication")),
        };
        if size > most {
            return Err(format!("`{shown}` is larger than such a file can be"));
        }
        left = left
            .checked_sub(size)
            .filter(|_| count <= MOST_FILES)
            .ok_or("it is larger than a publication can be")?;
    }
    let number = u64::try_from(parts.len()).unwrap_or(u64::MAX);
    if number == 0 || parts.last() != Some(&number) {
        return Err("parts of the tape are missing".to_owned());
    }
    Ok(number)
}

/// Writes a publication into an empty or new folder, as an export. `files` are the names and sizes that a ref states, and `read` gets
/// the content of the one at a place in that list, of at most the stated bytes.
///
/// # Errors
/// [`EvidenceError::BadPublication`] if a name, a size or a content is none that a publication has; other errors when the
/// folder cannot be written.
pub fn unpack_publication(
    files: &[(String, u64)],
    read: &mut dyn FnMut(usize) -> Option<Vec<u8>>,
    dir: &Path,
) -> Result<(), EvidenceError> {
    let bad = |what: &str| EvidenceError::BadPublication(what.to_owned());
    let sizes = files.iter().map(|(name, size)| (name.as_str(), *size));
    let parts = check_files(sizes).map_err(EvidenceError::BadPublication)?;
    blob::make_dir(dir)?;
    let tape_path = dir.join(segments::CURRENT);
    let mut tape = create_file(&tape_path)?;
    let places: BTreeMap<&str, usize> = files
        .iter()
        .enumerate()
        .map(|(at, (name, _))| (name.as_str(), at))
        .collect();
    for number in 1..=parts {
        let at = places.get(part_name(number).as_str()).copied();
        let bytes = at
            .and_then(&mut *read)
            .ok_or_else(|| bad("a part of the tape cannot be read"))?;
        tape.write_all(&bytes)
            .map_err(EvidenceError::io_error("write", &tape_path))?;
    }
    for (at, (name, _)) in files.iter().enumerate() {
        let Some(PublishedFile::Other(name, _)) = PublishedFile::from_name(name) else {
            continue;
        };
        let path = dir.join(name);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).map_err(EvidenceError::io_error("make", above))?;
        }
        let bytes = read(at).ok_or_else(|| bad("a file cannot be read"))?;
        // On a file system without case two names may be one.
        create_file(&path)?
            .write_all(&bytes)
            .map_err(EvidenceError::io_error("write", &path))?;
    }
    Ok(())
}

fn create_file(path: &Path) -> Result<File, EvidenceError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(EvidenceError::io_error("make", path))
}
