//! Users of one run's processes, if root starts them.
//!
//! Owns: the range of user ids, which pair a run gets, and that no two runs have the same pair at one time. Never:
//! gives a pair away while a process of it lives.
//!
//! # Why a pair for each run
//!
//! A user id is a right: processes of one user may read each other's files, change each other's scheduling and
//! exhaust each other's limits (credentials(7), sched_setscheduler(2), `RLIMIT_NPROC` in getrlimit(2)). So two runs
//! have two users, and process 1 of a run's namespace, the *keeper*, has another user than the tool that it guards.
//!
//! A lease is an exclusive lock (flock(2)) on a file of root's for each pair. The file has content as long as the
//! lease exists, and is emptied only when the run's processes are known to be gone:
//!
//! | lock | file | meaning | what a new lease does |
//! | --- | --- | --- | --- |
//! | taken | any | a run has this pair | takes the next pair |
//! | free | empty | nobody has it | takes it |
//! | free | not empty | the program was killed, or its run could not be ended | takes it only if no process has one of the two ids |

use serde::{Deserialize, Serialize};

/// User ids of one run's processes; group ids have the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIdentity {
    /// User of the tool and of all that it starts.
    pub tool: u32,
    /// User of process 1 of the run's process namespace.
    pub keeper: u32,
}

/// First id of the range. systemd's table of user ids lists 60578 to 61183 as unused (docs/UIDS-GIDS.md), and
/// Debian's policy gives no id above 60000 to a package without asking (section 9.2.2).
#[cfg(target_os = "linux")]
const FIRST: u32 = 60_600;
/// Number of pairs, which is the largest number of runs on one machine at a time.
#[cfg(target_os = "linux")]
const PAIRS: u32 = 256;

#[cfg(target_os = "linux")]
impl RunIdentity {
    /// Returns the pair with this number.
    pub(crate) fn from_number(number: u32) -> Self {
        let tool = FIRST + 2 * number;
        Self {
            tool,
            keeper: tool + 1,
        }
    }

    /// Returns a pair that no run ever gets: for a probe, which starts no tool.
    pub(crate) fn for_probe() -> Self {
        Self::from_number(PAIRS)
    }
}

#[cfg(target_os = "linux")]
pub use lease::IdentityLease;

/// Pair of users that belongs to one run. Never constructed on this system: tools run as the user who starts them.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct IdentityLease(std::convert::Infallible);

#[cfg(not(target_os = "linux"))]
impl IdentityLease {
    /// Returns `None`: tools run as the user who starts them.
    ///
    /// # Errors
    /// Never on this system.
    pub fn take() -> Result<Option<Self>, crate::SandboxError> {
        Ok(None)
    }

    /// Returns the users.
    #[must_use]
    pub fn identity(&self) -> RunIdentity {
        match self.0 {}
    }

    /// Keeps the pair from being given away while processes of it may live.
    pub fn abandon(&self) {
        match self.0 {}
    }
}

#[cfg(target_os = "linux")]
mod lease;
