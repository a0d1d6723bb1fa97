//! Files and folders of this machine that the user gives to a program or a check.
//!
//! Owns: their absolute paths, and the rule that the user names them. Never: follows a link of the repository out of it.

use std::path::{Path, PathBuf};

use agentos_engine::ports::EffectError;
use agentos_programs::{Program, SharedPath};

use super::program_places;
use crate::session::Session;
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProgramOptions;
use agentos_ground::paths;

/// Returns the files and folders that a program may read, as absolute paths.
///
/// # Errors
/// If one of them does not exist: the sandbox would only say that it cannot confine the program.
pub fn readable_paths(ground: &Ground, flags: &ProgramOptions) -> Result<Vec<PathBuf>, EffectError> {
    let place = |path: &PathBuf| {
        let full = ground.environment().cwd.join(path);
        let missing = |error: std::io::Error| {
            let message = format!("`{}` cannot be read: {error}", path.display());
            usage_error(message)
                .hint("name a file or folder that exists; a relative path starts in the current folder")
        };
        full.metadata().map_err(missing)?;
        require_own_place(ground, &full)?;
        Ok(full)
    };
    flags.readable.iter().map(place).collect()
}

/// Refuses a place that the user names if a link of the repository leads out of it: the repository, and not the user, would then
/// choose what is shown.
///
/// # Errors
/// If it is such a place.
pub fn require_own_place(ground: &Ground, place: &Path) -> Result<(), EffectError> {
    program_places(ground)
        .follow_own(place)
        .map(drop)
        .map_err(|unshown| {
            let name = |path: &Path| ground.environment().shorten_path(path);
            let (named, real) = (name(&unshown.named), name(&unshown.real));
            usage_error(format!(
                "a link of the repository leads from `{named}` to `{real}`"
            ))
            .hint(format!("name `{real}` if you want it to be shown"))
        })
}

/// Lets a tool program read the files that its command line names. It has no copy in which it could find them.
///
/// # Errors
/// If a link of the repository leads out of it, to a file that the user does not name.
pub(super) fn name_files(ground: &Ground, program: &mut Program) -> Result<(), EffectError> {
    let mut named = Vec::new();
    for word in program.args.iter_mut().chain([&mut program.name]) {
        let place = ground.environment().cwd.join(&*word);
        // A plain word that names a program on the search path means the program, not a file of the same name here.
        if place.is_file() && (word.contains('/') || !is_on_path(ground, word)) {
            require_own_place(ground, &place)?;
            *word = place.display().to_string();
            named.push(place);
        }
    }
    program.readable.extend(named);
    Ok(())
}

fn is_on_path(ground: &Ground, word: &str) -> bool {
    program_places(ground).find(word).is_some()
}

/// Returns the folders that are shown: their path, their name in the working tree, and whether the user's rules ignore them.
pub fn shared_folders(
    ground: &Ground,
    flags: &ProgramOptions,
    session: &Session,
) -> Result<Vec<SharedPath>, EffectError> {
    let mut all = Vec::new();
    for path in &flags.shared {
        let typed = [path.display().to_string()];
        let names = paths::paths_inside(&ground.repository_dir(), session.work_dir(), &typed)?;
        for name in names {
            let place = session.work_dir().join(&name);
            // The link itself is examined: a link could lead out of the repository.
            if !place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(
                    usage_error(format!("`{name}` is not a folder that can be shared"))
                        .hint("name one that git ignores, such as `target`"),
                );
            }
            require_own_place(ground, &place)?;
            all.push(SharedPath {
                is_excluded: session.repo().excludes_folder(&name),
                from: place,
                name,
            });
        }
    }
    Ok(all)
}
