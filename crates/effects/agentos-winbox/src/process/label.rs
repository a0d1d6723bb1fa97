//! Integrity labels: the files that a confined process may write to.
//!
//! Owns: the integrity label of a file or folder. Never: follows a link, or changes the rest of its access control.

use std::ffi::c_void;
use std::path::Path;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{LABEL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, SetFileSecurityW};

use super::{check_success, to_wide};
use crate::WinboxError;

/// Label of a file: processes below the low level may not write (Security Descriptor String Format, "ML", "NW",
/// "LW").
const FILE: &str = "S:(ML;;NW;;;LW)";
/// Label of a folder, which everything created in it inherits.
const FOLDER: &str = "S:(ML;OICI;NW;;;LW)";

/// Opens a file, or a folder and all that will be created in it, to processes of the low integrity level. What the
/// folder contains already keeps its own label.
///
/// # Errors
/// If Windows refuses it: only an owner may do this.
pub fn open_to_low_integrity(place: &Path, is_folder: bool) -> Result<(), WinboxError> {
    let unusable = WinboxError::UnusableText("a path");
    let name = place.to_str().and_then(to_wide).ok_or(unusable)?;
    let label = Label::new(if is_folder { FOLDER } else { FILE })?;
    // SAFETY: the name ends in NUL, and both outlive the call.
    let answer = unsafe { SetFileSecurityW(name.as_ptr(), LABEL_SECURITY_INFORMATION, label.0) };
    check_success(answer, "open a folder to the process")
}

/// Security descriptor that Windows made from its text.
struct SecurityLabel(PSECURITY_DESCRIPTOR);

impl SecurityLabel {
    fn new(text: &str) -> Result<Self, WinboxError> {
        let text = to_wide(text).ok_or(WinboxError::UnusableText("a label"))?;
        let mut made: PSECURITY_DESCRIPTOR = std::ptr::null_mut();
        // SAFETY: the text ends in NUL; both pointers outlive the call, and the length is not requested.
        let answer = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut made,
                std::ptr::null_mut(),
            )
        };
        check_success(answer, "make a label")?;
        Ok(Self(made))
    }
}

impl Drop for SecurityLabel {
    fn drop(&mut self) {
        // SAFETY: the function that made it says that it is freed so, and nobody uses it any more.
        unsafe { LocalFree(self.0.cast::<c_void>()) };
    }
}
