//! What a confined process may see and do, as the parent writes it down for the child.
//!
//! Owns: the shape of the order and its limits. Never: holds a secret or a task; both come later, on standard input.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::RunIdentity;

/// Version of the order; parent and child are the same program, so any other is a mistake.
pub(crate) const VERSION: u32 = 2;

/// One confined process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Version of this shape.
    pub(crate) version: u32,
    /// The program, by its absolute path inside; none only asks what would hold it.
    pub program: Option<PathBuf>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Where it starts, inside.
    pub cwd: PathBuf,
    /// Files and folders beside the system's that it may read and execute, at their own place.
    pub readable: Vec<PathBuf>,
    /// Folders that it may read and write, at their own place.
    pub writable: Vec<PathBuf>,
    /// Folders that show a lower one and keep what is written apart.
    pub overlays: Vec<Overlay>,
    /// Folders of the outside that it may read at another place, inside one of the overlays.
    pub shares: Vec<Share>,
    /// The folder in which the folders of all runs lie. Nothing of it is shown but this run's own folders, also where a readable
    /// folder holds it. `None` if the run has no folders.
    pub runs: Option<PathBuf>,
    /// Ports of its own loopback that lead to a socket of the parent. Everything else of the network is closed.
    pub forwards: Vec<Forward>,
    /// Socket of the parent that hears which system calls were refused, in the folder of the forwards' sockets. `None` if
    /// nobody wants to know.
    pub refusals: Option<PathBuf>,
    /// Users of the run's processes. `None` if they run as the user who starts them, as they do wherever that is not root.
    pub identity: Option<RunIdentity>,
    /// What it may use up.
    pub limits: Limits,
}

impl Order {
    /// An order that allows the program to read the system's folders and nothing else.
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
            limits: Limits::default(),
        }
    }
}

/// A folder whose content is that of `lower` until something is written; what is written goes to `upper`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// What is shown; never written.
    pub lower: PathBuf,
    /// What was written, deleted files as character devices 0/0.
    pub upper: PathBuf,
    /// An empty folder beside `upper` for the kernel's own use.
    pub work: PathBuf,
    /// Where the process sees it.
    pub at: PathBuf,
}

/// A folder that is shown read-only at another place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Where it lies outside.
    pub from: PathBuf,
    /// Where the process sees it.
    pub at: PathBuf,
}

/// A port inside that leads to the parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    /// The address that the process connects to. One that is not the loopback's becomes an address of this process's
    /// own network, in which there is nothing else.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
    /// The parent's socket that every connection goes to. All sockets of an order lie in one folder that the process does
    /// not see: whoever could replace a socket by a link would be connected to another service of the machine.
    pub socket: PathBuf,
}

/// Where a way out leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// To this host and port, whatever is sent.
    Address(String, u16),
    /// To those of these hosts and ports that an HTTP `CONNECT` names (RFC 9110, section 9.3.6).
    Proxy(Vec<(String, u16)>),
}

/// What a confined process may use up. Those of memory and file size hold for each of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds of processor time for one process.
    pub cpu_seconds: u64,
    /// Bytes of data memory.
    pub memory_bytes: u64,
    /// Processes and threads of the user at one time.
    pub processes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Open files.
    pub open_files: u64,
    /// Bytes of memory of all processes of a run together, where the system can limit that.
    pub run_memory_bytes: u64,
    /// Bytes that a run may write to its folders. They are looked at while it runs: it may write more before it is ended.
    pub disk_bytes: u64,
}

impl Default for Limits {
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
