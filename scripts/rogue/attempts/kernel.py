"""System calls that lead around a sandbox: the kernel itself, its keys, work that no filter sees, other processes' memory."""

import ctypes
import os
import struct
import time

from .base import KERNEL, LIBC, ROOT, C, Held, child, numbered, reaches, run, syscall, table

attempt = table("kernel")
PARAMS = ctypes.create_string_buffer(256)
NONE = b"/nonexistent-rogue"


def call(label, what, name, *args, needs=None):
    """An attempt that succeeds when the kernel looks at the arguments of this call."""

    @attempt(label, what, needs)
    def _(me):
        reaches(name, *args)


# Keys, and who may read them.
call("keyring-of-the-user", "finds the user's keyring", "keyctl", 0, -4, 0, needs=KERNEL)
call("keyring-of-the-session", "finds the session's keyring", "keyctl", 0, -3, 0, needs=KERNEL)
call("keyring-read", "reads the session's keyring", "keyctl", 11, -3, PARAMS, 256, needs=KERNEL)
call("keyring-persistent", "finds the user's lasting keyring", "keyctl", 22, -1, -3, needs=KERNEL)
call("add-key", "puts a key into its session", "add_key", b"user", b"rogue", b"x", 1, -3, needs=KERNEL)
call("request-key", "has the kernel start a program that finds a key", "request_key", b"user", b"rogue", b"x", -3, needs=ROOT)

# Programs in the kernel, and looking into it.
call("bpf", "loads a program into the kernel", "bpf", 5, PARAMS, 128, needs=ROOT)
call("bpf-map", "makes a map of the kernel's", "bpf", 0, ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1), 128), 128, needs=ROOT)
call("performance-counters", "counts what the machine does", "perf_event_open", ctypes.create_string_buffer(struct.pack("IIQ", 1, 128, 0), 128), 0, -1, -1, 0, needs=KERNEL)
call("userfaultfd", "handles page faults itself", "userfaultfd", 1, needs=KERNEL)
call("userfaultfd-kernel-faults", "handles the kernel's page faults itself", "userfaultfd", 0, needs=ROOT)
call("fanotify", "hears of every opened file", "fanotify_init", 0x200, 0, needs=KERNEL)
call("kernel-log", "reads the kernel's log", "syslog", 3, PARAMS, 256, needs=KERNEL)
call("kernel-log-size", "asks for the size of the kernel's log", "syslog", 10, 0, 0, needs=KERNEL)
call("personality", "turns off the random places of its memory", "personality", 0x0040000)
call("kernel-compare", "compares processes' kernel objects", "kcmp", os.getpid(), os.getpid(), 0, 0, 1, needs=KERNEL)
call("quota", "asks for the quotas of file systems", "quotactl", 0x80000100, 0, 0, 0, needs=KERNEL)
call("old-profiling", "asks for the kernel's profile", "lookup_dcookie", 0, PARAMS, 256, needs=KERNEL)
call("local-descriptors", "sets up segments of memory", "modify_ldt", 0, PARAMS, 16, needs="x86_64")
call("port-privilege", "asks for the machine's ports", "iopl", 0, needs="x86_64")
call("port-permission", "asks for one port of the machine", "ioperm", 0x80, 1, 0, needs="x86_64")

# What only root may do at all; that it is refused is seen in the record of refused calls.
call("module-load", "loads a module", "init_module", PARAMS, 1, b"", needs=ROOT)
call("module-load-file", "loads a module from a file", "finit_module", 0, b"", 0, needs=ROOT)
call("module-unload", "unloads a module", "delete_module", b"rogue_none", 0, needs=ROOT)
call("next-kernel", "loads another kernel", "kexec_load", 0, 0, 0, 0, needs=ROOT)
call("next-kernel-file", "loads another kernel from a file", "kexec_file_load", 0, 0, 0, b"", 0, needs=ROOT)
call("reboot", "turns a key combination off", "reboot", 0xFEE1DEAD, 672274793, 0, 0, needs=ROOT)
call("swap-on", "adds swap", "swapon", NONE, 0, needs=ROOT)
call("swap-off", "takes swap away", "swapoff", NONE, needs=ROOT)
call("accounting", "has every process recorded", "acct", NONE, needs=ROOT)
call("host-name", "changes the machine's name", "sethostname", b"rogue", 5, needs=ROOT)
call("domain-name", "changes the machine's domain", "setdomainname", b"rogue", 5, needs=ROOT)
call("hang-up", "hangs up the terminal", "vhangup", needs=ROOT)
call("clock-set", "sets a clock", "clock_settime", 1, PARAMS)
call("time-of-day-set", "sets the time of day", "settimeofday", 0, 0, needs=ROOT)
call("clock-adjust", "asks how the clock is adjusted", "adjtimex", PARAMS)
call("clock-adjust-by-number", "asks how one clock is adjusted", "clock_adjtime", 0, PARAMS)
call("handle-of-file", "names a file by its handle", "name_to_handle_at", -100, b"/", ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 144), PARAMS, 0, needs=KERNEL)

# Work that no filter sees.
call("io-uring", "has the kernel make calls for it", "io_uring_setup", 4, PARAMS, needs=KERNEL)
call("io-uring-enter", "enters such a queue", "io_uring_enter", 0, 0, 0, 0, 0, 0, needs=KERNEL)
call("io-uring-register", "registers such a queue", "io_uring_register", 0, 0, 0, 0, needs=KERNEL)
call("clone3", "starts a process by the call whose flags no filter can read", "clone3", PARAMS, 1)
call("memory-file", "makes a file that lies in no folder", "memfd_create", b"rogue", 0)
call("memory-file-huge", "makes such a file of huge pages", "memfd_create", b"rogue", 4, needs=KERNEL)
call("secret-memory", "makes memory that the kernel itself cannot see", "memfd_secret", 0, needs=KERNEL)


