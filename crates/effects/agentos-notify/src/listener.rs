//! The three kernel calls: install a filter, receive a call, refuse it.
//!
//! Owns: every `unsafe` of this crate. Never: reads the memory of a caller, which could change it at any time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Answer of a filter for a call that the listener shall see (`SECCOMP_RET_USER_NOTIF`).
pub const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;

/// Instruction of a filter, as `struct sock_filter` in linux/filter.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterInstruction {
    /// Operation.
    pub code: u16,
    /// Number of instructions to skip if the condition holds.
    pub jump_true: u8,
    /// Number of instructions to skip if it does not.
    pub jump_false: u8,
    /// Operand.
    pub value: u32,
}

/// System call that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingCall {
    /// Id of this notification.
    pub id: u64,
    /// Number of the system call.
    pub number: i32,
    /// Arguments; addresses are those of the caller.
    pub args: [u64; 6],
}

/// Receives the calls of one filter.
#[derive(Debug)]
pub struct CallListener(OwnedFd);

/// Applies a filter to this thread and everything that it starts from now on, and returns the listener for its
/// questions. `PR_SET_NO_NEW_PRIVS` must be set already.
///
/// # Errors
/// If the kernel has no listeners (before 5.0), if this thread has one already, or if the program is invalid.
pub fn apply_filter(program: &[FilterInstruction]) -> io::Result<CallListener> {
    let descriptor = install_filter(program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    // SAFETY: the call created this descriptor, and nobody else owns it.
    Ok(CallListener(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Applies a filter that asks nothing: it refuses by itself, and nobody sees its refusals.
///
/// # Errors
/// If the program is invalid.
pub fn apply_without_listener(program: &[FilterInstruction]) -> io::Result<()> {
    install_filter(program, 0).map(drop)
}

/// Installs a filter. Returns what the call returned: the listener's descriptor if its flag is set.
fn install_filter(program: &[FilterInstruction], flags: libc::c_ulong) -> io::Result<RawFd> {
    let mut filter: Vec<libc::sock_filter> = program
        .iter()
        .map(|instruction| libc::sock_filter {
            code: instruction.code,
            jt: instruction.jump_true,
            jf: instruction.jump_false,
            k: instruction.value,
        })
        .collect();
    let described = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the description names a program of the length that it says, and both outlive the call, which copies them.
    let made = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const described,
        )
    };
    let made = i32::try_from(made).map_err(io::Error::other)?;
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(made)
}

impl CallListener {
    /// Waits for the next call. Returns `None` if its caller ended before the call was received.
    ///
    /// # Errors
    /// If no further call can come.
    pub fn next_call(&self) -> io::Result<Option<PendingCall>> {
        // SAFETY: it consists of numbers, for all of which zero is valid; the kernel requires it to be zero.
        let mut heard: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is a listener's, and the request writes a value of this type into local memory.
        let answer =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut heard) };
        if answer < 0 {
            return ignore_gone(io::Error::last_os_error()).map(|()| None);
        }
        Ok(Some(PendingCall {
            id: heard.id,
            number: heard.data.nr,
            args: heard.data.args,
        }))
    }

    /// Refuses a call with this error number. A caller that ended meanwhile is no error: its call is never carried
    /// out.
    ///
    /// # Errors
    /// If no call can be answered any more.
    pub fn refuse_call(&self, call: &PendingCall, error: i32) -> io::Result<()> {
        let mut refusal = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: -error,
            flags: 0,
        };
        // SAFETY: the descriptor is a listener's, and the request reads a value of this type from local memory.
        let answer = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw mut refusal,
            )
        };
        if answer < 0 {
            ignore_gone(io::Error::last_os_error())?;
        }
        Ok(())
    }
}

/// Accepts errors that do not end the listening: a caller that has ended, and a signal to this process.
fn ignore_gone(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EINTR) => Ok(()),
        _ => Err(error),
    }
}
