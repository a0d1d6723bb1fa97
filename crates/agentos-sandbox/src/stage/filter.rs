//! Seccomp: system calls that no tool needs and that lead around the other layers.
//!
//! Owns: the table of refused calls. Never: refuses what ordinary tools need (changing modes, threads, pipes).

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use agentos_notify::{ASK, Instruction, Listener, apply as apply_heard};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

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

/// The same kernel answers to a second set of numbers, x32: these bits, and some calls under numbers of their own
/// (arch/x86/entry/syscalls/syscall_64.tbl: ptrace, kexec_load, move_pages, process_vm_readv and _writev).
#[cfg(target_arch = "x86_64")]
pub(super) const X32: (i64, &[i64]) = (0x4000_0000, &[521, 528, 533, 539, 540]);
#[cfg(not(target_arch = "x86_64"))]
pub(super) const X32: (i64, &[i64]) = (0, &[]);

/// Namespaces that `clone` would open.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Puts a terminal's next input in, or a console's (`TIOCSTI`, `TIOCLINUX`).
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// A return of seccompiler's programs (linux/bpf_common.h: `BPF_RET | BPF_K`).
const RETURN: u16 = 0x06;

/// Applies both filters to this thread and all that it starts. The calls of the first are told to `ears`, where the kernel
/// can tell them, and refused either way.
pub(super) fn apply(networked: bool, ears: Option<Sender<Listener>>) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("the system call filter does not hold: {error}");
    let action = |errno: i32| SeccompAction::Errno(u32::try_from(errno).unwrap_or(1));
    let rules = refused(networked).map_err(|error| failed(&error))?;
    if !told(&rules, ears) {
        let program = compiled(rules, action(libc::EPERM)).map_err(|error| failed(&error))?;
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    let program = compiled(absent(), action(libc::ENOSYS)).map_err(|error| failed(&error))?;
    apply_filter(&program).map_err(|error| failed(&error))
}

/// Applies the first filter so that its calls are heard; false where nobody would hear them. Then nothing was applied.
fn told(rules: &Rules, ears: Option<Sender<Listener>>) -> bool {
    let Some(ears) = ears else { return false };
    // Seccompiler knows no action that asks: one that it knows, and that nothing else of the program gives, stands for it.
    let Ok(program) = compiled(rules.clone(), SeccompAction::Trace(0)) else {
        return false;
    };
    let stands_for_it = u32::from(SeccompAction::Trace(0));
    let asking = program.iter().map(|instruction| Instruction {
        code: instruction.code,
        jump_true: instruction.jt,
        jump_false: instruction.jf,
        value: match (instruction.code, instruction.k) {
            (RETURN, value) if value == stands_for_it => ASK,
            (_, value) => value,
        },
    });
    let Ok(listener) = apply_heard(&asking.collect::<Vec<_>>()) else {
        return false;
    };
    // Where nobody takes it, it is closed, and the kernel refuses by itself.
    let _ = ears.send(listener);
    true
}

fn compiled(rules: Rules, answer: SeccompAction) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?.try_into()
}

fn absent() -> Rules {
    numbers(ABSENT).map(|number| (number, Vec::new())).collect()
}

/// The numbers, and the same in the second set where there is one.
fn numbers(calls: &[i64]) -> impl Iterator<Item = i64> {
    let (bit, _) = X32;
    calls.iter().flat_map(move |call| {
        let second = (bit != 0).then_some(call | bit);
        [Some(*call), second].into_iter().flatten()
    })
}

fn refused(networked: bool) -> Result<Rules, seccompiler::BackendError> {
    let named = REFUSED.iter().chain(REFUSED_ON_X86);
    let all: Vec<i64> = named.map(|(_, number)| *number).collect();
    let mut rules: Rules = numbers(&all)
        .chain(X32.1.iter().map(|call| call | X32.0))
        .map(|number| (number, Vec::new()))
        .collect();
    let some = [
        (libc::SYS_clone, opening_namespaces()?),
        (libc::SYS_ioctl, typing_for_others()?),
        (libc::SYS_socket, if networked { sockets()? } else { Vec::new() }),
        (libc::SYS_socketpair, pairs()?),
    ];
    for (call, when) in some {
        for number in numbers(&[call]) {
            rules.insert(number, when.clone());
        }
    }
    Ok(rules)
}

fn opening_namespaces() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let flags = NAMESPACES
        .into_iter()
        .map(|flag| u64::try_from(flag).unwrap_or(0));
    flags
        .map(|flag| when([(0, SeccompCmpOp::MaskedEq(flag), flag)]))
        .collect()
}

fn typing_for_others() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let requests = TERMINAL_INPUT.into_iter();
    requests
        .map(|request| when([(1, SeccompCmpOp::Eq, request)]))
        .collect()
}

/// Refuses every socket but plain TCP, which reaches the process's own loopback only.
fn sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let number = |value: i32| u64::try_from(value).unwrap_or(0);
    let mut rules = vec![
        when([
            (0, SeccompCmpOp::Ne, number(libc::AF_INET)),
            (0, SeccompCmpOp::Ne, number(libc::AF_INET6)),
        ])?,
        when([
            (2, SeccompCmpOp::Ne, 0),
            (2, SeccompCmpOp::Ne, number(libc::IPPROTO_TCP)),
        ])?,
    ];
    // The low four bits are the type (SOCK_TYPE_MASK); the rest are flags.
    let types = (0..16).filter(|kind| *kind != number(libc::SOCK_STREAM));
    for kind in types {
        rules.push(when([(1, SeccompCmpOp::MaskedEq(0xf), kind)])?);
    }
    Ok(rules)
}

fn pairs() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let unix = u64::try_from(libc::AF_UNIX).unwrap_or(1);
    Ok(vec![when([(0, SeccompCmpOp::Ne, unix)])?])
}

/// A rule for arguments that fit all of these.
fn when<const N: usize>(
    conditions: [(u8, SeccompCmpOp, u64); N],
) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions
        .into_iter()
        .map(|(argument, how, value)| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_in_both_tables_and_none_twice() {
        let named = [REFUSED, REFUSED_ON_X86].concat().into_iter();
        let mut all: Vec<i64> = named.map(|(_, number)| number).collect();
        all.extend(ABSENT);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn both_filters_compile_with_and_without_network() {
        for networked in [false, true] {
            compiled(refused(networked).unwrap(), SeccompAction::Errno(1)).unwrap();
        }
        compiled(absent(), SeccompAction::Errno(38)).unwrap();
    }

    #[test]
    fn what_is_heard_is_what_would_be_refused() {
        let rules = refused(true).unwrap();
        let returns = |action: SeccompAction| {
            let program = compiled(rules.clone(), action).unwrap();
            let wanted = u32::from(SeccompAction::Trace(0));
            let all = program.iter().filter(|step| step.code == RETURN);
            all.map(|step| step.k == wanted).collect::<Vec<_>>()
        };
        let heard = returns(SeccompAction::Trace(0));
        assert!(heard.contains(&true) && heard.contains(&false), "{heard:?}");
        assert!(!returns(SeccompAction::Errno(1)).contains(&true));
    }

    #[test]
    fn without_network_no_socket_is_allowed() {
        assert_eq!(refused(false).unwrap()[&libc::SYS_socket], Vec::new());
        assert!(!refused(true).unwrap()[&libc::SYS_socket].is_empty());
    }
}
