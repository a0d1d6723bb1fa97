//! Covers for the folders of other runs, where a folder that a process may read would show them.
//!
//! The folders of all runs and the copies of repositories lie in one folder of the user's cache. A process may be
//! given a folder above it (`--read ~`), also through a link. Then an empty folder is mounted over it wherever it
//! would be visible, and the run's own folders are mounted into that. A second mount of the same folder at another
//! path is not found: a user who mounts a folder twice and shows both to a tool shows it the other runs of the same
//! user.
//!
//! Owns: where the folders would be visible, and what has to be shown again over a cover. Never: mounts anything.

#![expect(
    clippy::disallowed_methods,
    reason = "the root is built before the tool is started"
)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns where an empty folder must be mounted, for each of the shown places that lead to the folder of all runs.
///
/// It covers that folder, or the highest folder above it that the tool's user may not pass through (`x` for others,
/// path_resolution(7)): through that one the tool would see nothing, and could not reach its own folders either.
/// `tool` is `None` if the tool runs as this program's own user, who may pass everywhere.
pub(super) fn find_covers(shown: &[PathBuf], runs: &Path, tool: Option<u32>) -> Vec<PathBuf> {
    let Ok(runs) = runs.canonicalize() else {
        // The folder does not exist, so nothing can be visible.
        return Vec::new();
    };
    let covers = shown.iter().filter_map(|place| {
        let real = place.canonicalize().ok()?;
        let below = runs.starts_with(&real);
        let above = runs.ancestors().filter(|above| above.starts_with(&real));
        let closed = above.filter(|above| tool.is_some() && is_closed(above)).last();
        let covered = below.then(|| closed.unwrap_or(&runs))?;
        let rest = covered.strip_prefix(&real).ok()?;
        Some(if rest.as_os_str().is_empty() {
            place.clone()
        } else {
            place.join(rest)
        })
    });
    covers.collect()
}

/// Returns the readable places that a cover hides and that have to be shown again: those below a cover that do not
/// lead to the folder of all runs.
pub(super) fn find_hidden(readable: &[PathBuf], covers: &[PathBuf], runs: &Path) -> Vec<PathBuf> {
    let runs = runs.canonicalize().unwrap_or_else(|_| runs.to_owned());
    let is_hidden = |place: &&PathBuf| {
        let is_below = covers
            .iter()
            .any(|cover| place.starts_with(cover) && *place != cover);
        is_below && place.canonicalize().is_ok_and(|real| !runs.starts_with(real))
    };
    let mut all: Vec<PathBuf> = readable.iter().filter(is_hidden).cloned().collect();
    all.sort();
    all.dedup_by(|later, earlier| later.starts_with(&**earlier));
    all
}

fn is_closed(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|found| found.is_dir() && found.mode() & 0o001 == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// `home/.cache/runs` and `home/bin` below a folder that everybody may pass.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::Builder::new()
            .prefix("cover")
            .tempdir_in("/var/tmp")
            .unwrap();
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = top.path().canonicalize().unwrap().join("home");
        fs::create_dir_all(home.join(".cache/runs")).unwrap();
        fs::create_dir_all(home.join("bin")).unwrap();
        (top, home)
    }

    #[test]
    fn runs_are_covered_wherever_a_place_that_is_shown_leads_to_them() {
        let (top, home) = home();
        let runs = home.join(".cache/runs");
        let alias = top.path().canonicalize().unwrap().join("alias");
        symlink(&home, &alias).unwrap();
        for (mode, tool, shown, expected) in [
            // Nothing that is shown leads there: nothing is covered, so that programs of the home are seen.
            (0o700, Some(7), home.join("bin"), None),
            (0o755, Some(7), home.clone(), Some(runs.clone())),
            (0o755, None, home.clone(), Some(runs.clone())),
            (0o700, None, home.clone(), Some(runs.clone())),
            (0o700, Some(7), home.clone(), Some(home.clone())),
            (0o710, Some(7), home.clone(), Some(home.clone())),
            (
                0o700,
                Some(7),
                home.parent().unwrap().to_owned(),
                Some(home.clone()),
            ),
            (0o755, None, alias.clone(), Some(alias.join(".cache/runs"))),
            (0o755, None, home.join(".cache"), Some(runs.clone())),
        ] {
            fs::set_permissions(&home, fs::Permissions::from_mode(mode)).unwrap();
            let covers = find_covers(std::slice::from_ref(&shown), &runs, tool);
            let expected: Vec<PathBuf> = expected.into_iter().collect();
            assert_eq!(covers, expected, "{mode:o} {tool:?} {}", shown.display());
        }
    }

    #[test]
    fn what_a_cover_hides_is_shown_again_unless_it_leads_to_the_runs() {
        let (_top, home) = home();
        let runs = home.join(".cache/runs");
        let readable = [
            home.clone(),
            home.join("bin"),
            home.join(".cache"),
            runs.clone(),
            "/usr/bin".into(),
        ];
        let hidden = find_hidden(&readable, std::slice::from_ref(&home), &runs);
        assert_eq!(hidden, [home.join("bin")]);
        assert_eq!(find_hidden(&readable, &[], &runs), Vec::<PathBuf>::new());
    }
}
