//! Seccomp: refuses system calls that no tool needs and that lead around the other layers.
//!
//! Owns: the table of refused calls. Never: refuses what ordinary tools cannot do without (changing modes, threads,
//! pipes). Two ordinary things fail: binding a thread of one's own to processors by its number, since a filter cannot
//! know whose number it is, and setting a set-group-ID bit.

use std::sync::mpsc::Sender;

use agentos_notify::{
    ASK, CallListener, FilterInstruction, apply_filter as install_with_listener, apply_without_listener,
};

use super::bpf::{CallCondition, CallRule, build_program, error_answer};

/// Calls that are refused whatever their arguments: they reach other processes' memory, mounts and namespaces, the
/// kernel itself or its keys, or make the kernel do work that no filter sees.
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
    ("migrate_pages", libc::SYS_migrate_pages),
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

/// Calls that fail with `ENOSYS`, so that programs fall back to an older call: `clone3` and `openat2`, whose
/// arguments lie in memory that no filter can read, asynchronous calls, and files that lie in no folder.
const ABSENT: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_openat2,
];

/// Refused calls that only x86 has.
#[cfg(target_arch = "x86_64")]
pub(super) const REFUSED_ON_X86: &[(&str, i64)] = &[
    ("ioperm", libc::SYS_ioperm),
    ("iopl", libc::SYS_iopl),
    ("modify_ldt", libc::SYS_modify_ldt),
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const REFUSED_ON_X86: &[(&str, i64)] = &[];

/// Bit that marks the numbers of the x32 ABI, a second set of numbers for the same calls, some of them with numbers
/// of their own (arch/x86/entry/syscalls/syscall_64.tbl). All of them are refused: nothing is built for it.
#[cfg(target_arch = "x86_64")]
pub(super) const X32: u32 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
pub(super) const X32: u32 = 0;

/// Flags of `clone` that open namespaces.
const NAMESPACES: libc::c_int = libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS;

/// Requests of `ioctl` that insert input into a terminal or a console (`TIOCSTI`, `TIOCLINUX`).
const TERMINAL_INPUT: &[u32] = &[0x5412, 0x541c];

/// Number of fchmodat2(2), which is the same on every architecture; `libc` does not name it for all of them.
const FCHMODAT2: i64 = 452;

/// Bits of a file's mode with which a program runs as the file's owner or group (inode(7): `S_ISUID`, `S_ISGID`). A
/// file that the tool writes is also on the real disk, where these bits would let another user of the machine act as
/// this one.
const SET_ID: u32 = 0o6000;
/// Flags of `open` with which it reads the mode argument: `O_CREAT`, and the bit of `O_TMPFILE` that no other flag
/// has (open(2)).
const CREATES: u32 = unsigned(libc::O_CREAT) | (unsigned(libc::O_TMPFILE) & !unsigned(libc::O_DIRECTORY));
/// Number that means the caller itself, in calls that take the number of a process or thread.
const ITSELF: &[u32] = &[0];
/// Any process but the caller. One of them is process 1, which guards the tool: a tool that may slow it down decides
/// when its run ends, and one that may limit it decides what it can record.
const OTHER_PROCESS: CallCondition = CallCondition::IsNot(&[(0, ALL, ITSELF)]);
/// Any target but the caller: `PRIO_PROCESS` of setpriority(2) and `IOPRIO_WHO_PROCESS` of ioprio_set(2), not the
/// processes of a group or a user.
const OTHER_PRIORITY: CallCondition = CallCondition::IsNot(&[(0, ALL, &[0]), (1, ALL, ITSELF)]);
const OTHER_IO_PRIORITY: CallCondition = CallCondition::IsNot(&[(0, ALL, &[1]), (1, ALL, ITSELF)]);

/// Calls that are refused for some arguments only: the name that is recorded, the call, and the condition.
pub(super) const PARTLY_REFUSED: &[(&str, i64, CallCondition)] = &[
    (
        "clone (a namespace)",
        libc::SYS_clone,
        CallCondition::Has(0, unsigned(NAMESPACES)),
    ),
    (
        "ioctl (a terminal's input)",
        libc::SYS_ioctl,
        CallCondition::Is(1, TERMINAL_INPUT),
    ),
    (
        "fchmod (a set-id bit)",
        libc::SYS_fchmod,
        CallCondition::Has(1, SET_ID),
    ),
    (
        "fchmodat (a set-id bit)",
        libc::SYS_fchmodat,
        CallCondition::Has(2, SET_ID),
    ),
    (
        "fchmodat2 (a set-id bit)",
        FCHMODAT2,
        CallCondition::Has(2, SET_ID),
    ),
    (
        "mknodat (a set-id bit)",
        libc::SYS_mknodat,
        CallCondition::Has(2, SET_ID),
    ),
    (
        "openat (a set-id bit)",
        libc::SYS_openat,
        CallCondition::HasAll(&[(2, CREATES), (3, SET_ID)]),
    ),
    (
        "ioprio_set (a process by its number)",
        libc::SYS_ioprio_set,
        OTHER_IO_PRIORITY,
    ),
    (
        "prlimit64 (a process by its number)",
        libc::SYS_prlimit64,
        OTHER_PROCESS,
    ),
    (
        "sched_setaffinity (a process by its number)",
        libc::SYS_sched_setaffinity,
        OTHER_PROCESS,
    ),
    (
        "sched_setattr (a process by its number)",
        libc::SYS_sched_setattr,
        OTHER_PROCESS,
    ),
    (
        "sched_setparam (a process by its number)",
        libc::SYS_sched_setparam,
        OTHER_PROCESS,
    ),
    (
        "sched_setscheduler (a process by its number)",
        libc::SYS_sched_setscheduler,
        OTHER_PROCESS,
    ),
    (
        "setpriority (a process by its number)",
        libc::SYS_setpriority,
        OTHER_PRIORITY,
    ),
    // Only x86 still has these older forms.
    #[cfg(target_arch = "x86_64")]
    (
        "chmod (a set-id bit)",
        libc::SYS_chmod,
        CallCondition::Has(1, SET_ID),
    ),
    #[cfg(target_arch = "x86_64")]
    (
        "creat (a set-id bit)",
        libc::SYS_creat,
        CallCondition::Has(1, SET_ID),
    ),
    #[cfg(target_arch = "x86_64")]
    (
        "mknod (a set-id bit)",
        libc::SYS_mknod,
        CallCondition::Has(1, SET_ID),
    ),
    #[cfg(target_arch = "x86_64")]
    (
        "open (a set-id bit)",
        libc::SYS_open,
        CallCondition::HasAll(&[(1, CREATES), (2, SET_ID)]),
    ),
];

const INTERNET: &[u32] = &[unsigned(libc::AF_INET), unsigned(libc::AF_INET6)];
const UNIX: &[u32] = &[unsigned(libc::AF_UNIX)];
const STREAM: &[u32] = &[unsigned(libc::SOCK_STREAM)];
const CONNECTED: &[u32] = &[unsigned(libc::SOCK_STREAM), unsigned(libc::SOCK_SEQPACKET)];
const TCP: &[u32] = &[0, unsigned(libc::IPPROTO_TCP)];
/// Mask of a socket's type (`SOCK_TYPE_MASK`, the low four bits); the rest are flags.
const KIND: u32 = 0xf;
const ALL: u32 = u32::MAX;

/// Any socket but plain TCP, which only reaches the process's own loopback.
const NO_TCP: CallCondition = CallCondition::IsNot(&[(0, ALL, INTERNET), (1, KIND, STREAM), (2, ALL, TCP)]);

/// Any pair but one that stays connected to itself. A datagram socket of a pair can be disconnected and then send to
/// any socket that its owner can name (`connect` with `AF_UNSPEC`, `sendto`; unix(7)): a service of the machine in a
/// folder that is shown would answer, and could pass open files. Streams and sequenced packets keep their peer.
const OTHER_PAIR: CallCondition = CallCondition::IsNot(&[(0, ALL, UNIX), (1, KIND, CONNECTED)]);

/// Applies the filter to this thread and all that it starts. The refused calls are reported to `ears` if the kernel
/// can report them; they are refused either way.
pub(super) fn apply_filter(networked: bool, ears: Option<Sender<CallListener>>) -> Result<(), String> {
    if apply_with_listener(networked, ears) {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("the system call filter cannot be applied: {error}");
    apply_without_listener(&build_filter(networked, error_answer(EPERM))?).map_err(failed)
}

/// Applies the filter with a listener for its refusals. Returns false if nobody would listen; then nothing was
/// applied.
fn apply_with_listener(networked: bool, ears: Option<Sender<CallListener>>) -> bool {
    let Some(ears) = ears else { return false };
    let Ok(Ok(listener)) = build_filter(networked, ASK).map(|program| install_with_listener(&program)) else {
        return false;
    };
    // If the receiver is gone, the listener is closed here, and the kernel refuses the calls by itself
    // (seccomp_unotify(2)).
    let _ = ears.send(listener);
    true
}

/// Numbers of these two errors, which are the same on every architecture (asm-generic/errno-base.h, errno.h).
const EPERM: u16 = 1;
const ENOSYS: u16 = 38;

/// Builds the program. Refused calls get the answer `refusal`.
fn build_filter(networked: bool, refusal: u32) -> Result<Vec<FilterInstruction>, String> {
    let second = (X32 != 0).then_some((X32, refusal));
    let program = list_rules(networked, refusal).and_then(|rules| build_program(rules, second));
    program.ok_or_else(|| {
        let this = std::env::consts::ARCH;
        format!("there is no system call filter for this machine's architecture, `{this}`")
    })
}

fn list_rules(networked: bool, refusal: u32) -> Option<Vec<CallRule>> {
    let named = REFUSED.iter().chain(REFUSED_ON_X86);
    let refused = named.map(|(_, call)| (*call, CallCondition::Always, refusal));
    let absent = ABSENT
        .iter()
        .map(|call| (*call, CallCondition::Always, error_answer(ENOSYS)));
    // Without forwarded ports there is no server to reach, so no socket is needed at all.
    let socket = if networked { NO_TCP } else { CallCondition::Always };
    let some = [
        (libc::SYS_socket, socket, refusal),
        (libc::SYS_socketpair, OTHER_PAIR, refusal),
    ];
    let partly = PARTLY_REFUSED
        .iter()
        .map(|(_, call, when)| (*call, *when, refusal));
    let rule = |(call, when, answer): (i64, CallCondition, u32)| {
        let number = u32::try_from(call).ok()?;
        Some(CallRule { number, when, answer })
    };
    refused
        .chain(absent)
        .chain(some)
        .chain(partly)
        .map(rule)
        .collect()
}

const fn unsigned(value: libc::c_int) -> u32 {
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
        let mut all: Vec<u32> = list_rules(false, ASK)
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
        for (networked, refusal) in [(false, ASK), (false, error_answer(EPERM)), (true, ASK)] {
            let program = build_filter(networked, refusal).unwrap();
            for call in 0..1000_i64 {
                let expected = if named.iter().any(|(_, refused)| *refused == call) {
                    refusal
                } else if ABSENT.contains(&call) {
                    error_answer(ENOSYS)
                } else if call == libc::SYS_socket || call == libc::SYS_socketpair {
                    // Of no family.
                    refusal
                } else if call == libc::SYS_ioprio_set {
                    // Of no kind of process.
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
            unsigned(libc::AF_INET),
            unsigned(libc::AF_INET6),
            unsigned(libc::AF_UNIX),
        );
        let (stream, datagram) = (unsigned(libc::SOCK_STREAM), unsigned(libc::SOCK_DGRAM));
        let stream_closed = unsigned(libc::SOCK_STREAM | libc::SOCK_CLOEXEC);
        let thread = unsigned(libc::CLONE_VM | libc::CLONE_THREAD);
        let (tcp, mptcp) = (unsigned(libc::IPPROTO_TCP), unsigned(libc::IPPROTO_MPTCP));
        let program = build_filter(true, ASK).unwrap();
        for (call, arguments, is_allowed) in [
            (libc::SYS_clone, [thread, 0, 0], true),
            (
                libc::SYS_clone,
                [thread | unsigned(libc::CLONE_NEWUSER), 0, 0],
                false,
            ),
            (libc::SYS_clone, [unsigned(libc::CLONE_NEWNS), 0, 0], false),
            (libc::SYS_ioctl, [0, 0x5401, 0], true),
            (libc::SYS_ioctl, [0, 0x5412, 0], false),
            (libc::SYS_ioctl, [0, 0x541c, 0], false),
            (libc::SYS_socket, [inet, stream, 0], true),
            (libc::SYS_socket, [inet6, stream_closed, tcp], true),
            (libc::SYS_socket, [inet, stream, mptcp], false),
            (libc::SYS_socket, [inet, datagram, 0], false),
            (libc::SYS_socket, [unix, stream, 0], false),
            (libc::SYS_socket, [unsigned(libc::AF_NETLINK), stream, 0], false),
            (libc::SYS_socketpair, [unix, stream_closed, 0], true),
            (
                libc::SYS_socketpair,
                [unix, unsigned(libc::SOCK_SEQPACKET), 0],
                true,
            ),
            (libc::SYS_socketpair, [unix, datagram, 0], false),
            (libc::SYS_socketpair, [unix, unsigned(libc::SOCK_RAW), 0], false),
            (libc::SYS_socketpair, [inet, stream, 0], false),
            (libc::SYS_sched_setaffinity, [0, 8, 0], true),
            (libc::SYS_sched_setaffinity, [1, 8, 0], false),
            (libc::SYS_sched_setscheduler, [7, 5, 0], false),
            (libc::SYS_sched_setparam, [1, 0, 0], false),
            (libc::SYS_sched_setattr, [1, 0, 0], false),
            (libc::SYS_sched_getaffinity, [1, 8, 0], true),
            (libc::SYS_setpriority, [0, 0, 5], true),
            (libc::SYS_setpriority, [0, 1, 5], false),
            // Of a group and of a user: 0 stands for the caller's own, which process 1 may share.
            (libc::SYS_setpriority, [1, 0, 5], false),
            (libc::SYS_setpriority, [2, 0, 5], false),
            (libc::SYS_ioprio_set, [1, 0, 5], true),
            (libc::SYS_ioprio_set, [1, 1, 5], false),
            (libc::SYS_ioprio_set, [3, 0, 5], false),
            (libc::SYS_prlimit64, [0, 1, 0], true),
            (libc::SYS_prlimit64, [1, 1, 0], false),
            (libc::SYS_fchmod, [3, 0o755, 0], true),
            (libc::SYS_fchmod, [3, 0o1777, 0], true),
            (libc::SYS_fchmod, [3, 0o4755, 0], false),
            (libc::SYS_fchmodat, [3, 0, 0o2755], false),
            (FCHMODAT2, [3, 0, 0o6000], false),
            (libc::SYS_mknodat, [3, 0, 0o10_644], true),
            (libc::SYS_mknodat, [3, 0, 0o104_755], false),
        ] {
            let [a, b, c] = arguments;
            let answer = answered(&program, u32::try_from(call).unwrap(), [a, b, c, 0, 0, 0]);
            let expected = if is_allowed { ALLOWED } else { ASK };
            assert_eq!(answer, expected, "{call} {arguments:x?}");
        }
    }

    #[test]
    fn opening_a_file_reads_its_mode_only_where_it_may_be_made() {
        let program = build_filter(true, ASK).unwrap();
        let (create, temporary) = (unsigned(libc::O_CREAT), unsigned(libc::O_TMPFILE));
        let folder = unsigned(libc::O_DIRECTORY);
        for (flags, mode, is_allowed) in [
            (0, 0o4755, true),
            (folder, 0o6777, true),
            (create, 0o755, true),
            (create, 0o4755, false),
            (create, 0o2755, false),
            (temporary, 0o4755, false),
            (temporary, 0o700, true),
        ] {
            let openat = u32::try_from(libc::SYS_openat).unwrap();
            let answer = answered(&program, openat, [3, 0, flags, mode, 0, 0]);
            let expected = if is_allowed { ALLOWED } else { ASK };
            assert_eq!(answer, expected, "{flags:o} {mode:o}");
        }
    }

    #[test]
    fn without_network_no_socket_is_allowed() {
        let program = build_filter(false, ASK).unwrap();
        let tcp = [unsigned(libc::AF_INET), unsigned(libc::SOCK_STREAM), 0, 0, 0, 0];
        let socket = u32::try_from(libc::SYS_socket).unwrap();
        assert_eq!(answered(&program, socket, tcp), ASK);
    }
}
