//! The user that the confined process runs as.
//!
//! Owns: giving up root, and the maps of user namespaces. Never: leaves a right that the tool could use.

use std::fmt;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::unistd::{Gid, Uid, geteuid, setgroups, setresgid, setresuid};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::RunIdentity;

/// User whose rights opened the namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartRole {
    /// Root.
    Root,
    /// An ordinary user, who is root in a user namespace only.
    User {
        /// User id outside.
        uid: u32,
        /// Group id outside.
        gid: u32,
    },
}

impl StartRole {
    /// Parses the text that `Display` wrote. `None` if it is something else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split(':').collect::<Vec<_>>().as_slice() {
            ["root"] => Some(Self::Root),
            ["user", uid, gid] => Some(Self::User {
                uid: uid.parse().ok()?,
                gid: gid.parse().ok()?,
            }),
            _ => None,
        }
    }
}

impl fmt::Display for StartRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("root"),
            Self::User { uid, gid } => write!(f, "user:{uid}:{gid}"),
        }
    }
}

/// Rights that process 1 keeps until the tool is started, so that the tool can run as another user than process 1.
const START_RIGHTS: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Becomes the user of process 1, and gives up every capability but those that start the tool as its own user.
fn become_keeper(keeper: u32) -> Result<(), String> {
    let failed = |error: nix::Error| format!("root's rights cannot be given up: {error}");
    let (uid, gid) = (Uid::from_raw(keeper), Gid::from_raw(keeper));
    // Root's supplementary groups would still open files after the change of user.
    setgroups(&[]).map_err(failed)?;
    // Without this flag, leaving user 0 clears the permitted set too (capabilities(7), "Effect of user ID changes").
    prctl::set_keepcaps(true).map_err(failed)?;
    setresgid(gid, gid, gid).map_err(failed)?;
    setresuid(uid, uid, uid).map_err(failed)?;
    prctl::set_keepcaps(false).map_err(failed)?;
    let kept = CapabilitySets {
        effective: START_RIGHTS,
        permitted: START_RIGHTS,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).map_err(|error| format!("root's rights cannot be given up: {error}"))
}

/// Gives up the rights of [`START_RIGHTS`] for this thread: capabilities belong to a thread, so each thread has to do it.
pub(super) fn drop_start_rights() -> Result<(), String> {
    let failed = |error: rustix::io::Errno| format!("the right to change users cannot be given up: {error}");
    let mut sets = capabilities(None).map_err(failed)?;
    sets.effective.remove(START_RIGHTS);
    sets.permitted.remove(START_RIGHTS);
    sets.inheritable.remove(START_RIGHTS);
    set_capabilities(None, sets).map_err(failed)
}

/// Becomes a user that may not touch anything outside: never root, neither inside nor outside.
pub(super) fn become_unprivileged(role: &StartRole, identity: Option<RunIdentity>) -> Result<(), String> {
    match (*role, identity) {
        (StartRole::Root, Some(identity)) => become_keeper(identity.keeper)?,
        (StartRole::Root, None) => return Err("root's tool has no user of its own".to_owned()),
        (StartRole::User { uid, gid }, _) => {
            // A second user namespace, in which the user is itself again: the mounts belong to the first one and stay
            // out of reach, and the next program has no capability in either.
            unshare(CloneFlags::CLONE_NEWUSER)
                .map_err(|error| format!("no second user namespace: {error}"))?;
            write_maps(uid, 0, gid, 0)?;
        }
    }
    if geteuid().is_root() {
        return Err("it would run as root".to_owned());
    }
    Ok(())
}

/// Writes the maps of the user namespace that was just opened: one user, one group.
pub(super) fn write_maps(uid_inside: u32, uid: u32, gid_inside: u32, gid: u32) -> Result<(), String> {
    let lines = [
        // The kernel accepts a group map from an unprivileged process only after this (user_namespaces(7)).
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{uid_inside} {uid} 1")),
        ("gid_map", format!("{gid_inside} {gid} 1")),
    ];
    for (file, line) in lines {
        std::fs::write(format!("/proc/self/{file}"), line)
            .map_err(|error| format!("the user namespace's {file} cannot be written: {error}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_back_as_it_was_written() {
        for role in [StartRole::Root, StartRole::User { uid: 1000, gid: 100 }] {
            assert_eq!(StartRole::parse(&role.to_string()), Some(role));
        }
        for bad in ["", "user", "user:x:1", "root:1"] {
            assert_eq!(StartRole::parse(bad), None, "{bad}");
        }
    }
}
