//! The calls: install, hear, refuse.
//!
//! Owns: every `unsafe` of this crate. Never: looks at a caller's memory: it may change it at any time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What a filter's program gives for a call that is to be heard (`SECCOMP_RET_USER_NOTIF`).
pub const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;

/// One instruction of a filter's program, as `struct sock_filter` of linux/filter.h has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// How many instructions are left out when its condition holds.
    pub jump_true: u8,
    /// And when it does not.
    pub jump_false: u8,
    /// Its number.
    pub value: u32,
}

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The kernel's number of this request.
    pub id: u64,
    /// Its number.
    pub number: i32,
    /// What it was given; addresses are those of the caller.
    pub args: [u64; 6],
}

/// Hears the calls of one filter.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// Puts a filter around this thread and everything that it starts from now on, and hears what it asks about. The thread's
/// rights must be fixed already (`PR_SET_NO_NEW_PRIVS`).
///
/// # Errors
/// When the kernel has no listeners (before 5.0), has one around this thread already, or finds the program wrong.
pub fn apply(program: &[Instruction]) -> io::Result<Listener> {
    let descriptor = install(program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    // SAFETY: the call made this descriptor for us, and nobody else has it.
    Ok(Listener(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// The same for a program that asks about nothing: it refuses by itself, and nobody hears it.
///
/// # Errors
/// When the kernel finds the program wrong.
pub fn apply_unheard(program: &[Instruction]) -> io::Result<()> {
    install(program, 0).map(drop)
}

/// Gives what the call gave: with the listener's flag, its descriptor.
fn install(program: &[Instruction], flags: libc::c_ulong) -> io::Result<RawFd> {
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

impl Listener {
    /// Waits for the next call. Returns `None` if its caller is gone before it was heard.
    ///
    /// # Errors
    /// When there is nothing to hear any more.
    pub fn next_call(&self) -> io::Result<Option<Call>> {
        // SAFETY: it consists of numbers, for all of which zero is a value; the kernel wants it so.
        let mut heard: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is a listener's, and the request writes a value of this kind into memory of ours.
        let answer =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut heard) };
        if answer < 0 {
            return gone(io::Error::last_os_error()).map(|()| None);
        }
        Ok(Some(Call {
            id: heard.id,
            number: heard.data.nr,
            args: heard.data.args,
        }))
    }

    /// Refuses a call with this error number. A caller that is gone meanwhile is no error: the call is never carried out.
    ///
    /// # Errors
    /// When there is nothing to answer any more.
    pub fn refuse(&self, call: &Call, error: i32) -> io::Result<()> {
        let mut refusal = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: -error,
            flags: 0,
        };
        // SAFETY: the descriptor is a listener's, and the request reads a value of this kind from memory of ours.
        let answer = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw mut refusal,
            )
        };
        if answer < 0 {
            gone(io::Error::last_os_error())?;
        }
        Ok(())
    }
}

/// A caller that has ended is no end of the listening, and neither is a signal of ours.
fn gone(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EINTR) => Ok(()),
        _ => Err(error),
    }
}
