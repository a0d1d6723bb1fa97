//! The sources of policy: the machine's, the user's, the files of the command line, and the repository's own.
//!
//! Owns: where the outer files are, who may write the machine's, and the order of all sources. Never: reads the repository's own
//! policy from the working tree: it comes from the base commit.

use std::path::{Path, PathBuf};

use agentos_durable::LinkRule;
use agentos_engine::Cause;
use agentos_engine::ports::{EffectError, TargetInfo};
use agentos_executor::Repository;
use agentos_policy::{Layer, PolicyEntry, PolicyError, PolicySet, PolicySource};

use crate::Ground;
use crate::environment::Environment;
use crate::error;
use crate::files;
use crate::{kept_files, policy_trust, repository};

/// The folder of a repository's rules.
pub const POLICY_DIR: &str = ".agentos/policy";
/// Largest policy file that is read, in bytes.
const LARGEST_POLICY: u64 = 1 << 20;

/// Reads the sources of policy except the repository's own. `given` are the files of the command line.
///
/// # Errors
/// If one cannot be read, somebody other than root could have written the machine's, or there is no home folder in which
/// the user's could be.
pub fn outer_layers(ground: &Ground, given: &[PathBuf]) -> Result<Vec<PolicySource>, EffectError> {
    let mut layers = Vec::new();
    let machine = rule_files(ground.environment(), &ground.environment().machine_policy_dir())?;
    if let Some(files) = &machine {
        require_trusted(&ground.environment().machine_policy_dir(), files)?;
    }
    // Without a home the user's rules cannot be found, and rules that are not found deny nothing.
    let own = ground.environment().config_dir().ok_or_else(|| {
        let message = "there is no home folder, so the user's policy cannot be found";
        EffectError::new(Cause::Usage, "no-home", message).hint("set `HOME`, on Windows `USERPROFILE`")
    })?;
    check_neighbours(ground.environment(), &own)?;
    let user = rule_files(ground.environment(), &own.join("policy"))?;
    let given = given
        .iter()
        .map(|file| ground.environment().cwd.join(file))
        .collect();
    for (layer, files) in [
        (Layer::Machine, machine),
        (Layer::User, user),
        (Layer::CommandLine, Some(given)),
    ] {
        for file in files.into_iter().flatten() {
            layers.push(read_source(ground.environment(), layer, &file)?);
        }
    }
    Ok(layers)
}

/// Returns all sources of policy for a base: the outer ones, the repository's own, what the user agreed to, and the files that stay
/// withheld.
///
/// # Errors
/// If one of them cannot be read.
pub fn all_sources(
    ground: &Ground,
    repo: &Repository,
    outer: &[PolicySource],
    target: &TargetInfo,
) -> Result<Vec<PolicySource>, EffectError> {
    let own = repo.policy_files(&repository::to_exec_target(target));
    let own = own.map_err(|error| error::repo_error(&error))?;
    let mut sources = outer.to_vec();
    sources.extend(own.into_iter().map(|(name, text)| PolicySource {
        layer: Layer::Repository,
        name,
        text,
    }));
    sources.extend(policy_trust::find_agreement(ground, repo, &sources)?);
    sources.extend(kept_files::read_kept(repo)?);
    Ok(sources)
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
        .map_err(|error| error::repo_error(&error))?;
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
/// If it cannot be read completely, or contains something that would not be read as rules.
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
        let name = entry.file_name();
        match PolicyEntry::in_folder(&name.to_string_lossy(), entry.path().is_dir()) {
            PolicyEntry::Rules => files.push(entry.path()),
            PolicyEntry::Other => {}
            PolicyEntry::Unread(why) => return Err(unread_rules(environment, &entry.path(), why)),
        }
    }
    // `read_dir` has no fixed order, and the evidence lists the sources in the order in which they were read.
    files.sort();
    Ok(Some(files))
}

/// Checks that nothing next to the user's folder of rules is meant as rules.
///
/// # Errors
/// If something is.
fn check_neighbours(environment: &Environment, own: &Path) -> Result<(), EffectError> {
    // A folder that does not exist or cannot be listed has no neighbours to report; the folder of rules is read by itself.
    let Ok(entries) = std::fs::read_dir(own) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if let PolicyEntry::Unread(why) = PolicyEntry::next_to_folder(&name.to_string_lossy()) {
            return Err(unread_rules(environment, &entry.path(), why));
        }
    }
    Ok(())
}

fn unread_rules(environment: &Environment, file: &Path, why: &str) -> EffectError {
    let message = format!(
        "the policy cannot be read: `{}` {why}",
        environment.shorten_path(file)
    );
    EffectError::new(Cause::Policy, "unreadable-policy", message)
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
mod tests;
