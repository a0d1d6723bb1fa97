//! Starts a process that is confined from its first instruction, and ends it.
//!
//! The order of the steps matters: pipes, token, job, suspended start, into the job, resume. A process that ran
//! before it is in the job could start a child outside of it.
//!
//! Owns: that order. Never: resumes a process that is not in its job.

mod attributes;
mod job;
mod label;
mod token;

use std::ffi::c_void;
use std::io::{PipeReader, PipeWriter};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessAsUserW,
    EXTENDED_STARTUPINFO_PRESENT, GetExitCodeProcess, INFINITE, PROCESS_INFORMATION, ResumeThread,
    STARTF_USESTDHANDLES, STARTUPINFOEXW, STARTUPINFOW, TerminateProcess, WaitForSingleObject,
};

use crate::words::{command_line, environment_block};
use crate::{JobLimits, ProcessStart, WinboxError};
use attributes::AttributeList;
use job::ProcessJob;

pub use label::open_to_low_integrity;

/// Confined process. When this value is dropped, it ends with everything that it started.
#[derive(Debug)]
pub struct ConfinedProcess {
    process: OwnedHandle,
    job: ProcessJob,
}

/// Parent's ends of the process's streams.
#[derive(Debug)]
pub struct ProcessPipes {
    /// Standard input of the process.
    pub stdin: PipeWriter,
    /// Standard output of the process.
    pub stdout: PipeReader,
    /// Standard error of the process.
    pub stderr: PipeReader,
}

/// Creates everything that would confine a process, and starts none.
///
/// # Errors
/// If Windows refuses one of them.
pub fn try_layers(limits: &JobLimits) -> Result<(), WinboxError> {
    let _token = token::create_token()?;
    let _job = ProcessJob::new(limits)?;
    Ok(())
}

/// Starts a confined process. It inherits three streams and nothing else.
///
/// # Errors
/// If it cannot be confined or started; then nothing runs.
pub fn start_process(what: &ProcessStart<'_>) -> Result<(ConfinedProcess, ProcessPipes), WinboxError> {
    let texts = ProcessTexts::new(what)?;
    let token = token::create_token()?;
    let job = ProcessJob::new(&what.limits)?;
    let (its_stdin, stdin) = open_pipe()?;
    let (stdout, its_stdout) = open_pipe()?;
    let (stderr, its_stderr) = open_pipe()?;
    let streams = [
        its_stdin.as_raw_handle(),
        its_stdout.as_raw_handle(),
        its_stderr.as_raw_handle(),
    ];
    let (process, thread) = start_suspended(&texts, &token, &streams)?;
    let held = ConfinedProcess { process, job };
    let goes = held
        .job
        .add_process(held.process.as_raw_handle())
        .and_then(|()| resume_thread(&thread));
    if let Err(error) = goes {
        // It may be outside the job, which then does not end it.
        terminate(&held.process);
        return Err(error);
    }
    Ok((
        held,
        ProcessPipes {
            stdin,
            stdout,
            stderr,
        },
    ))
}

impl ConfinedProcess {
    /// Ends the process and everything that it started.
    pub fn end_all(&self) {
        self.job.end_all();
    }

    /// Blocks until the process has ended.
    ///
    /// # Errors
    /// If Windows cannot say.
    pub fn wait(&self) -> Result<(), WinboxError> {
        // SAFETY: the handle is open as long as `self` lives.
        let answer = unsafe { WaitForSingleObject(self.process.as_raw_handle(), INFINITE) };
        check_success(i32::from(answer == WAIT_OBJECT_0), "wait for the process")
    }

    /// Returns the exit code of the ended process.
    ///
    /// # Errors
    /// If Windows cannot say.
    pub fn code(&self) -> Result<u32, WinboxError> {
        let mut code = 0;
        // SAFETY: the handle is open as long as `self` lives, and `code` outlives the call.
        let answer = unsafe { GetExitCodeProcess(self.process.as_raw_handle(), &raw mut code) };
        check_success(answer, "read the exit code")?;
        Ok(code)
    }
}

/// Texts for `CreateProcessAsUserW`, each of which ends with a NUL.
struct ProcessTexts {
    program: Vec<u16>,
    line: Vec<u16>,
    env: Vec<u16>,
    cwd: Vec<u16>,
}

