//! The object store of a copy: the shown files and their folders, and nothing else.
//!
//! Owns: the choice of packs, and changing them from one base to the next. Never: keeps an object that no shown file or
//! folder of the present base has, or refers to one of the repository.
//!
//! A tool may read every byte of this store. So an object that is not needed any more must be removed from the packs, not
//! only from their indexes. The blobs are divided among packs by the first byte of their id: when the base moves on, only the
//! packs whose blobs differ are written again. The folders are few, and are in a pack of their own.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use git2::{ObjectType, Odb, Oid};

use super::listing::ListedEntry;
use super::pack_file::{LAST_OFFSET, PackEntry, PackWriter, open_pack, read_index};

/// Approximate number of blobs in a pack. A larger pack takes longer to write again; with smaller packs git has more of them
/// to search.
const BLOBS_IN_A_PACK: usize = 256;
/// Maximum number of packs that blobs are divided among.
const MOST_PARTS: usize = 64;
/// Name of the pack of the folders.
const TREES: &str = "pack-ffffffffffffffffffffffffffffffffffffffff";

/// Mode of a symbolic link.
pub(super) const LINK: i32 = 0o120_000;
/// Mode of an entry that names a commit of another repository, which has no object here.
pub(super) const GITLINK: i32 = 0o160_000;

/// Writer of a copy's blobs into packs. Several threads may add blobs.
pub(super) struct BlobPacks {
    folder: PathBuf,
    parts: Vec<Mutex<BlobPart>>,
}

/// Share of the blobs, by the first byte of their ids.
#[derive(Default)]
struct BlobPart {
    /// End of the names of this share's packs, after a sequence number.
    suffix: String,
    missing: HashSet<Oid>,
    open: Option<PackWriter>,
    begun: u32,
}

impl BlobPart {
    /// Appends an entry by `write`, in a new pack if the present one is full.
    ///
    /// # Errors
    /// When a pack cannot be written.
    fn append_entry(
        &mut self,
        folder: &Path,
        write: impl FnOnce(&mut PackWriter) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(full) = self.open.take_if(|open| open.byte_length() > LAST_OFFSET) {
            full.finish_pack()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let name = format!("pack-{:036x}{}", self.begun, self.suffix);
                self.begun += 1;
                self.open.insert(PackWriter::create_pack(folder, &name)?)
            }
        };
        write(open)
    }

    /// Returns whether a pack of this name belongs to this share.
    fn owns_pack(&self, name: &str) -> bool {
        name.ends_with(&self.suffix)
    }
}

impl BlobPacks {
    /// Starts with the packs that are in `folder`, and keeps those of their blobs that `needed` names.
    ///
    /// # Errors
    /// When a pack cannot be written or removed.
    pub(super) fn open_packs(folder: &Path, needed: &HashSet<Oid>) -> io::Result<Self> {
        let count = (needed.len() / BLOBS_IN_A_PACK)
            .next_power_of_two()
            .min(MOST_PARTS);
        let part_of = |id: &Oid| usize::from(id.as_bytes().first().copied().unwrap_or_default()) % count;
        let mut parts: Vec<BlobPart> = (0..count)
            .map(|part| BlobPart {
                suffix: format!("{count:02x}{part:02x}"),
                ..BlobPart::default()
            })
            .collect();
        for id in needed {
            if let Some(part) = parts.get_mut(part_of(id)) {
                part.missing.insert(*id);
            }
        }
        let mut stale = Vec::new();
        for (place, entries) in old_packs(folder)? {
            let name = place
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // A pack that has exactly the needed blobs of its share stays. Every other pack is written again without the
            // others, since a tool could read them there.
            let owner = parts.iter_mut().find(|part| part.owns_pack(&name));
            let kept = owner.filter(|part| {
                part.begun == 0
                    && part.missing.len() == entries.len()
                    && entries.keys().all(|id| part.missing.contains(id))
            });
            match kept {
                Some(part) => {
                    part.missing.clear();
                    part.begun = 1;
                }
                None => stale.push((place, entries)),
            }
        }
        // New packs may get the names of old ones.
        let stale = set_aside(stale)?;
        for (place, entries) in &stale {
            let mut from = open_pack(place)?;
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(_, entry)| entry.begin_offset());
            for (id, entry) in entries {
                if let Some(part) = parts.get_mut(part_of(id))
                    && part.missing.remove(id)
                {
                    part.append_entry(folder, |open| open.add_entry(*id, &mut from, *entry))?;
                }
            }
        }
        for (place, _) in &stale {
            remove_pack(place)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            parts: parts.into_iter().map(Mutex::new).collect(),
        })
    }

    /// Adds a blob, unless it is not needed or was added already.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add_blob(&self, id: Oid, data: &[u8]) -> io::Result<()> {
        let first = usize::from(id.as_bytes().first().copied().unwrap_or_default());
        // As many locks as packs, so that two threads wait for each other only at blobs of the same pack.
        let Some(part) = self.parts.get(first % self.parts.len().max(1)) else {
            return Ok(());
        };
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        if !part.missing.remove(&id) {
            return Ok(());
        }
        part.append_entry(&self.folder, |open| open.add_object(ObjectType::Blob, id, data))
    }

    /// Adds what is still missing from the repository's objects, and closes the packs.
    ///
    /// # Errors
    /// When an object cannot be read or a pack not written.
    pub(super) fn finish_packs(self, objects: &Odb<'_>) -> io::Result<()> {
        let parts = || {
            self.parts
                .iter()
                .map(|part| part.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let missing: Vec<Oid> = parts().flat_map(|part| part.missing.clone()).collect();
        for id in missing {
            let object = objects.read(id).map_err(io::Error::other)?;
            self.add_blob(id, object.data())?;
        }
        // Only a finished pack has its name and its index, without which git does not see it.
        for mut part in parts() {
            if let Some(open) = part.open.take() {
                open.finish_pack()?;
            }
        }
        Ok(())
    }
}

/// Path of a pack's index, and its entries.
type OldPack = (PathBuf, HashMap<Oid, PackEntry>);

/// Lists the packs of a copy, except that of its folders, which is always written again. Removes a pack whose index is
/// damaged.
///
/// # Errors
/// When the folder cannot be read, or a pack cannot be removed.
fn old_packs(folder: &Path) -> io::Result<Vec<OldPack>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let place = entry?.path();
        if place.extension().is_none_or(|end| end != "idx") {
            continue;
        }
        let is_trees = place.file_stem().is_some_and(|name| name == TREES);
        match read_index(&place).filter(|_| !is_trees) {
            Some(entries) => all.push((place, entries)),
            None => remove_pack(&place)?,
        }
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all)
}

