//! Runs a process in the folders of its run: its users, its sockets, and what happens to the folders.
//!
//! Owns: adapting a launch spec to a run's folders, the record of refused calls, and keeping the folders if processes
//! may still be alive. Never: reads or removes anything that the tool could write; that comes after the run.

#[cfg(any(target_os = "linux", target_os = "macos", windows))]
use agentos_beneath::OpenFolder;

use std::path::Path;

use super::{FinishedRun, OutputStream, RunCaps, Sandbox, StopHandle, ToolInput};
use crate::{LaunchSpec, RunFolders, RunLimit, SandboxError};

impl RunFolders {
    /// Runs a process to its end, as the users of this run; see [`Sandbox::run`]. Afterwards [`RunFolders::refused`] has
    /// the system calls that it was refused, even if the run failed.
    ///
    /// # Errors
    /// As [`Sandbox::run`]. With [`SandboxError::NotEnded`] these folders stay where they are, and the users of this
    /// run are given to no other run, as long as this program runs.
    pub fn run(
        &self,
        sandbox: &Sandbox,
        spec: &LaunchSpec,
        input: ToolInput,
        caps: RunCaps,
        stop: &StopHandle,
        seen: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Result<FinishedRun, SandboxError> {
        let mut spec = spec.clone();
        spec.identity = self.identity();
        spec.runs = self.parent_path().map(Path::to_owned);
        #[cfg(target_os = "linux")]
        let heard = {
            let socket = self.doors().join("refused.sock");
            let heard = crate::refusals::RefusalSocket::open(&socket, self.keeper())
                .map_err(SandboxError::io("receive the calls that the tool was refused"))?;
            spec.refusals = Some(socket);
            heard
        };
        let watch = self.watch_disk(&spec, stop);
        let ended = sandbox.run(&spec, input, caps, stop, seen);
        let others = ended.as_ref().map(|ended| ended.report.run_limits.clone());
        let disk = watch.as_ref().map(|_| RunLimit::Disk);
        self.keep_run_limits(disk.into_iter().chain(others.unwrap_or_default()).collect());
        drop(watch);
        if matches!(ended, Err(SandboxError::NotEnded)) {
            self.abandon();
        }
        #[cfg(target_os = "linux")]
        self.keep_refused(heard.read(ended.is_err() || stop.is_finished()));
        ended
    }

    /// Watches the disk space of the tool's folders. Returns `None` if it cannot be watched.
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    fn watch_disk(&self, spec: &LaunchSpec, stop: &StopHandle) -> Option<super::disk::DiskWatch> {
        let own = [self.changes(), self.copy(), self.home(), self.tmp(), self.views()];
        let folders = own.iter().filter_map(|folder| OpenFolder::open_root(folder).ok());
        super::disk::DiskWatch::begin(folders.collect(), spec.limits.disk_bytes, stop)
    }

    /// Returns `None`: no process runs on this system.
    #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
    fn watch_disk(&self, _order: &LaunchSpec, _stop: &StopHandle) -> Option<()> {
        None
    }
}
