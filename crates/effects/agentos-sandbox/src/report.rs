//! The layers that confine a process, as the helper put them up and the parent records them.
//!
//! Owns: the names of the layers, and the line in which the helper reports them. Never: claims a layer that was not
//! put up.

use serde::{Deserialize, Serialize};

/// Byte with which the parent confirms that it has read the report.
pub(crate) const REPORT_READ: u8 = b'+';

/// Layer of the kernel's confinement of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLayer {
    /// Sees only what the launch spec names, and everything but its own folders read-only.
    MountNamespace,
    /// Sees and signals only its own processes, which end together.
    PidNamespace,
    /// Has no network but a loopback of its own.
    NetworkNamespace,
    /// Has shared memory and message queues of its own.
    IpcNamespace,
    /// Landlock restricts access to files, fully enforced at the best level of this kernel.
    Landlock,
    /// A seccomp filter refuses system calls that tools do not need.
    Seccomp,
    /// No program that it starts can gain rights (`PR_SET_NO_NEW_PRIVS`).
    NoNewPrivileges,
    /// Is not root, and holds no capability outside its namespaces.
    Unprivileged,
    /// Limits on processor time, memory, processes and files.
    Limits,
    /// macOS: accesses only the files, and none of the network, that its Seatbelt profile names.
    Seatbelt,
    /// Windows: has no privilege and no administrator's rights, and writes only to what has a low integrity level.
    RestrictedToken,
    /// Windows: ends with its parent, together with all that it started; processor time, memory and processes are
    /// limited.
    JobObject,
    /// Reads only what the launch spec names.
    FileIsolation,
    /// Reaches no network.
    NetworkIsolation,
}

impl SandboxLayer {
    /// Layers of this system.
    #[cfg(target_os = "macos")]
    pub const ALL: [Self; 3] = [Self::Unprivileged, Self::Limits, Self::Seatbelt];

    /// Layers that a tool should have. Windows provides two of them, the token and the job object; the others are
    /// always missing there.
    #[cfg(windows)]
    pub const ALL: [Self; 5] = [
        Self::Limits,
        Self::RestrictedToken,
        Self::JobObject,
        Self::FileIsolation,
        Self::NetworkIsolation,
    ];

    /// Layers of this system.
    #[cfg(not(any(target_os = "macos", windows)))]
    pub const ALL: [Self; 9] = [
        Self::MountNamespace,
        Self::PidNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::Landlock,
        Self::Seccomp,
        Self::NoNewPrivileges,
        Self::Unprivileged,
        Self::Limits,
    ];

    /// Layers that this system can put up. If one of them fails, nothing is started.
    #[cfg(windows)]
    pub const POSSIBLE: [Self; 2] = [Self::RestrictedToken, Self::JobObject];

    /// Layers that this system can put up. If one of them fails, nothing is started.
    #[cfg(not(windows))]
    pub const POSSIBLE: [Self; Self::ALL.len()] = Self::ALL;

    /// Returns the word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MountNamespace => "mount-namespace",
            Self::PidNamespace => "pid-namespace",
            Self::NetworkNamespace => "network-namespace",
            Self::IpcNamespace => "ipc-namespace",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::Unprivileged => "unprivileged",
            Self::Limits => "limits",
            Self::Seatbelt => "seatbelt",
            Self::RestrictedToken => "restricted-token",
            Self::JobObject => "job-object",
            Self::FileIsolation => "file-isolation",
            Self::NetworkIsolation => "network-isolation",
        }
    }
}

/// Limit on all processes of a run together. [`SandboxLayer::Limits`] is about each process separately; a missing limit of
/// this kind does not make a layer missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunLimit {
    /// Disk space of the run's folders.
    Disk,
    /// Memory of all processes.
    Memory,
    /// Number of processes and threads.
    Processes,
}

impl RunLimit {
    /// All limits of this kind.
    pub const ALL: [Self; 3] = [Self::Disk, Self::Memory, Self::Processes];

    /// Returns the word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Memory => "memory",
            Self::Processes => "processes",
        }
    }
}

/// Layers that are active around one process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// Active layers, in the order of [`SandboxLayer::ALL`].
    pub layers: Vec<SandboxLayer>,
    /// Landlock ABI that is enforced. `None` without Landlock.
    pub landlock_abi: Option<u32>,
    /// True if the process runs in a control group of its own.
    #[serde(default)]
    pub(crate) in_group: bool,
    /// Active limits on all processes of a run together, without the one on disk space.
    #[serde(default)]
    pub run_limits: Vec<RunLimit>,
}

impl SandboxReport {
    /// Adds an active layer.
    #[cfg(any(target_os = "linux", target_os = "macos", windows, test))]
    pub(crate) fn add_layer(&mut self, layer: SandboxLayer) {
        // Sorted and without duplicates, so that two reports of the same layers are equal.
        if let Err(place) = self.layers.binary_search(&layer) {
            self.layers.insert(place, layer);
        }
    }

    /// Returns the layers that are not active.
    #[must_use]
    pub fn missing(&self) -> Vec<SandboxLayer> {
        let all = SandboxLayer::ALL.into_iter();
        all.filter(|layer| !self.layers.contains(layer)).collect()
    }

    /// Returns the missing layers that this system could have put up. A process that lacks one of these must not be
    /// run.
    #[must_use]
    pub fn lacking(&self) -> Vec<SandboxLayer> {
        let mut missing = self.missing();
        missing.retain(|layer| SandboxLayer::POSSIBLE.contains(layer));
        missing
    }

    /// Returns true if no layer is missing. Only then may a result say that the kernel enforces the boundary.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing().is_empty()
    }
}

/// First line of the helper on standard output, before the program starts.
#[cfg(any(target_os = "linux", target_os = "macos", windows, test))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HelperMessage {
    /// The process is confined and the program starts.
    Confined(SandboxReport),
    /// A layer could not be put up. Nothing was started.
    Refused(String),
    /// An overlay could not be mounted. Nothing was started.
    NoOverlay(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_is_every_layer_and_no_less() {
        let mut report = SandboxReport::default();
        for layer in SandboxLayer::ALL.into_iter().rev() {
            assert!(!report.is_whole(), "without {}", layer.as_str());
            report.add_layer(layer);
            report.add_layer(layer);
        }
        assert!(report.is_whole());
        assert_eq!(report.layers, SandboxLayer::ALL);
    }

    #[test]
    fn a_layer_has_one_name() {
        for layer in SandboxLayer::ALL {
            let json = serde_json::to_value(layer).unwrap();
            assert_eq!(json, layer.as_str());
        }
    }
}
