//! Restricted token: the user of the process, without the rights to change the machine or files that were not opened
//! to it.
//!
//! Owns: the restricted token. Never: gives a right that the user does not have.

use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::{
    CreateRestrictedToken, CreateWellKnownSid, DISABLE_MAX_PRIVILEGE, LUA_TOKEN, SECURITY_MAX_SID_SIZE,
    SID_AND_ATTRIBUTES, SetTokenInformation, TOKEN_ADJUST_DEFAULT, TOKEN_ASSIGN_PRIMARY, TOKEN_DUPLICATE,
    TOKEN_MANDATORY_LABEL, TOKEN_QUERY, TokenIntegrityLevel, WinLowLabelSid,
};
use windows_sys::Win32::System::SystemServices::SE_GROUP_INTEGRITY;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::check_success;
use crate::WinboxError;

/// Memory of a security identifier, aligned for the numbers in it.
#[repr(align(8))]
struct SecurityId([u8; SECURITY_MAX_SID_SIZE as usize]);

/// Creates a copy of this process's token without privileges, with administrators' groups for denying only
/// (`LUA_TOKEN`), and at the low integrity level: nothing that is not labelled low can be written with it.
///
/// # Errors
/// If Windows refuses one of the steps.
pub(super) fn create_token() -> Result<OwnedHandle, WinboxError> {
    let rights = TOKEN_DUPLICATE | TOKEN_QUERY | TOKEN_ASSIGN_PRIMARY | TOKEN_ADJUST_DEFAULT;
    let mut own: HANDLE = std::ptr::null_mut();
    // SAFETY: it has no conditions; what it gives is no handle that would have to be closed.
    let this = unsafe { GetCurrentProcess() };
    // SAFETY: `own` outlives the call.
    let answer = unsafe { OpenProcessToken(this, rights, &raw mut own) };
    check_success(answer, "open this process's token")?;
    // SAFETY: the call succeeded, so the handle is ours and open.
    let own = unsafe { OwnedHandle::from_raw_handle(own) };
    let mut restricted: HANDLE = std::ptr::null_mut();
    let nothing = std::ptr::null();
    // SAFETY: the handle is open; the three lists are empty, so their pointers are not followed.
    let answer = unsafe {
        CreateRestrictedToken(
            own.as_raw_handle(),
            DISABLE_MAX_PRIVILEGE | LUA_TOKEN,
            0,
            nothing,
            0,
            nothing.cast(),
            0,
            nothing,
            &raw mut restricted,
        )
    };
    check_success(answer, "restrict the token")?;
    // SAFETY: the call succeeded, so the handle is ours and open.
    let restricted = unsafe { OwnedHandle::from_raw_handle(restricted) };
    lower_integrity(&restricted)?;
    Ok(restricted)
}

/// Lowers a token's integrity level.
fn lower_integrity(token: &OwnedHandle) -> Result<(), WinboxError> {
    let mut sid = SecurityId([0; SECURITY_MAX_SID_SIZE as usize]);
    let mut bytes = SECURITY_MAX_SID_SIZE;
    let place = sid.0.as_mut_ptr().cast::<c_void>();
    // SAFETY: the memory is as large as `bytes` says, which is enough for every identifier.
    let answer = unsafe { CreateWellKnownSid(WinLowLabelSid, std::ptr::null_mut(), place, &raw mut bytes) };
    check_success(answer, "name the low integrity level")?;
    let label = TOKEN_MANDATORY_LABEL {
        Label: SID_AND_ATTRIBUTES {
            Sid: place,
            Attributes: SE_GROUP_INTEGRITY.unsigned_abs(),
        },
    };
    // The identifier's bytes count although they are elsewhere in memory ("Designing Applications to Run at a Low
    // Integrity Level").
    let length = u32::try_from(size_of::<TOKEN_MANDATORY_LABEL>()).unwrap_or_default() + bytes;
    // SAFETY: the label is of the kind that the class asks for, and it and its identifier outlive the call.
    let answer = unsafe {
        SetTokenInformation(
            token.as_raw_handle(),
            TokenIntegrityLevel,
            (&raw const label).cast::<c_void>(),
            length,
        )
    };
    check_success(answer, "lower the token's integrity level")
}
