"""Other processes' processor, priority and limits: how a tool starves or blinds process 1 of its sandbox (findings 1, 8)."""

import ctypes
import os
import resource
import struct

from .base import C, Held, reaches, syscall, table

attempt = table("scheduling")
HERE = "a process 1 of its own user, which only a sandbox has"
POLICY = ctypes.create_string_buffer(struct.pack("i", 0), 4)
MASK = ctypes.create_string_buffer(b"\x01" + bytes(127), 128)
# The lowest priority: a gate that is started with one below the usual may not raise it again.
ATTRIBUTES = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 0, 0, 19, 0, 0, 0, 0), 48)
SMALL = ctypes.create_string_buffer(struct.pack("QQ", 5, 5), 16)
OLD = ctypes.create_string_buffer(16)


def threads(process):
    """Returns the threads of a process; other processes' are visible by number in /proc."""
    return [int(name) for name in os.listdir(f"/proc/{process}/task")]


def on_threads(process, act):
    last = Held("it has no thread")
    for thread in threads(process):
        try:
            act(thread)
            return
        except OSError as error:
            last = error
    raise last


def on_process_1(name, what, act):
    @attempt(f"process-1-{name}", f"process 1: {what}", HERE)
    def _(me):
        on_threads(1, act)


def on_sibling(name, what, act):
    @attempt(f"victim-{name}", f"a process of the outside: {what}")
    def _(me):
        act(C.victim)


BOTH = (
    ("affinity", "binds it to one processor", lambda pid: syscall("sched_setaffinity", pid, 128, MASK)),
    ("scheduler-batch", "has it scheduled as a batch job", lambda pid: syscall("sched_setscheduler", pid, 3, POLICY)),
    ("scheduling-parameter", "sets its priority among real-time tasks", lambda pid: syscall("sched_setparam", pid, POLICY)),
    ("scheduling-attributes", "sets all its scheduling attributes", lambda pid: syscall("sched_setattr", pid, ATTRIBUTES, 0)),
    ("nice", "takes its priority", lambda pid: syscall("setpriority", 0, pid, 19)),
    ("input-output-priority", "takes its turn at the disk", lambda pid: syscall("ioprio_set", 1, pid, 3 << 13)),
    ("scheduler-idle", "has it run only when nothing else does", lambda pid: syscall("sched_setscheduler", pid, 5, POLICY)),
    ("limit-file-size", "takes its right to write files", lambda pid: syscall("prlimit64", pid, resource.RLIMIT_FSIZE, SMALL, OLD)),
    ("limit-open-files", "takes its right to open files", lambda pid: syscall("prlimit64", pid, resource.RLIMIT_NOFILE, SMALL, OLD)),
    ("limit-processor-time", "has it ended by its processor time", lambda pid: syscall("prlimit64", pid, resource.RLIMIT_CPU, SMALL, OLD)),
)
for name, what, act in BOTH:
    on_process_1(name, what, act)
on_process_1("limit-read", "reads its limits", lambda pid: syscall("prlimit64", pid, resource.RLIMIT_NOFILE, 0, OLD))
on_process_1("migrate-pages", "moves its memory", lambda pid: syscall("migrate_pages", pid, 64, MASK, MASK))
on_process_1("memory-kill", "makes it the first to be ended for want of memory", lambda pid: write_score(f"/proc/{pid}/oom_score_adj"))
on_process_1("timer-slack", "makes its timers late", lambda pid: write_score(f"/proc/{pid}/timerslack_ns"))
on_process_1("autogroup", "takes the priority of its session", lambda pid: write_score(f"/proc/{pid}/autogroup"))
on_process_1("freeze-by-cgroup", "freezes it", lambda pid: write_score("/sys/fs/cgroup/cgroup.freeze"))
for name, what, act in BOTH[:7]:
    on_sibling(name, what, act)
on_sibling("limit-file-size", "takes its right to write files", BOTH[7][2])
on_sibling("limit-core", "has the kernel write its memory to the disk", lambda pid: syscall("prlimit64", pid, resource.RLIMIT_CORE, OLD, 0))


def write_score(path):
    with open(path, "w") as file:
        file.write("1000" if "oom" in path else "19" if "autogroup" in path else "1")


@attempt("own-group-priority", "takes the priority of a whole process group", "a group in which every process is its own user's")
def _(me):
    reaches("setpriority", 1, 0, 19)


@attempt("own-user-priority", "takes the priority of every process of its user", "no process of the user whose priority is lower")
def _(me):
    reaches("setpriority", 2, 0, 1)


@attempt("own-group-input-output", "takes a whole process group's turn at the disk", "a group in which every process is its own user's")
def _(me):
    reaches("ioprio_set", 2, 0, 3 << 13)


@attempt("own-user-input-output", "takes its user's turn at the disk")
def _(me):
    reaches("ioprio_set", 3, os.getuid(), 3 << 13)


@attempt("child-affinity", "binds a process by its number, which is how another one is bound")
def _(me):
    reaches("sched_setaffinity", os.getppid(), 128, MASK)


@attempt("high-bits-of-process", "names process 1 by a number with more bits than the kernel reads", HERE)
def _(me):
    syscall("sched_setaffinity", (1 << 32) | 1, 128, MASK)


@attempt("high-bits-of-nobody", "names itself by bits that a filter compares and the kernel drops")
def _(me):
    reaches("prlimit64", (1 << 32) | C.victim, resource.RLIMIT_FSIZE, 0, OLD)


@attempt("real-time", "becomes a real-time task, which starves all others", "root's rights")
def _(me):
    syscall("sched_setscheduler", 0, 1, ctypes.create_string_buffer(struct.pack("i", 50), 4))


@attempt("deadline-task", "becomes a task with deadlines, which starves all others", "root's rights")
def _(me):
    syscall("sched_setattr", 0, ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 6, 0, 0, 0, 10**7, 10**8, 10**8), 48), 0)


@attempt("raise-own-priority", "goes before all other processes", "root's rights")
def _(me):
    syscall("setpriority", 0, 0, -20)
