//! Writes one git pack with its index, and reads an index that was written here.
//!
//! Owns: the bytes of both (gitformat-pack(5)): a pack of version 2, an index of version 1. Never: compresses, searches for
//! deltas, or reads a pack that another program wrote.
//!
//! Objects are stored as zlib streams of uncompressed blocks (RFC 1951, 3.2.4): compressing the files of a base takes longer
//! than writing them twice, and a copy is discarded when the base moves on. An index of version 1 has no CRC32 of each entry,
//! which only `git repack` would use, and has 32-bit offsets, so a pack is closed before its next entry would begin above
//! [`LAST_OFFSET`].

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};
use sha1::{Digest, Sha1};

/// Highest offset at which an entry may begin.
pub(super) const LAST_OFFSET: u64 = 1 << 31;

/// Bytes of the signature, the version and the number of entries.
const HEADER: u64 = 12;
/// Bytes of the checksum that a pack and an index end with.
const CHECKSUM: usize = 20;
/// Bytes of the table with which an index begins: 256 numbers.
const FANOUT: usize = 1024;
/// Bytes of one entry of an index: an offset and an object id.
const ENTRY: usize = 24;
/// Maximum bytes of one uncompressed block.
const BLOCK: usize = 65_535;

/// Pack that is being written. It gets its name when it is finished.
pub(super) struct PackWriter {
    /// Path of the finished pack, without extension.
    place: PathBuf,
    file: BufWriter<File>,
    length: u64,
    entries: Vec<(Oid, u32)>,
}

impl PackWriter {
    /// Begins the pack `name` in `folder`.
    ///
    /// # Errors
    /// When the file cannot be created. An existing file is never overwritten.
    pub(super) fn create_pack(folder: &Path, name: &str) -> io::Result<Self> {
        let place = folder.join(name);
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(place.with_extension("new"))?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        // Four zeros for the number of entries, which is known only at the end.
        file.write_all(b"PACK\0\0\0\x02\0\0\0\0")?;
        Ok(Self {
            place,
            file,
            length: HEADER,
            entries: Vec::new(),
        })
    }

    /// Returns the number of bytes written so far.
    pub(super) fn byte_length(&self) -> u64 {
        self.length
    }

    /// Appends an object.
    ///
    /// # Errors
    /// When it cannot be written, or the pack is full.
    pub(super) fn add_object(&mut self, kind: ObjectType, id: Oid, data: &[u8]) -> io::Result<()> {
        self.begin_entry(id)?;
        let mut counting = CountingWriter::new(&mut self.file);
        counting.write_all(&entry_header(kind, data.len())?)?;
        write_stored(&mut counting, &[data])?;
        self.length += counting.written;
        Ok(())
    }

    /// Copies an entry from another pack of ours. It is never a delta, which would contain the position of its base.
    ///
    /// # Errors
    /// When it cannot be copied, or the pack is full.
    pub(super) fn add_entry(&mut self, id: Oid, from: &mut File, entry: PackEntry) -> io::Result<()> {
        self.begin_entry(id)?;
        from.seek(SeekFrom::Start(entry.begin))?;
        let wanted = entry.end.saturating_sub(entry.begin);
        let copied = io::copy(&mut from.take(wanted), &mut self.file)?;
        self.length += copied;
        if copied == wanted {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn begin_entry(&mut self, id: Oid) -> io::Result<()> {
        let offset = u32::try_from(self.length).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.entries.push((id, offset));
        Ok(())
    }

    /// Writes the number of entries, the checksum and the index, and gives both files their names.
    ///
    /// # Errors
    /// When one of them cannot be written.
    pub(super) fn finish_pack(mut self) -> io::Result<()> {
        let count = u32::try_from(self.entries.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.file.seek(SeekFrom::Start(8))?;
        self.file.write_all(&count.to_be_bytes())?;
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let checksum = checksum_of(&mut file)?;
        file.write_all(&checksum)?;
        make_read_only(&file)?;
        let index = self.place.with_extension("idx.new");
        let mut options = OpenOptions::new();
        let mut written = options.write(true).create_new(true).open(&index)?;
        written.write_all(&index_bytes(self.entries, &checksum))?;
        make_read_only(&written)?;
        // The pack first: git expects a pack for each index that it finds.
        fs::rename(
            self.place.with_extension("new"),
            self.place.with_extension("pack"),
        )?;
        fs::rename(index, self.place.with_extension("idx"))
    }
}

/// Makes a file read-only, and readable for everybody, since the tool may run as another user.
///
/// # Errors
/// When the system refuses.
fn make_read_only(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o444))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(())
    }
}

/// Hashes a file from its beginning. Afterwards its position is at the end.
///
/// # Errors
/// When it cannot be read.
fn checksum_of(file: &mut File) -> io::Result<[u8; CHECKSUM]> {
    file.seek(SeekFrom::Start(0))?;
    let (mut hash, mut buffer) = (Sha1::new(), vec![0; 1 << 17]);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hash.finalize().into());
        }
        hash.update(buffer.get(..read).unwrap_or_default());
    }
}

