//! Seccomp: system calls that no tool needs and that lead around the other layers.
//!
//! Owns: the table of refused calls. Never: refuses what ordinary tools need (changing modes, threads, pipes).

use std::sync::mpsc::Sender;

use agentos_notify::{ASK, Instruction, Listener, apply as apply_heard, apply_unheard};

use super::bpf::{Rule, When, error, program};

/// Refused whatever the arguments: other processes' memory, mounts and namespaces, the kernel itself, its keys, and
/// ways to have the kernel do work that no filter sees.
pub(super) const REFUSED: &[(&str, i64)] = &[
    ("acct", libc::SYS_acct),
    ("add_key", libc::SYS_add_key),
    ("adjtimex", libc::SYS_adjtimex),
    ("bpf", libc::SYS_bpf),
    ("chroot", libc::SYS_chroot),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("clock_settime", libc::SYS_clock_settime),
    ("delete_module", libc::SYS_delete_module),
    ("fanotify_init", libc::SYS_fanotify_init),
    ("finit_module", libc::SYS_finit_module),
    ("fsconfig", libc::SYS_fsconfig),
    ("fsmount", libc::SYS_fsmount),
    ("fsopen", libc::SYS_fsopen),
    ("fspick", libc::SYS_fspick),
    ("init_module", libc::SYS_init_module),
    ("kcmp", libc::SYS_kcmp),
    ("kexec_file_load", libc::SYS_kexec_file_load),
    ("kexec_load", libc::SYS_kexec_load),
    ("keyctl", libc::SYS_keyctl),
    ("lookup_dcookie", libc::SYS_lookup_dcookie),
    ("mount", libc::SYS_mount),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("move_mount", libc::SYS_move_mount),
    ("move_pages", libc::SYS_move_pages),
    ("name_to_handle_at", libc::SYS_name_to_handle_at),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("open_tree", libc::SYS_open_tree),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("personality", libc::SYS_personality),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("pivot_root", libc::SYS_pivot_root),
    ("process_madvise", libc::SYS_process_madvise),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("ptrace", libc::SYS_ptrace),
    ("quotactl", libc::SYS_quotactl),
    ("reboot", libc::SYS_reboot),
    ("request_key", libc::SYS_request_key),
    ("setdomainname", libc::SYS_setdomainname),
    ("sethostname", libc::SYS_sethostname),
    ("setns", libc::SYS_setns),
    ("settimeofday", libc::SYS_settimeofday),
    ("swapoff", libc::SYS_swapoff),
    ("swapon", libc::SYS_swapon),
    ("syslog", libc::SYS_syslog),
    ("umount2", libc::SYS_umount2),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("vhangup", libc::SYS_vhangup),
];

/// Said not to exist, so that programs go the older way: `clone3`, whose flags no filter can read, asynchronous
/// calls, and files that lie in no folder.
const ABSENT: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
];

