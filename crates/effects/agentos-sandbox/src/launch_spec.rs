//! The launch spec: what a confined process may see and do, as the parent sends it to the helper.
//!
//! Owns: the shape of the spec, and its limits. Never: holds a secret or a task; both follow on standard input.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::RunIdentity;

/// Version of the spec. Parent and helper are the same program, so any other version is a bug.
pub(crate) const VERSION: u32 = 3;

/// Specification of one confined process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// Version of this shape.
    pub(crate) version: u32,
    /// Absolute path of the program, inside the sandbox. `None` to find out which layers would be active without
    /// starting anything.
    pub program: Option<PathBuf>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Complete environment of the program.
    pub env: Vec<(String, String)>,
    /// Working directory, inside the sandbox.
    pub cwd: PathBuf,
    /// Files and folders that the program may read and execute in addition to the system's, at their own paths.
    pub readable: Vec<PathBuf>,
    /// Folders that the program may read and write, at their own paths.
    pub writable: Vec<PathBuf>,
    /// Overlays: folders that show a lower folder and keep what is written separate.
    pub overlays: Vec<OverlayMount>,
    /// Outside folders that the program may read at another path, inside one of the overlays.
    pub shares: Vec<SharedFolder>,
    /// Folder that holds the folders of all runs. Only this run's own folders are shown of it, even if a readable
    /// folder contains it. `None` if the run has no folders.
    pub runs: Option<PathBuf>,
    /// Ports of the process's own loopback that lead to a socket of the parent. Everything else of the network is
    /// closed.
    pub forwards: Vec<PortForward>,
    /// Socket of the parent that receives the refused system calls, in the same folder as the sockets of `forwards`.
    /// `None` if nobody records them.
    pub refusals: Option<PathBuf>,
    /// Users of the run's processes. `None` if they run as the user who starts them, as they do unless that is root.
    pub identity: Option<RunIdentity>,
    /// Limits on resources.
    pub limits: ResourceLimits,
}

impl LaunchSpec {
    /// Creates a spec that lets the program read the system's folders and nothing else.
    #[must_use]
    pub fn new(program: PathBuf, args: Vec<String>, cwd: PathBuf) -> Self {
        Self {
            version: VERSION,
            program: Some(program),
            args,
            env: Vec::new(),
            cwd,
            readable: Vec::new(),
            writable: Vec::new(),
            overlays: Vec::new(),
            shares: Vec::new(),
            runs: None,
            forwards: Vec::new(),
            refusals: None,
            identity: None,
            limits: ResourceLimits::default(),
        }
    }
}

/// Folder that shows `lower` until something is written; what is written goes to `upper`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlayMount {
    /// Folder that is shown and never written.
    pub lower: PathBuf,
    /// Folder that receives what is written; a deleted file becomes a character device 0/0 (a whiteout of overlayfs).
    pub upper: PathBuf,
    /// Empty folder on the same file system as `upper`, for the kernel's own use.
    pub work: PathBuf,
    /// Path at which the process sees the overlay.
    pub at: PathBuf,
}

/// Folder that is shown read-only at another path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFolder {
    /// Path outside.
    pub from: PathBuf,
    /// Path at which the process sees the folder.
    pub at: PathBuf,
}

/// Port inside the sandbox that leads to the parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortForward {
    /// Address that the process connects to. If it is not a loopback address, it becomes an address of the process's
    /// own network, in which there is nothing else.
    pub address: IpAddr,
    /// Port that the process connects to.
    pub port: u16,
    /// Socket of the parent that receives the listening socket of the port. All sockets of a spec lie in one folder that the process
    /// does not see: whoever could replace a socket by a link could give the port to another service of the machine.
    pub socket: PathBuf,
}

/// Destination of an outlet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutletRoute {
    /// This host and port, whatever the tool sends.
    Address(String, u16),
    /// Any of these hosts and ports, chosen by the tool with an HTTP `CONNECT` (RFC 9110, section 9.3.6).
    Proxy(Vec<(String, u16)>),
}

/// Limits on the resources of a run. Unless stated otherwise, a limit applies to each process separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Seconds of processor time of one process.
    pub cpu_seconds: u64,
    /// Bytes of data memory of one process.
    pub memory_bytes: u64,
    /// Number of processes and threads of the user at one time.
    pub processes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Number of open files of one process.
    pub open_files: u64,
    /// Bytes of memory of all processes of a run together, on systems that can limit it.
    pub run_memory_bytes: u64,
    /// Bytes that a run may write to its folders. They are measured at intervals, so a run may write more before it
    /// is ended.
    pub disk_bytes: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            cpu_seconds: 3600,
            memory_bytes: 8 << 30,
            processes: 1024,
            file_bytes: 1 << 30,
            open_files: 4096,
            run_memory_bytes: 16 << 30,
            disk_bytes: 8 << 30,
        }
    }
}
