//! Policy from outside the repository: the machine's, the user's, and that of the command line.
//!
//! Owns: where these files are, and who may write the machine's. Never: reads the repository's own policy, which comes
//! from the base commit.

use std::path::{Path, PathBuf};

use agentos_durable::LinkRule;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_executor::Repository;
use agentos_policy::{Layer, PolicyError, PolicySet, PolicySource};

use crate::environment::Environment;
use crate::files;
use crate::host::Host;
use crate::repository;

/// The folder of a repository's rules.
pub const POLICY_DIR: &str = ".agentos/policy";
/// Largest policy file that is read, in bytes.
const LARGEST_POLICY: u64 = 1 << 20;

/// Reads the sources of policy except the repository's own. `given` are the files of the command line.
///
/// # Errors
/// If one cannot be read, or somebody other than root could have written the machine's.
pub fn outer_layers(host: &Host, given: &[PathBuf]) -> Result<Vec<PolicySource>, EffectError> {
    let mut layers = Vec::new();
    let machine = rule_files(host.environment(), &host.environment().machine_policy_dir())?;
    if let Some(files) = &machine {
        require_trusted(&host.environment().machine_policy_dir(), files)?;
    }
    let user = match host.environment().config_dir() {
        Some(dir) => rule_files(host.environment(), &dir.join("policy"))?,
        None => None,
    };
    let given = given
        .iter()
        .map(|file| host.environment().cwd.join(file))
        .collect();
    for (layer, files) in [
        (Layer::Machine, machine),
        (Layer::User, user),
        (Layer::CommandLine, Some(given)),
    ] {
        for file in files.into_iter().flatten() {
            layers.push(read_source(host.environment(), layer, &file)?);
        }
    }
    Ok(layers)
}

/// Adds to rules what they depend on in the repository: its folder of hooks, and the symbolic links of the base.
///
/// # Errors
/// If the links cannot be read.
pub fn in_repository(set: PolicySet, repo: &Repository, base_tree: &str) -> Result<PolicySet, EffectError> {
    // `core.hooksPath` can name a folder of the working tree. git would run the files that a change adds there.
    let set = set.with_hooks_path(repo.hooks_path().as_deref());
    let links = repo
        .base_links(base_tree)
        .map_err(|error| repository::repo_error(&error))?;
    Ok(set.with_links(&links))
}

/// Reads one file.
///
/// # Errors
/// If it cannot be read, or is too large.
pub fn read_source(
    environment: &Environment,
    layer: Layer,
    file: &Path,
) -> Result<PolicySource, EffectError> {
    Ok(PolicySource {
        layer,
        // The name is part of the evidence, and must not depend on the current folder.
        name: environment.shorten_below_home(file),
        text: match layer {
            // A file that the call names may be a pipe, as in `<(...)`.
            Layer::CommandLine => files::read_text_file(environment, file, LARGEST_POLICY)?,
            _ => files::read_settings_file(environment, file, LinkRule::Followed, LARGEST_POLICY)?,
        },
    })
}

/// Makes the error of a policy that cannot be used.
pub fn policy_error(error: &PolicyError) -> EffectError {
    let fix = "a policy that cannot be read allows nothing; correct the file or remove it";
    let hint = error.hint().map_or_else(
        || fix.to_owned(),
        |hint| format!("{hint}{}{fix}", if hint.ends_with('?') { " " } else { "; " }),
    );
    EffectError::from_error(Cause::Policy, "policy-error", error).hint(hint)
}

/// Lists the rule files of a folder, sorted. `None` if there is no folder.
///
/// # Errors
/// If it cannot be read completely.
pub fn rule_files(environment: &Environment, dir: &Path) -> Result<Option<Vec<PathBuf>>, EffectError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(files::unreadable_file(&environment.shorten_path(dir), &error));
        }
    };
    let mut files = Vec::new();
    for entry in entries {
        // The entry that cannot be read may be a rule that denies, so it must not be skipped.
        let entry = entry.map_err(|error| files::unreadable_file(&environment.shorten_path(dir), &error))?;
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(entry.path());
        }
    }
    // `read_dir` has no fixed order, and the evidence lists the sources in the order in which they were read.
    files.sort();
    Ok(Some(files))
}

/// Checks that only root can write the machine's policy or replace it, because it applies to every user.
///
/// # Errors
/// If a file, its folder or a folder above can be written by somebody else.
fn require_trusted(dir: &Path, files: &[PathBuf]) -> Result<(), EffectError> {
    // Links are resolved: what matters is who can write the files that they lead to.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = real(dir);
    let mut checked: Vec<PathBuf> = dir.ancestors().map(Path::to_owned).collect();
    for file in files.iter().map(|file| real(file)) {
        checked.extend(
            file.parent()
                .into_iter()
                .flat_map(Path::ancestors)
                .map(Path::to_owned),
        );
        checked.push(file);
    }
    // Every folder above counts as well: whoever can write one can replace everything below it.
    checked.sort();
    checked.dedup();
    for path in checked {
        if let Some(fault) = find_distrust(&path) {
            let message = format!(
                "the machine's policy cannot be trusted: `{}` {fault}",
                path.display()
            );
            return Err(EffectError::new(Cause::Policy, "policy-untrusted", message).hint(
                "as root: `chown root` and `chmod go-w` the folder, what is in it and what is above it",
            ));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn find_distrust(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;

    match std::fs::symlink_metadata(path) {
        Ok(metadata) => permission_fault(metadata.uid(), metadata.mode()),
        Err(error) => Some(format!("cannot be examined: {error}")),
    }
}

#[cfg(not(unix))]
fn find_distrust(_: &Path) -> Option<String> {
    Some("has an owner that cannot be determined on this system".to_owned())
}

/// Returns the fault of an owner and a mode. `None` if only root can write.
#[cfg(unix)]
fn permission_fault(owner: u32, mode: u32) -> Option<String> {
    /// Write permission of the group or of everybody.
    const OTHERS_WRITE: u32 = 0o022;
    /// Sticky bit: in such a folder, nobody can replace a file of another user.
    const STICKY: u32 = 0o1000;
    if owner != 0 {
        return Some(format!("belongs to user {owner}, not to root"));
    }
    (mode & OTHERS_WRITE != 0 && mode & STICKY == 0).then(|| "can be written by others than root".to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_root_may_write_the_machines_policy() {
        let cases = [
            (0, 0o100_644, None),
            (0, 0o40_755, None),
            (0, 0o41_777, None),
            (0, 0o100_664, Some("can be written by others than root")),
            (0, 0o100_646, Some("can be written by others than root")),
            (1000, 0o100_600, Some("belongs to user 1000, not to root")),
        ];
        for (owner, mode, expected) in cases {
            assert_eq!(
                permission_fault(owner, mode).as_deref(),
                expected,
                "{owner} {mode:o}"
            );
        }
    }
}
