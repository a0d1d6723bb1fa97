//! What holds a confined process, as the child found it and the parent records it.
//!
//! Owns: the names of the layers and the line in which the child reports. Never: claims a layer that was not put up.

use serde::{Deserialize, Serialize};

/// One way in which the kernel holds a process back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// It sees only what the order names, and read-only but for its own folders.
    MountNamespace,
    /// It sees and signals only its own processes, which end with it.
    PidNamespace,
    /// It has no network but a loopback of its own.
    NetworkNamespace,
    /// Shared memory and message queues of its own.
    IpcNamespace,
    /// Landlock, fully enforced at the best level that the kernel has.
    Landlock,
    /// System calls that tools do not need are refused.
    Seccomp,
    /// No program that it starts gains rights.
    NoNewPrivileges,
    /// It is not root, and holds no capability outside.
    Unprivileged,
    /// Processor time, memory, processes, files.
    Limits,
    /// macOS's own: only the files, and none of the network, that its profile names.
    Seatbelt,
    /// Windows: it has no privilege and no administrator's rights, and writes only what was opened to a low integrity level.
    RestrictedToken,
    /// Windows: it ends with its parent, and so does all that it starts; processor time, memory and processes are limited.
    JobObject,
    /// It reads only what the order names.
    FileIsolation,
    /// It reaches no network.
    NetworkIsolation,
}

impl Layer {
    /// Every layer that this system has.
    #[cfg(target_os = "macos")]
    pub const ALL: [Self; 3] = [Self::Unprivileged, Self::Limits, Self::Seatbelt];

    /// Every layer that a tool should have. Windows has two of them; the others are missing there, whatever is done.
    #[cfg(windows)]
    pub const ALL: [Self; 5] = [
        Self::Limits,
        Self::RestrictedToken,
        Self::JobObject,
        Self::FileIsolation,
        Self::NetworkIsolation,
    ];

    /// Every layer that this system has.
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

    /// The layers that this system can put up. Without one of them nothing is run.
    #[cfg(windows)]
    pub const POSSIBLE: [Self; 2] = [Self::RestrictedToken, Self::JobObject];

    /// The layers that this system can put up. Without one of them nothing is run.
    #[cfg(not(windows))]
    pub const POSSIBLE: [Self; Self::ALL.len()] = Self::ALL;

    /// The word used in JSON and on the screen.
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

/// What all processes of a run may use together. [`Layer::Limits`] is about each of them, and a missing limit of this kind
/// makes no layer missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunLimit {
    /// Bytes written to its folders.
    Disk,
    /// Memory.
    Memory,
    /// Processes and threads.
    Processes,
}

impl RunLimit {
    /// Every limit of this kind.
    pub const ALL: [Self; 3] = [Self::Disk, Self::Memory, Self::Processes];

    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Memory => "memory",
            Self::Processes => "processes",
        }
    }
}

/// The layers in force around one process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The layers, in the order of [`Layer::ALL`].
    pub layers: Vec<Layer>,
    /// The Landlock ABI that was enforced; none without Landlock.
    pub landlock_abi: Option<u32>,
    /// True if it runs in a control group of its own.
    #[serde(default)]
    pub(crate) in_group: bool,
    /// Limits that hold for all processes of a run together, without that of the disk.
    #[serde(default)]
    pub run_limits: Vec<RunLimit>,
}

impl Report {
    /// A layer is in force.
    #[cfg(any(target_os = "linux", target_os = "macos", windows, test))]
    pub(crate) fn add(&mut self, layer: Layer) {
        if let Err(place) = self.layers.binary_search(&layer) {
            self.layers.insert(place, layer);
        }
    }

    /// The layers that are not in force.
    #[must_use]
    pub fn missing(&self) -> Vec<Layer> {
        let all = Layer::ALL.into_iter();
        all.filter(|layer| !self.layers.contains(layer)).collect()
    }

    /// Those of them that this system could have put up: a process that one of these does not hold is not to be run.
    #[must_use]
    pub fn lacking(&self) -> Vec<Layer> {
        let mut missing = self.missing();
        missing.retain(|layer| Layer::POSSIBLE.contains(layer));
        missing
    }

    /// True when nothing is missing: only then may one say that the kernel enforces the boundary.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing().is_empty()
    }
}

/// The child's first line on standard output, before the program begins.
#[cfg(any(target_os = "linux", target_os = "macos", windows, test))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Said {
    /// It is held; the program begins.
    Confined(Report),
    /// A layer could not be put up; nothing was started.
    Refused(String),
    /// An overlay could not be mounted; nothing was started.
    NoOverlay(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_is_every_layer_and_no_less() {
        let mut report = Report::default();
        for layer in Layer::ALL.into_iter().rev() {
            assert!(!report.is_whole(), "without {}", layer.as_str());
            report.add(layer);
            report.add(layer);
        }
        assert!(report.is_whole());
        assert_eq!(report.layers, Layer::ALL);
    }

    #[test]
    fn a_layer_has_one_name() {
        for layer in Layer::ALL {
            let json = serde_json::to_value(layer).unwrap();
            assert_eq!(json, layer.as_str());
        }
    }
}
