//! Targets of symbolic links: where a new link leads.
//!
//! Owns: one judgement of a target by its text. Never: follows a link, or asks a disk.
//!
//! A link leads where its text says from the folder that it is in. That folder is no link itself: `checks` refuses every
//! path below one. So `..` at the beginning of a target is exact. Behind a name it is not, since that name may be a link
//! too, and then `..` leaves another folder than the text shows; such a target is refused. A target without it that leads
//! through another link stays inside, if that link does.

use crate::RepoPath;

/// Longest target that every system accepts (`PATH_MAX` of Linux without the final NUL).
const LONGEST: usize = 4095;

/// Reason why a link is not made with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkFault {
    /// The target is one that not every system can express.
    #[error("not every system can make")]
    Inexpressible,
    /// The link leads out of the repository.
    #[error("leads out of the repository")]
    Outside,
    /// The link leads to git's own files, or to a folder that holds them.
    #[error("leads to git's own files, or to the folder that holds them")]
    GitFiles,
}

/// Checks the target of the link at `path`.
///
/// # Errors
/// Fails with the reason why the target is not harmless.
pub fn check_link(path: &RepoPath, target: &[u8]) -> Result<(), LinkFault> {
    let text = std::str::from_utf8(target)
        .ok()
        .filter(|text| !text.is_empty() && text.len() <= LONGEST && !text.chars().any(char::is_control))
        .ok_or(LinkFault::Inexpressible)?;
    // `\` divides the parts of a path on Windows, and `C:` names a drive there.
    if text.starts_with('/') || text.starts_with('\\') || text.as_bytes().get(1) == Some(&b':') {
        return Err(LinkFault::Outside);
    }
    if text.contains('\\') {
        return Err(LinkFault::Inexpressible);
    }
    let mut place: Vec<&str> = path.as_str().split('/').collect();
    place.pop();
    let mut is_below = false;
    for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part != ".." {
            is_below = true;
            place.push(part);
        } else if is_below || place.pop().is_none() {
            return Err(LinkFault::Outside);
        }
    }
    // The top folder holds `.git`: a path through such a link would reach it under another name.
    if place.is_empty() {
        return Err(LinkFault::GitFiles);
    }
    match RepoPath::new(&place.join("/")) {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.code == crate::RefusalCode::GitDir => Err(LinkFault::GitFiles),
        Err(_) => Err(LinkFault::Inexpressible),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_judged_by_where_it_leads() {
        use LinkFault::{GitFiles, Inexpressible, Outside};
        let cases = [
            ("docs/latest", "guide.md", Ok(())),
            ("docs/latest", "./v1/", Ok(())),
            ("docs/latest", "../src/lib.rs", Ok(())),
            ("a/b/c", "../../x", Ok(())),
            ("latest", "v1", Ok(())),
            ("latest", "..", Err(Outside)),
            ("docs/latest", "../..", Err(Outside)),
            ("docs/latest", "../../other/secret", Err(Outside)),
            ("docs/latest", "/etc/passwd", Err(Outside)),
            ("docs/latest", "C:/Windows", Err(Outside)),
            ("docs/latest", "\\\\server\\share", Err(Outside)),
            // The name before `..` may be a link to another folder.
            ("docs/latest", "v1/../../secret", Err(Outside)),
            ("docs/latest", "v1/../guide.md", Err(Outside)),
            ("docs/latest", "..", Err(GitFiles)),
            ("latest", ".", Err(GitFiles)),
            ("latest", ".git/config", Err(GitFiles)),
            ("latest", ".GIT", Err(GitFiles)),
            ("docs/latest", "../.git/hooks", Err(GitFiles)),
            ("docs/latest", "", Err(Inexpressible)),
            ("docs/latest", "a\nb", Err(Inexpressible)),
            ("docs/latest", "a\\b", Err(Inexpressible)),
            ("docs/latest", "nul", Err(Inexpressible)),
        ];
        for (path, target, expected) in cases {
            let path = RepoPath::new(path).unwrap();
            assert_eq!(
                check_link(&path, target.as_bytes()),
                expected,
                "{path} -> {target}"
            );
        }
        let path = RepoPath::new("latest").unwrap();
        assert_eq!(check_link(&path, b"\xff"), Err(Inexpressible));
        assert_eq!(check_link(&path, &[b'a'; 5000]), Err(Inexpressible));
    }
}