/// Only x86 has these.
#[cfg(target_arch = "x86_64")]
pub(super) const REFUSED_ON_X86: &[(&str, i64)] = &[
    ("ioperm", libc::SYS_ioperm),
    ("iopl", libc::SYS_iopl),
    ("modify_ldt", libc::SYS_modify_ldt),
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const REFUSED_ON_X86: &[(&str, i64)] = &[];

/// The same kernel answers to a second set of numbers, x32: this bit, and some calls under numbers of their own
/// (arch/x86/entry/syscalls/syscall_64.tbl). All of them are refused: nothing is built for it.
#[cfg(target_arch = "x86_64")]
pub(super) const X32: u32 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
pub(super) const X32: u32 = 0;

/// Namespaces that `clone` would open.
const NAMESPACES: libc::c_int = libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS;

/// Puts a terminal's next input in, or a console's (`TIOCSTI`, `TIOCLINUX`).
const TERMINAL_INPUT: &[u32] = &[0x5412, 0x541c];

const INTERNET: &[u32] = &[number(libc::AF_INET), number(libc::AF_INET6)];
const UNIX: &[u32] = &[number(libc::AF_UNIX)];
const STREAM: &[u32] = &[number(libc::SOCK_STREAM)];
const TCP: &[u32] = &[0, number(libc::IPPROTO_TCP)];
/// The low four bits are a socket's type (SOCK_TYPE_MASK); the rest are flags.
const KIND: u32 = 0xf;
const ALL: u32 = u32::MAX;

/// Every socket but plain TCP, which reaches the process's own loopback only.
const NO_TCP: When = When::IsNot(&[(0, ALL, INTERNET), (1, KIND, STREAM), (2, ALL, TCP)]);

/// Applies the filter to this thread and all that it starts. The calls that it refuses are told to `ears`, where the kernel
/// can tell them, and refused either way.
pub(super) fn apply(networked: bool, ears: Option<Sender<Listener>>) -> Result<(), String> {
    if told(networked, ears) {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("the system call filter does not hold: {error}");
    apply_unheard(&filter(networked, error(EPERM))?).map_err(failed)
}

/// Applies it so that its refusals are heard; false where nobody would hear them. Then nothing was applied.
fn told(networked: bool, ears: Option<Sender<Listener>>) -> bool {
    let Some(ears) = ears else { return false };
    let Ok(Ok(listener)) = filter(networked, ASK).map(|program| apply_heard(&program)) else {
        return false;
    };
    // Where nobody takes it, it is closed, and the kernel refuses by itself.
    let _ = ears.send(listener);
    true
}

/// The numbers of these two errors, which are the same on every architecture (asm-generic/errno-base.h, errno.h).
const EPERM: u16 = 1;
const ENOSYS: u16 = 38;

/// The program, in which refused calls get this answer.
fn filter(networked: bool, refusal: u32) -> Result<Vec<Instruction>, String> {
    let second = (X32 != 0).then_some((X32, refusal));
    let program = rules(networked, refusal).and_then(|rules| program(rules, second));
    program.ok_or_else(|| {
        let this = std::env::consts::ARCH;
        format!("no system call filter is known for this machine's architecture, `{this}`")
    })
}

fn rules(networked: bool, refusal: u32) -> Option<Vec<Rule>> {
    let named = REFUSED.iter().chain(REFUSED_ON_X86);
    let refused = named.map(|(_, call)| (*call, When::Always, refusal));
    let absent = ABSENT.iter().map(|call| (*call, When::Always, error(ENOSYS)));
    let socket = if networked { NO_TCP } else { When::Always };
    let some = [
        (libc::SYS_clone, When::Has(0, number(NAMESPACES)), refusal),
        (libc::SYS_ioctl, When::Is(1, TERMINAL_INPUT), refusal),
        (libc::SYS_socket, socket, refusal),
        (libc::SYS_socketpair, When::IsNot(&[(0, ALL, UNIX)]), refusal),
    ];
    let rule = |(call, when, answer): (i64, When, u32)| {
        let number = u32::try_from(call).ok()?;
        Some(Rule { number, when, answer })
    };
    refused.chain(absent).chain(some).map(rule).collect()
}

const fn number(value: libc::c_int) -> u32 {
    value.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::super::bpf::reading::answered;
    use super::*;

    const NO: [u32; 6] = [0; 6];
    const ALLOWED: u32 = 0x7fff_0000;

    #[test]
    fn no_call_is_in_both_tables_and_none_twice() {
        let mut all: Vec<u32> = rules(false, ASK)
            .unwrap()
            .iter()
            .map(|rule| rule.number)
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn every_call_is_answered_as_the_tables_say() {
        let named = [REFUSED, REFUSED_ON_X86].concat();
        for (networked, refusal) in [(false, ASK), (false, error(EPERM)), (true, ASK)] {
            let program = filter(networked, refusal).unwrap();
            for call in 0..1000_i64 {
                let expected = if named.iter().any(|(_, refused)| *refused == call) {
                    refusal
                } else if ABSENT.contains(&call) {
                    error(ENOSYS)
                } else if call == libc::SYS_socket || call == libc::SYS_socketpair {
                    // Of no family.
                    refusal
                } else {
                    ALLOWED
                };
                let call = u32::try_from(call).unwrap();
                assert_eq!(answered(&program, call, NO), expected, "{call}");
                if X32 != 0 {
                    assert_eq!(answered(&program, call | X32, NO), refusal, "{call}");
                }
            }
        }
    }

    #[test]
    fn some_calls_are_refused_for_what_they_ask() {
        let (inet, inet6, unix) = (
            number(libc::AF_INET),
            number(libc::AF_INET6),
            number(libc::AF_UNIX),
        );
        let (stream, datagram) = (number(libc::SOCK_STREAM), number(libc::SOCK_DGRAM));
        let stream_closed = number(libc::SOCK_STREAM | libc::SOCK_CLOEXEC);
        let thread = number(libc::CLONE_VM | libc::CLONE_THREAD);
        let (tcp, mptcp) = (number(libc::IPPROTO_TCP), number(libc::IPPROTO_MPTCP));
        let program = filter(true, ASK).unwrap();
        for (call, arguments, is_allowed) in [
            (libc::SYS_clone, [thread, 0, 0], true),
            (
                libc::SYS_clone,
                [thread | number(libc::CLONE_NEWUSER), 0, 0],
                false,
            ),
            (libc::SYS_clone, [number(libc::CLONE_NEWNS), 0, 0], false),
            (libc::SYS_ioctl, [0, 0x5401, 0], true),
            (libc::SYS_ioctl, [0, 0x5412, 0], false),
            (libc::SYS_ioctl, [0, 0x541c, 0], false),
            (libc::SYS_socket, [inet, stream, 0], true),
            (libc::SYS_socket, [inet6, stream_closed, tcp], true),
            (libc::SYS_socket, [inet, stream, mptcp], false),
            (libc::SYS_socket, [inet, datagram, 0], false),
            (libc::SYS_socket, [unix, stream, 0], false),
            (libc::SYS_socket, [number(libc::AF_NETLINK), stream, 0], false),
            (libc::SYS_socketpair, [unix, datagram, 0], true),
            (libc::SYS_socketpair, [inet, stream, 0], false),
        ] {
            let [a, b, c] = arguments;
            let answer = answered(&program, u32::try_from(call).unwrap(), [a, b, c, 0, 0, 0]);
            let expected = if is_allowed { ALLOWED } else { ASK };
            assert_eq!(answer, expected, "{call} {arguments:x?}");
        }
    }

    #[test]
    fn without_network_no_socket_is_allowed() {
        let program = filter(false, ASK).unwrap();
        let tcp = [number(libc::AF_INET), number(libc::SOCK_STREAM), 0, 0, 0, 0];
        let socket = u32::try_from(libc::SYS_socket).unwrap();
        assert_eq!(answered(&program, socket, tcp), ASK);
    }
}