/// Renames packs, so that new ones can have their names.
///
/// # Errors
/// When a pack cannot be renamed.
fn set_aside(packs: Vec<OldPack>) -> io::Result<Vec<OldPack>> {
    let renamed = packs.into_iter().map(|(place, entries)| {
        let name = place.file_stem().unwrap_or_default().to_string_lossy();
        let aside = place.with_file_name(format!("old-{name}.idx"));
        for end in ["idx", "pack"] {
            fs::rename(place.with_extension(end), aside.with_extension(end))?;
        }
        Ok((aside, entries))
    });
    renamed.collect()
}

fn remove_pack(index: &Path) -> io::Result<()> {
    fs::remove_file(index)?;
    match fs::remove_file(index.with_extension("pack")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Collects the ids of the blobs of these files.
pub(super) fn blobs_of<'l>(shown: impl Iterator<Item = (&'l str, ListedEntry)>) -> HashSet<Oid> {
    let blobs = shown.filter(|(_, listed)| listed.mode != GITLINK);
    blobs.map(|(_, listed)| listed.id).collect()
}

/// Writes the pack of the folders of these files, which are passed in git's order, and returns the id of the top folder. A
/// folder has no entry of a file that is not among them.
///
/// # Errors
/// When the pack cannot be written.
pub(super) fn write_trees<'l>(
    folder: &Path,
    shown: impl Iterator<Item = (&'l str, ListedEntry)>,
) -> io::Result<Oid> {
    let mut writer = PackWriter::create_pack(folder, TREES)?;
    let mut written = HashSet::new();
    let mut write = |bytes: &[u8]| -> io::Result<Oid> {
        let id = Oid::hash_object(ObjectType::Tree, bytes).map_err(io::Error::other)?;
        if written.insert(id) {
            writer.add_object(ObjectType::Tree, id, bytes)?;
        }
        Ok(id)
    };
    // The folders from the top down to that of the previous file, each with its name and its entries so far. Since files come
    // in git's order, a folder is complete when a file outside it follows.
    let mut open: Vec<(&str, Vec<u8>)> = Vec::new();
    let mut top = Vec::new();
    for (path, listed) in shown {
        let (above, name) = path
            .rsplit_once('/')
            .map_or((None, path), |(above, name)| (Some(above), name));
        let folders: Vec<&str> = above.into_iter().flat_map(|above| above.split('/')).collect();
        let same = open
            .iter()
            .zip(&folders)
            .take_while(|((open, _), name)| open == *name)
            .count();
        close_folders(&mut open, same, &mut top, &mut write)?;
        open.extend(folders.into_iter().skip(same).map(|name| (name, Vec::new())));
        let content = open.last_mut().map_or(&mut top, |(_, content)| content);
        add_tree_entry(content, listed.mode, name, listed.id);
    }
    close_folders(&mut open, 0, &mut top, &mut write)?;
    let root = write(&top)?;
    writer.finish_pack()?;
    Ok(root)
}

/// Writes the innermost open folders until only `kept` are open, and adds each to the one above it.
///
/// # Errors
/// When a folder cannot be written.
fn close_folders(
    open: &mut Vec<(&str, Vec<u8>)>,
    kept: usize,
    top: &mut Vec<u8>,
    write: &mut dyn FnMut(&[u8]) -> io::Result<Oid>,
) -> io::Result<()> {
    while open.len() > kept {
        let Some((name, content)) = open.pop() else { break };
        let id = write(&content)?;
        let above = open.last_mut().map_or(&mut *top, |(_, content)| content);
        add_tree_entry(above, 0o040_000, name, id);
    }
    Ok(())
}

fn add_tree_entry(tree: &mut Vec<u8>, mode: i32, name: &str, id: Oid) {
    tree.extend(format!("{mode:o} {name}\0").bytes());
    tree.extend(id.as_bytes());
}
