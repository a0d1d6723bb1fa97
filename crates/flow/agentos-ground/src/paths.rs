//! Paths as a person types them, turned into paths inside the repository.
//!
//! Owns: that translation. Never: looks at the files themselves.

use std::path::{Component, Path, PathBuf};

use agentos_engine::ports::EffectError;

use crate::error::usage_error;

/// Turns paths relative to `from` into paths relative to the working tree.
///
/// # Errors
/// If a path leaves the repository.
pub fn paths_inside(from: &Path, work_dir: &Path, typed: &[String]) -> Result<Vec<String>, EffectError> {
    // The repository's path is resolved, but the current folder may be reached through a symbolic link.
    let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    typed
        .iter()
        .map(|typed| match path_inside(&from, work_dir, typed)? {
            path if path.is_empty() => Err(usage_error(format!("`{typed}` is a folder")).hint("name a file")),
            path => Ok(path),
        })
        .collect()
}

/// Turns one path relative to `from` into a path relative to the working tree, which is empty for the working tree itself.
///
/// # Errors
/// If the path leaves the repository.
pub fn place_inside(from: &Path, work_dir: &Path, typed: &str) -> Result<String, EffectError> {
    let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    path_inside(&from, work_dir, typed)
}

fn path_inside(from: &Path, work_dir: &Path, typed: &str) -> Result<String, EffectError> {
    let outside = || {
        usage_error(format!("`{typed}` is outside the repository"))
            .hint("name a path inside it; a relative path starts in the current folder")
    };
    let full = normalize_path(&from.join(typed)).ok_or_else(outside)?;
    let inside = full
        .strip_prefix(normalize_path(work_dir).ok_or_else(outside)?)
        .map_err(|_| outside())?;
    let parts: Option<Vec<&str>> = inside
        .components()
        .map(|part| part.as_os_str().to_str())
        .collect();
    let parts = parts.ok_or_else(|| {
        usage_error(format!("`{typed}` is not UTF-8")).hint("give the file a name in UTF-8")
    })?;
    Ok(parts.join("/"))
}

/// Removes `.` and `..` without reading the disk. `None` if the path leads above the root.
fn normalize_path(path: &Path) -> Option<PathBuf> {
    // Not `canonicalize`: a link inside the repository must keep its own name, and a file need not exist yet.
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_path_is_relative_to_where_the_person_is() {
        let cases = [
            ("/repo/src", "a.rs", Some("src/a.rs")),
            ("/repo/src", "../b.rs", Some("b.rs")),
            ("/repo", "./src/../c.rs", Some("c.rs")),
            ("/repo", "/repo/d.rs", Some("d.rs")),
            ("/repo", "../e.rs", None),
            ("/repo", "/etc/passwd", None),
            ("/repo", ".", None),
        ];
        for (from, typed, expected) in cases {
            let got = paths_inside(Path::new(from), Path::new("/repo"), &[typed.to_owned()]).ok();
            assert_eq!(got, expected.map(|path| vec![path.to_owned()]), "{typed}");
        }
    }
}
