"""Signals and other processes: what is outside must neither be seen nor disturbed."""

import ctypes
import os
import signal
import struct

from .base import KERNEL, LIBC, C, Held, syscall, table

attempt = table("processes")
# Harmless for a process that runs.
CONTINUE = signal.SIGCONT
INFO = ctypes.create_string_buffer(struct.pack("iii", CONTINUE, 0, -1), 128)


def on_victim(name, what, act, needs=None):
    @attempt(name, what, needs)
    def _(me):
        act(C.victim)


on_victim("signal-process", "signals a process by `kill`", lambda pid: os.kill(pid, CONTINUE))
on_victim("signal-nothing", "asks if a process is there", lambda pid: os.kill(pid, 0))
on_victim("signal-thread", "signals a thread by `tgkill`", lambda pid: syscall("tgkill", pid, pid, CONTINUE))
on_victim("signal-with-value", "signals with a value by `rt_sigqueueinfo`", lambda pid: syscall("rt_sigqueueinfo", pid, CONTINUE, INFO))
on_victim("signal-thread-with-value", "signals a thread with a value", lambda pid: syscall("rt_tgsigqueueinfo", pid, pid, CONTINUE, INFO))
on_victim("signal-group", "signals a process group", lambda pid: os.killpg(os.getpgid(pid), 0))
on_victim("process-handle", "has a handle of a process", lambda pid: os.close(os.pidfd_open(pid)))
on_victim("signal-by-handle", "signals a process by its handle", lambda pid: signal.pidfd_send_signal(os.pidfd_open(pid), CONTINUE))
on_victim("signal-on-input", "has the kernel signal a process when a pipe can be read", lambda pid: owned(pid))
on_victim("process-session", "asks for the session of a process", os.getsid)
on_victim("process-group", "asks for the group of a process", os.getpgid)
on_victim("process-priority", "asks for the priority of a process", lambda pid: os.getpriority(os.PRIO_PROCESS, pid))
on_victim("process-affinity", "asks for the processors of a process", os.sched_getaffinity)
on_victim("process-seen", "sees a process in /proc", lambda pid: os.stat(f"/proc/{pid}"))
on_victim("process-limits", "reads the limits of a process", lambda pid: syscall("prlimit64", pid, 7, 0, ctypes.create_string_buffer(16)))
on_victim("process-kill-program", "signals by the program `kill`", lambda pid: by_program(pid))


def owned(pid):
    reader, _writer = os.pipe()
    import fcntl

    fcntl.fcntl(reader, fcntl.F_SETOWN, pid)
    if fcntl.fcntl(reader, fcntl.F_GETOWN) != pid:
        raise Held("the kernel knows no such process")


def by_program(pid):
    import subprocess

    if subprocess.run(["kill", "-0", str(pid)], capture_output=True, check=False).returncode:
        raise Held("there is no such process")


@attempt("signal-gate", "asks if the process that started everything is there")
def _(me):
    try:
        os.kill(C.pid, 0)
    except PermissionError:
        # Another user's: it is there, and seen.
        return


@attempt("processes-listed", "sees processes of the outside")
def _(me):
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if C.pid not in numbers:
        raise Held(f"{len(numbers)} processes, none of the outside")


@attempt("processes-listed-by-program", "sees processes of the outside by `ps`", "the program `ps`")
def _(me):
    import subprocess

    done = subprocess.run(["ps", "-eo", "pid"], capture_output=True, check=False)
    if str(C.pid).encode() not in done.stdout.split():
        raise Held("none of the outside")


STILL = "process 1 lives, and with it this run"


def at_process_1(name, number):
    @attempt(f"end-process-1-{name}", f"ends the sandbox's process 1 by {name}", "a process 1 that a tool could end", "outside")
    def _(me):
        # Where this works the suite ends here, and the gate misses the attempts that follow.
        if C.confined:
            os.kill(1, number)
        raise Held(STILL)


for name in ("SIGKILL", "SIGSTOP", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGSEGV", "SIGABRT", "SIGUSR1", "SIGPIPE", "SIGTSTP", "SIGSYS"):
    at_process_1(name, getattr(signal, name))


@attempt("end-process-1-by-handle", "ends process 1 by its handle", "a process 1 that a tool could end", "outside")
def _(me):
    if C.confined:
        signal.pidfd_send_signal(os.pidfd_open(1), signal.SIGKILL)
    raise Held(STILL)


@attempt("wait-for-sibling", "waits for a process that is not its own")
def _(me):
    syscall("pidfd_open", C.victim, 0)


@attempt("daemon", "leaves a process in a session of its own", "is what any process may do; the gate looks for what is left", "outside")
def _(me):
    if C.confined and os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(3):
                os.close(number)
            signal.pause()
        os._exit(0)
    raise Held("the gate looks for what is left")


@attempt("stopped-child", "leaves a stopped process", "is what any process may do; the gate looks for what is left", "outside")
def _(me):
    if C.confined and os.fork() == 0:
        os.setpgid(0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    raise Held("the gate looks for what is left")


@attempt("ignoring-child", "leaves a process that ignores every signal", "is what any process may do; the gate looks for what is left", "outside")
def _(me):
    if C.confined and os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True:
            signal.pause()
    raise Held("the gate looks for what is left")


@attempt("checkpoint-maps", "changes where the kernel thinks its own program lies", "the kernel's checkpoint support, and root's rights")
def _(me):
    if LIBC.prctl(35, 13, os.open("/bin/true", os.O_RDONLY), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attempt("core-scheduling", "shares a processor's secrets with process 1", KERNEL)
def _(me):
    if LIBC.prctl(62, 3, 1, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attempt("dumpable", "has its own memory written to the disk by the kernel", "a limit of such files that is not zero")
def _(me):
    import resource

    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise Held("no such file may be larger than 0 bytes")