fn index_bytes(mut entries: Vec<(Oid, u32)>, pack: &[u8; CHECKSUM]) -> Vec<u8> {
    entries.sort_unstable();
    let mut bytes = Vec::with_capacity(FANOUT + entries.len() * ENTRY + 2 * CHECKSUM);
    let first = |id: &Oid| id.as_bytes().first().copied().unwrap_or_default();
    for byte in 0..=u8::MAX {
        let up_to = entries.partition_point(|(id, _)| first(id) <= byte);
        bytes.extend(u32::try_from(up_to).unwrap_or(u32::MAX).to_be_bytes());
    }
    for (id, offset) in &entries {
        bytes.extend(offset.to_be_bytes());
        bytes.extend(id.as_bytes());
    }
    bytes.extend(pack);
    let own: [u8; CHECKSUM] = Sha1::digest(&bytes).into();
    bytes.extend(own);
    bytes
}

/// Position of an object's bytes in a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackEntry {
    begin: u64,
    end: u64,
}

impl PackEntry {
    /// Returns the offset of its first byte.
    pub(super) fn begin_offset(self) -> u64 {
        self.begin
    }
}

/// Reads the index of a pack that [`PackWriter`] wrote. `None` if it is damaged.
pub(super) fn read_index(place: &Path) -> Option<HashMap<Oid, PackEntry>> {
    let bytes = fs::read(place).ok()?;
    let pack_length = fs::metadata(place.with_extension("pack")).ok()?.len();
    let (body, own) = bytes.split_last_chunk::<CHECKSUM>()?;
    let expected: [u8; CHECKSUM] = Sha1::digest(body).into();
    if expected != *own {
        return None;
    }
    let entries = body.get(FANOUT..body.len().checked_sub(CHECKSUM)?)?;
    let (entries, []) = entries.as_chunks::<ENTRY>() else {
        return None;
    };
    let mut found = entries
        .iter()
        .map(|entry| {
            let (offset, id) = entry.split_first_chunk::<4>()?;
            Some((u64::from(u32::from_be_bytes(*offset)), Oid::from_bytes(id).ok()?))
        })
        .collect::<Option<Vec<_>>>()?;
    // In the order of the pack, an entry ends where the next one begins, and the last one before the checksum.
    found.sort_unstable();
    let ends = found.iter().skip(1).map(|(begin, _)| *begin);
    let ends = ends.chain([pack_length.checked_sub(u64::try_from(CHECKSUM).ok()?)?]);
    let entries = found.iter().zip(ends);
    Some(
        entries
            .map(|((begin, id), end)| (*id, PackEntry { begin: *begin, end }))
            .collect(),
    )
}

/// Opens a pack for copying entries.
pub(super) fn open_pack(index: &Path) -> io::Result<File> {
    File::open(index.with_extension("pack"))
}

/// Encodes the type and the size of an object, with which an entry of a pack begins (gitformat-pack(5)).
fn entry_header(kind: ObjectType, size: usize) -> io::Result<Vec<u8>> {
    let kind: u8 = match kind {
        ObjectType::Commit => 1,
        ObjectType::Tree => 2,
        ObjectType::Blob => 3,
        ObjectType::Any | ObjectType::Tag => return Err(io::ErrorKind::InvalidInput.into()),
    };
    // Four bits of the size are in the first byte, seven in each further byte; the highest bit says that more follow.
    let low = |bits: usize, mask: usize| u8::try_from(bits & mask).unwrap_or_default();
    let mut bytes = vec![(kind << 4) | low(size, 15)];
    let mut rest = size >> 4;
    while rest > 0 {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push(low(rest, 127));
        rest >>= 7;
    }
    Ok(bytes)
}

/// Encodes a loose object: a file of its own below `objects`.
pub(super) fn loose_object(kind: ObjectType, data: &[u8]) -> io::Result<Vec<u8>> {
    let header = format!("{} {}\0", kind.str(), data.len());
    let mut bytes = Vec::with_capacity(data.len() + 64);
    write_stored(&mut bytes, &[header.as_bytes(), data])?;
    Ok(bytes)
}

/// Writes a zlib stream (RFC 1950) of uncompressed blocks.
fn write_stored(to: &mut impl Write, parts: &[&[u8]]) -> io::Result<()> {
    to.write_all(&[0x78, 0x01])?;
    let blocks: Vec<&[u8]> = parts.iter().flat_map(|part| part.chunks(BLOCK)).collect();
    // Empty content still needs one block, which is empty.
    let (last, others) = blocks
        .split_last()
        .map_or((&[][..], &[][..]), |(last, others)| (*last, others));
    let others = others.iter().map(|block| (*block, 0));
    for (block, is_last) in others.chain([(last, 1)]) {
        let length = u16::try_from(block.len()).unwrap_or_default();
        // Length and complement, as RFC 1951, section 3.2.4 has them.
        let [low, high] = length.to_le_bytes();
        to.write_all(&[is_last, low, high, !low, !high])?;
        to.write_all(block)?;
    }
    to.write_all(&adler32(parts).to_be_bytes())
}

/// Computes the checksum of a zlib stream.
fn adler32(parts: &[&[u8]]) -> u32 {
    const MODULUS: u32 = 65_521;
    /// Maximum bytes that can be added before a sum overflows (RFC 1950, 9).
    const AT_ONCE: usize = 5_552;
    let (mut low, mut high) = (1, 0);
    for bytes in parts.iter().flat_map(|part| part.chunks(AT_ONCE)) {
        for byte in bytes {
            low += u32::from(*byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    (high << 16) | low
}

/// Writer that counts the bytes written through it.
struct CountingWriter<W> {
    to: W,
    written: u64,
}

impl<W> CountingWriter<W> {
    fn new(to: W) -> Self {
        Self { to, written: 0 }
    }
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.written += u64::try_from(written).unwrap_or_default();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
