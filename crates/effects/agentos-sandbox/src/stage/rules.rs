//! Landlock: which files the confined process may reach, whatever the mounts say.
//!
//! Owns: the rules, and the check that all of them are enforced. Never: accepts a ruleset that the kernel enforces
//! only in part.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::root;
use crate::launch_spec::LaunchSpec;

/// All ABI levels, best first.
const LEVELS: [ABI; 9] = [
    ABI::V9,
    ABI::V8,
    ABI::V7,
    ABI::V6,
    ABI::V5,
    ABI::V4,
    ABI::V3,
    ABI::V2,
    ABI::V1,
];

/// Restricts this thread and all that it starts. Returns the ABI of the rules.
pub(super) fn apply_rules(spec: &LaunchSpec) -> Result<u32, String> {
    let networked = !spec.forwards.is_empty();
    let Some((level, ruleset)) = LEVELS
        .into_iter()
        .find_map(|level| Some((level, create_ruleset(level, networked).ok()?)))
    else {
        return Err("the kernel has no Landlock, or it is not enabled".to_owned());
    };
    let failed = |error: RulesetError| format!("Landlock's rules cannot be made: {error}");
    let mut ruleset = ruleset.set_compatibility(CompatLevel::HardRequirement);
    for (place, access) in list_places(spec, level) {
        ruleset = add_place(ruleset, &place, access)?;
    }
    if level >= ABI::V7 {
        // Asks the kernel to log what the tool and its children are refused to the system's audit log, if there is
        // one.
        ruleset = ruleset.log_new_exec(true).map_err(failed)?;
    }
    let status = ruleset.restrict_self().map_err(failed)?;
    match (status.ruleset, status.landlock) {
        // A level that only fixes bugs adds no access rights, so the kernel may be below it.
        (RulesetStatus::FullyEnforced, LandlockStatus::Available { effective_abi, .. })
            if status.no_new_privs =>
        {
            Ok(level.min(effective_abi) as u32)
        }
        _ => Err("Landlock enforces only a part of its rules".to_owned()),
    }
}

/// Creates a ruleset that handles every access right of this level. Fails if the kernel does not know them all.
fn create_ruleset(level: ABI, networked: bool) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(level))?;
    let (net, scope) = (AccessNet::from_all(level), Scope::from_all(level));
    // With forwarded ports the process uses TCP on its own loopback, and the network namespace keeps it from
    // everything else.
    if !net.is_empty() && !networked {
        ruleset = ruleset.handle_access(net)?;
    }
    if !scope.is_empty() {
        ruleset = ruleset.scope(scope)?;
    }
    ruleset.create()
}

/// Lists every place that may be reached, and how.
fn list_places(spec: &LaunchSpec, level: ABI) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let read = AccessFs::from_read(level);
    let list = AccessFs::ReadFile | AccessFs::ReadDir;
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    // No device node: it would give access to hardware, whatever its folder. No socket: the folder is also on the
    // real disk, where other users could connect to it.
    let own = AccessFs::from_all(level) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock);
    let system = root::SYSTEM.iter().map(|place| (PathBuf::from(place), read));
    let mut all: Vec<_> = system.collect();
    all.extend(["/etc", "/proc"].map(|place| (PathBuf::from(place), list)));
    // Only the names: everything below is mounted on purpose.
    all.push((PathBuf::from("/"), AccessFs::ReadDir.into()));
    // Created by the keeper for this run.
    all.extend(["/dev/shm", "/tmp"].map(|place| (PathBuf::from(place), own)));
    all.extend(
        root::DEVICES
            .iter()
            .map(|name| (Path::new("/dev").join(name), device)),
    );
    all.extend(spec.readable.iter().map(|place| (place.clone(), read)));
    all.extend(spec.writable.iter().map(|place| (place.clone(), own)));
    all.extend(spec.overlays.iter().map(|overlay| (overlay.at.clone(), own)));
    all
}

/// Adds one rule. A place that does not exist needs none.
#[expect(clippy::disallowed_methods, reason = "asked before the tool is started")]
fn add_place(
    ruleset: RulesetCreated,
    place: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    let Ok(found) = std::fs::metadata(place) else {
        return Ok(ruleset);
    };
    // A rule on a file with rights that only apply to folders is refused by the kernel (`EINVAL`).
    let access = if found.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ABI::V9)
    };
    let failed = |error: &dyn std::fmt::Display| format!("no rule for `{}`: {error}", place.display());
    let handle = PathFd::new(place).map_err(|error| failed(&error))?;
    ruleset
        .add_rule(PathBeneath::new(handle, access))
        .map_err(|error| failed(&error))
}