impl ProcessTexts {
    fn new(what: &ProcessStart<'_>) -> Result<Self, WinboxError> {
        let place = |path: &std::path::Path| path.to_str().and_then(to_wide);
        Ok(Self {
            line: to_wide(&command_line(what.program, what.args)?)
                .ok_or(WinboxError::UnusableText("an argument"))?,
            program: place(what.program).ok_or(WinboxError::UnusableText("the program's path"))?,
            // The NULs in it separate the variables.
            env: environment_block(what.env)?.encode_utf16().collect(),
            cwd: place(what.cwd).ok_or(WinboxError::UnusableText("the folder's path"))?,
        })
    }
}

/// Converts a text to UTF-16 with a NUL at its end. `None` if it contains a NUL already.
fn to_wide(text: &str) -> Option<Vec<u16>> {
    (!text.contains('\0')).then(|| text.encode_utf16().chain([0]).collect())
}

fn open_pipe() -> Result<(PipeReader, PipeWriter), WinboxError> {
    std::io::pipe().map_err(|source| WinboxError::Windows {
        doing: "open a pipe",
        source,
    })
}

/// Starts the process suspended. Returns its handle, and the handle of its only thread.
fn start_suspended(
    texts: &ProcessTexts,
    token: &OwnedHandle,
    streams: &[HANDLE; 3],
) -> Result<(OwnedHandle, OwnedHandle), WinboxError> {
    for stream in streams {
        // SAFETY: the caller keeps the three handles open.
        let answer = unsafe { SetHandleInformation(*stream, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) };
        check_success(answer, "let the streams be inherited")?;
    }
    // Without this list, the process would inherit every inheritable handle of this process, also those that another
    // thread marks at this moment.
    let mut attributes = AttributeList::inherit_handles(streams)?;
    let [stdin, stdout, stderr] = *streams;
    let startup = STARTUPINFOEXW {
        StartupInfo: STARTUPINFOW {
            cb: size_of::<STARTUPINFOEXW>().try_into().unwrap_or_default(),
            dwFlags: STARTF_USESTDHANDLES,
            hStdInput: stdin,
            hStdOutput: stdout,
            hStdError: stderr,
            ..STARTUPINFOW::default()
        },
        lpAttributeList: attributes.list_pointer(),
    };
    let mut made = PROCESS_INFORMATION::default();
    // The function may write into it (CreateProcessW, "lpCommandLine").
    let mut line = texts.line.clone();
    // A console of its own that nobody sees: in the parent's console it could type for the user.
    let flags =
        CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | CREATE_NO_WINDOW | EXTENDED_STARTUPINFO_PRESENT;
    // SAFETY: every pointer is to a local value or a field of `texts` that outlives the call; the texts end in NUL,
    // the environment in two; `STARTUPINFOEXW` begins with the `STARTUPINFOW` that is expected, and the flags say
    // that it is the longer one.
    let answer = unsafe {
        CreateProcessAsUserW(
            token.as_raw_handle(),
            texts.program.as_ptr(),
            line.as_mut_ptr(),
            std::ptr::null(),
            std::ptr::null(),
            1,
            flags,
            texts.env.as_ptr().cast::<c_void>(),
            texts.cwd.as_ptr(),
            (&raw const startup).cast::<STARTUPINFOW>(),
            &raw mut made,
        )
    };
    check_success(answer, "start the process")?;
    // SAFETY: the call succeeded, so the handle is ours, open, and owned by nobody else.
    let process = unsafe { OwnedHandle::from_raw_handle(made.hProcess) };
    // SAFETY: as above.
    let thread = unsafe { OwnedHandle::from_raw_handle(made.hThread) };
    Ok((process, thread))
}

fn resume_thread(thread: &OwnedHandle) -> Result<(), WinboxError> {
    // SAFETY: the handle is open.
    let before = unsafe { ResumeThread(thread.as_raw_handle()) };
    check_success(i32::from(before != u32::MAX), "let the process run")
}

fn terminate(process: &OwnedHandle) {
    // SAFETY: the handle is open. If the process cannot be ended, it stays suspended.
    unsafe { TerminateProcess(process.as_raw_handle(), 1) };
}

/// Returns an error if a Windows function returned zero, with the reason that Windows keeps for the thread.
fn check_success(answer: i32, doing: &'static str) -> Result<(), WinboxError> {
    if answer != 0 {
        return Ok(());
    }
    Err(WinboxError::Windows {
        doing,
        source: std::io::Error::last_os_error(),
    })
}
