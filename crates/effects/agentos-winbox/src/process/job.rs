//! Job object: ends a process with all that it starts, and limits what they use together.
//!
//! Owns: the job object. Never: lets a process leave it.

use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOB_OBJECT_LIMIT_PROCESS_TIME, JOB_OBJECT_UILIMIT_DESKTOP,
    JOB_OBJECT_UILIMIT_DISPLAYSETTINGS, JOB_OBJECT_UILIMIT_EXITWINDOWS, JOB_OBJECT_UILIMIT_GLOBALATOMS,
    JOB_OBJECT_UILIMIT_HANDLES, JOB_OBJECT_UILIMIT_READCLIPBOARD, JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS,
    JOB_OBJECT_UILIMIT_WRITECLIPBOARD, JOBOBJECT_BASIC_LIMIT_INFORMATION, JOBOBJECT_BASIC_UI_RESTRICTIONS,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS, JobObjectBasicUIRestrictions,
    JobObjectExtendedLimitInformation, SetInformationJobObject, TerminateJobObject,
};

use super::check_success;
use crate::{JobLimits, WinboxError};

/// Exit code of a process that is ended from outside.
const ENDED: u32 = 1;
/// Windows counts a process's time in units of 100 ns.
const UNITS_PER_MICROSECOND: u128 = 10;

/// Job without a name, which nobody else can open. Everything in it ends when it is closed, also when this program is
/// killed.
#[derive(Debug)]
pub(super) struct ProcessJob(OwnedHandle);

impl ProcessJob {
    /// Creates an empty job with these limits. No process may leave it, because neither breakaway flag is set.
    ///
    /// # Errors
    /// If Windows refuses the job or a limit.
    pub(super) fn new(limits: &JobLimits) -> Result<Self, WinboxError> {
        // SAFETY: neither attributes nor a name are given.
        let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        check_success(i32::from(!job.is_null()), "make a job object")?;
        // SAFETY: the call succeeded, so the handle is ours and open.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(job) });
        let all = JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
            BasicLimitInformation: JOBOBJECT_BASIC_LIMIT_INFORMATION {
                PerProcessUserTimeLimit: i64::try_from(limits.cpu.as_micros() * UNITS_PER_MICROSECOND)
                    .unwrap_or(i64::MAX),
                ActiveProcessLimit: limits.processes,
                LimitFlags: JOB_OBJECT_LIMIT_ACTIVE_PROCESS
                    | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
                    | JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
                    | JOB_OBJECT_LIMIT_PROCESS_MEMORY
                    | JOB_OBJECT_LIMIT_PROCESS_TIME,
                ..JOBOBJECT_BASIC_LIMIT_INFORMATION::default()
            },
            ProcessMemoryLimit: usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX),
            ..JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default()
        };
        job.apply_settings(JobObjectExtendedLimitInformation, &all, "set the job's limits")?;
        let screen = JOBOBJECT_BASIC_UI_RESTRICTIONS {
            UIRestrictionsClass: JOB_OBJECT_UILIMIT_DESKTOP
                | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
                | JOB_OBJECT_UILIMIT_EXITWINDOWS
                | JOB_OBJECT_UILIMIT_GLOBALATOMS
                | JOB_OBJECT_UILIMIT_HANDLES
                | JOB_OBJECT_UILIMIT_READCLIPBOARD
                | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
                | JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
        };
        let doing = "keep the job from the screen and the clipboard";
        job.apply_settings(JobObjectBasicUIRestrictions, &screen, doing)?;
        Ok(job)
    }

    fn apply_settings<T: JobSettings>(
        &self,
        class: JOBOBJECTINFOCLASS,
        settings: &T,
        doing: &'static str,
    ) -> Result<(), WinboxError> {
        let length = u32::try_from(size_of::<T>()).unwrap_or_default();
        let place = std::ptr::from_ref(settings).cast::<c_void>();
        // SAFETY: both callers name the class of their own kind of settings, whose size is given.
        let answer = unsafe { SetInformationJobObject(self.0.as_raw_handle(), class, place, length) };
        check_success(answer, doing)
    }

    /// Puts a process into the job, which it cannot leave.
    ///
    /// # Errors
    /// If Windows refuses it.
    pub(super) fn add_process(&self, process: HANDLE) -> Result<(), WinboxError> {
        // SAFETY: the caller's handle is open, and so is ours.
        let answer = unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process) };
        check_success(answer, "put the process into its job")
    }

    /// Ends everything in the job. What cannot be ended now ends when the job is closed.
    pub(super) fn end_all(&self) {
        // SAFETY: the handle is open as long as `self` lives.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), ENDED) };
    }
}

/// Settings that a job accepts.
trait JobSettings {}
impl JobSettings for JOBOBJECT_EXTENDED_LIMIT_INFORMATION {}
impl JobSettings for JOBOBJECT_BASIC_UI_RESTRICTIONS {}
