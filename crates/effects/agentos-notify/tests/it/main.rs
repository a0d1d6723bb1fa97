//! Refusals are heard, and are refusals.

#![cfg(test)]
#![cfg(target_os = "linux")]

use std::io;
use std::sync::mpsc::channel;
use std::thread;

use agentos_notify::{ASK, FilterInstruction, apply_filter, apply_without_listener};

/// `sched_yield` for x86_64 and aarch64: nothing needs it, and Rust's library has it.
const YIELD: u32 = if cfg!(target_arch = "x86_64") { 24 } else { 124 };

/// Load the number; is it this one; if so ask, else allow (linux/bpf_common.h, linux/seccomp.h).
fn program(number: u32) -> [FilterInstruction; 4] {
    let plain = |code, value| FilterInstruction {
        code,
        jump_true: 0,
        jump_false: 0,
        value,
    };
    let is_it = FilterInstruction {
        code: 0x15,
        jump_true: 0,
        jump_false: 1,
        value: number,
    };
    [plain(0x20, 0), is_it, plain(0x06, ASK), plain(0x06, 0x7fff_0000)]
}

#[test]
fn a_call_that_is_asked_about_is_refused_and_heard() {
    let (say, hear) = channel();
    // The filter holds this thread alone.
    let caller = thread::spawn(move || {
        let Ok(listener) = apply_filter(&program(YIELD)) else {
            return false;
        };
        say.send(listener).unwrap();
        thread::yield_now();
        true
    });
    let Ok(listener) = hear.recv() else {
        assert!(!caller.join().unwrap());
        eprintln!("skipped: a filter needs a right that this process has not");
        return;
    };
    let call = listener.next_call().unwrap().unwrap();
    listener.refuse_call(&call, 1).unwrap();
    assert_eq!(call.number, i32::try_from(YIELD).unwrap());
    assert!(caller.join().unwrap());
}

#[test]
fn a_program_that_the_kernel_does_not_understand_holds_nothing() {
    let wrong = FilterInstruction {
        code: 0xffff,
        jump_true: 0,
        jump_false: 0,
        value: 0,
    };
    let refused: [io::Error; 2] = [
        apply_filter(&[wrong]).unwrap_err(),
        apply_without_listener(&[wrong]).unwrap_err(),
    ];
    for refused in refused {
        assert!(refused.raw_os_error().is_some(), "{refused}");
    }
}