@attempt("memory-file-exec", "runs a program that lies in no folder")
def _(me):
    handle = os.memfd_create("rogue")
    os.write(handle, open("/bin/true", "rb").read())
    run(f"/proc/self/fd/{handle}", pass_fds=(handle,))


@attempt("open-by-handle", "opens a file by its handle", ROOT)
def _(me):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 144)
    mount = ctypes.c_int()
    try:
        syscall("name_to_handle_at", -100, b"/", handle, ctypes.byref(mount), 0)
    except OSError:
        pass
    reaches("open_by_handle_at", -100, handle, 0)


@attempt("filter-of-its-own-that-listens", "answers its children's calls itself, as the sandbox does", KERNEL)
def _(me):
    # Two listeners in one chain of filters are refused by the kernel: the sandbox's comes first.
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))
    LIBC.prctl(38, 1, 0, 0, 0)
    syscall("seccomp", 1, 8, program)


@attempt("transparent-filter", "asks how its own filter is made", "root's rights, and the kernel's checkpoint support")
def _(me):
    if LIBC.ptrace(0x420C, os.getppid(), 0, PARAMS) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attempt("seccomp-off", "takes its filter off")
def _(me):
    with open("/proc/self/status") as status:
        mode = [line for line in status if line.startswith("Seccomp:")]
    if mode and mode[0].split()[1] != "0":
        raise Held("the filter stays")


@attempt("refused-calls-under-load", "has a refused call pass while many threads make it")
def _(me):
    import threading

    reached = []

    def try_it():
        for _round in range(50):
            try:
                syscall("memfd_create", b"rogue", 0)
                reached.append(1)
                return
            except OSError:
                pass

    workers = [threading.Thread(target=try_it) for _number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if not reached:
        raise Held("400 calls were refused")


@attempt("unknown-call-number", "makes a call by a negative number that a filter may take for a small one", "a kernel with such a call")
def _(me):
    numbered(-1 << 32 | 319)


@attempt("clock-step-visible", "changes the clock that the machine runs by", ROOT)
def _(me):
    time.clock_settime(time.CLOCK_REALTIME, time.time())


# Other processes' memory. `child` is one of its own: the kernel lets an ordinary user look into it.


def into(label, what, act, needs=None):
    @attempt(label, what, needs)
    def _(me):
        process = child(lambda: None)
        try:
            act(process)
        finally:
            os.kill(process, 9)
            os.waitpid(process, 0)


def vector(buffer):
    return (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), len(buffer))


def released(process):
    handle = os.pidfd_open(process)
    reaches("process_madvise", handle, vector(PARAMS), 1, 20, 0)


into("memory-read", "reads the memory of a process of its own", lambda process: syscall("process_vm_readv", process, vector(PARAMS), 1, vector(PARAMS), 1, 0))
into("memory-write", "writes the memory of a process of its own", lambda process: syscall("process_vm_writev", process, vector(PARAMS), 1, vector(PARAMS), 1, 0))
into("descriptor-steal", "takes a descriptor of another process", lambda process: syscall("pidfd_getfd", os.pidfd_open(process), 0, 0))
into("memory-advise", "advises the kernel on another process's memory", released, ROOT)
into("trace-attach", "traces a process of its own", lambda process: syscall("ptrace", 16, process, 0, 0))
into("trace-seize", "traces a process without stopping it", lambda process: syscall("ptrace", 0x4206, process, 0, 0))
into("pages-move", "asks where the pages of a process lie", lambda process: syscall("move_pages", process, 0, 0, 0, 0, 0), KERNEL)


@attempt("trace-me", "has its parent trace it")
def _(me):
    syscall("ptrace", 0, 0, 0, 0)


def outside(label, what, act):
    @attempt(label, what, "a process of its own user that may be traced")
    def _(me):
        act()


outside("trace-process", "traces a process of the outside", lambda: syscall("ptrace", 0x4206, C.victim, 0, 0))
outside("trace-process-1", "traces process 1", lambda: syscall("ptrace", 0x4206, 1, 0, 0))
outside("memory-read-outside", "reads the memory of a process of the outside", lambda: reaches("process_vm_readv", C.victim, vector(PARAMS), 1, vector(PARAMS), 1, 0))
outside("memory-write-process-1", "writes the memory of process 1", lambda: reaches("process_vm_writev", 1, vector(PARAMS), 1, vector(PARAMS), 1, 0))
outside("descriptor-steal-process-1", "takes a descriptor of process 1", lambda: syscall("pidfd_getfd", os.pidfd_open(1), 3, 0))
outside("robust-list-process-1", "asks where process 1 keeps its locks", lambda: syscall("get_robust_list", 1, PARAMS, PARAMS))
outside("memory-release-process-1", "has the memory of process 1 released", lambda: syscall("process_mrelease", os.pidfd_open(1), 0))


@attempt("memory-of-the-kernel-by-vsyscall", "reads a kernel address", "a fault of the processor or the kernel")
def _(me):
    reader, writer = os.pipe()
    if LIBC.write(writer, ctypes.c_void_p(0xFFFF888000000000), 8) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


