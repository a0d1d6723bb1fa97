//! Folders for the time of one input, and files in memory.
//!
//! Owns: creating, filling and listing them. Never: touches anything outside the system's folder for temporary files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// Content of each file by its path below the folder. A link is written as `-> ` and its target.
pub(crate) type FileMap = BTreeMap<String, Vec<u8>>;

/// Creates an empty folder, in memory if the system has such a place.
pub(crate) fn make_folder() -> TempDir {
    // A fuzzer creates thousands of folders in a second, which a real disk would slow down and wear out.
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        TempDir::new_in(memory)
    } else {
        TempDir::new()
    };
    match made {
        Ok(folder) => folder,
        Err(error) => panic!("no temporary folder: {error}"),
    }
}

/// Writes files below a folder, with the folders above them.
pub(crate) fn write_files(folder: &Path, files: &FileMap) {
    for (name, bytes) in files {
        write_file(&folder.join(name), bytes);
    }
}

/// Writes one file, with the folders above it. Content that begins with `-> ` becomes a link.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
        let leads_to = bytes.strip_prefix(b"-> ");
        match leads_to.and_then(|to| std::str::from_utf8(to).ok()) {
            Some(to) => make_link(to, path),
            None => fs::write(path, bytes),
        }
    });
    if let Err(error) = written {
        panic!("`{}` cannot be written: {error}", path.display());
    }
}

#[cfg(unix)]
fn make_link(to: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

// Other systems need a right for links that tests usually do not have; the cases with links are skipped there.
#[cfg(not(unix))]
fn make_link(_to: &str, _path: &Path) -> io::Result<()> {
    Ok(())
}

/// Lists all files and links below a folder. No link is followed.
pub(crate) fn read_files(folder: &Path) -> FileMap {
    let mut files = FileMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            // `file_type` does not follow links, so a link to a folder is listed as a link and not entered.
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            let content = if kind.is_symlink() {
                let to = fs::read_link(&path).unwrap_or_default();
                format!("-> {}", to.display()).into_bytes()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            let name = path.strip_prefix(folder).unwrap_or(&path);
            files.insert(name.to_string_lossy().into_owned(), content);
        }
    }
    files
}
