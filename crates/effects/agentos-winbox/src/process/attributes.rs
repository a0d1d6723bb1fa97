//! Handles that a process inherits.
//!
//! Owns: the attribute list of a start, in memory of its own. Never: outlives the handles that it names.

use std::ffi::c_void;
use std::marker::PhantomData;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Threading::{
    DeleteProcThreadAttributeList, InitializeProcThreadAttributeList, LPPROC_THREAD_ATTRIBUTE_LIST,
    PROC_THREAD_ATTRIBUTE_HANDLE_LIST, UpdateProcThreadAttribute,
};

use super::check_success;
use crate::WinboxError;

/// Attribute list with one attribute.
pub(super) struct AttributeList<'a> {
    /// Memory of the list, in units that have the alignment it needs.
    memory: Vec<usize>,
    handles: PhantomData<&'a [HANDLE; 3]>,
}

impl<'a> AttributeList<'a> {
    /// Creates a list with which only these handles are inherited.
    ///
    /// # Errors
    /// If Windows refuses it.
    pub(super) fn inherit_handles(handles: &'a [HANDLE; 3]) -> Result<Self, WinboxError> {
        let mut bytes = 0;
        // SAFETY: asked without memory, the function only says how much it needs, and fails.
        unsafe { InitializeProcThreadAttributeList(std::ptr::null_mut(), 1, 0, &raw mut bytes) };
        let mut memory = vec![0_usize; bytes.div_ceil(size_of::<usize>())];
        // SAFETY: the memory has at least the size that the function requested.
        let answer = unsafe {
            InitializeProcThreadAttributeList(memory.as_mut_ptr().cast::<c_void>(), 1, 0, &raw mut bytes)
        };
        check_success(answer, "make a list of handles")?;
        // From here on `drop` deletes the list.
        let mut attributes = Self {
            memory,
            handles: PhantomData,
        };
        let kind = usize::try_from(PROC_THREAD_ATTRIBUTE_HANDLE_LIST).unwrap_or_default();
        // SAFETY: the list was initialised for one attribute; it keeps the pointer to the handles, which `'a` keeps alive.
        let answer = unsafe {
            UpdateProcThreadAttribute(
                attributes.list_pointer(),
                0,
                kind,
                handles.as_ptr().cast::<c_void>(),
                size_of_val(handles),
                std::ptr::null_mut(),
                std::ptr::null(),
            )
        };
        check_success(answer, "name the handles that are inherited")?;
        Ok(attributes)
    }

    /// Returns the list for the start of a process, valid while this value lives.
    pub(super) fn list_pointer(&mut self) -> LPPROC_THREAD_ATTRIBUTE_LIST {
        self.memory.as_mut_ptr().cast::<c_void>()
    }
}

impl Drop for AttributeList<'_> {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and nobody uses it any more.
        unsafe { DeleteProcThreadAttributeList(self.list_pointer()) };
    }
}
