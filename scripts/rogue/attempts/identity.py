"""Becoming somebody else: users, groups, capabilities, programs that run as root."""

import ctypes
import os
import resource
import struct

from .base import LIBC, ROOT, Held, run, syscall, table

attempt = table("identity")


def call(name, what, act, needs=ROOT):
    @attempt(name, what, needs)
    def _(me):
        act()


call("become-root", "by `setuid`", lambda: os.setuid(0))
call("become-root-group", "by `setgid`", lambda: os.setgid(0))
call("become-root-effective", "by `seteuid`", lambda: os.seteuid(0))
call("become-root-saved", "by `setresuid`", lambda: os.setresuid(-1, -1, 0))
call("become-other-user", "by `setuid`, another user", lambda: os.setuid(os.getuid() + 1))
call("change-groups", "by `setgroups`, root's group", lambda: os.setgroups([0]))
call("drop-groups", "by `setgroups`, none at all, which takes denials by group away", lambda: os.setgroups([]))


@attempt("file-system-user", "becomes root for files alone", ROOT)
def _(me):
    LIBC.setfsuid(0)
    # The call reports the value before; a second call reports the value after it.
    if LIBC.setfsuid(-1) != 0:
        raise Held("it stayed itself")


@attempt("is-root", "is root already", ROOT)
def _(me):
    if os.geteuid() != 0 and os.getegid() != 0 and 0 not in os.getgroups():
        raise Held("it is not")


@attempt("has-capabilities", "has a capability already", ROOT)
def _(me):
    status = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
    held = [name for name in ("CapInh", "CapPrm", "CapEff", "CapAmb") if int(status[name], 16)]
    if not held:
        raise Held("it has none")


@attempt("take-capabilities", "gives itself every capability by `capset`", ROOT)
def _(me):
    header = ctypes.create_string_buffer(struct.pack("II", 0x20080522, 0))
    data = ctypes.create_string_buffer(struct.pack("IIIIII", *(0xFFFFFFFF, 0xFFFFFFFF, 0, 0x1FF, 0x1FF, 0)))
    syscall("capset", header, data)


@attempt("ambient-capability", "raises a capability for what it starts", ROOT)
def _(me):
    if LIBC.prctl(47, 2, 21, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attempt("keep-capabilities-bits", "changes how the kernel treats root", ROOT)
def _(me):
    if LIBC.prctl(28, 0x2F, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attempt("new-privileges", "lets programs that it starts gain rights", "is what an ordinary process has from the start")
def _(me):
    if LIBC.prctl(39, 0, 0, 0, 0) != 0:
        raise Held("no new privileges: set")


@attempt("setuid-program-su", "runs `su`", ROOT)
def _(me):
    run("su", "-c", "true", "root")


@attempt("setuid-program-sudo", "runs `sudo`", ROOT)
def _(me):
    run("sudo", "-n", "true")


@attempt("setuid-program-runs-as-root", "runs `mount`, which is setuid root", ROOT)
def _(me):
    os.mkdir("point")
    run("mount", "-t", "tmpfs", "none", "point")


@attempt("setuid-program-newgrp", "runs `newgrp`", ROOT)
def _(me):
    if "uid=0" not in run("newgrp", "root"):
        raise Held("it is itself still")


@attempt("setuid-program-newuidmap", "maps users by `newuidmap`", ROOT)
def _(me):
    run("newuidmap", str(os.getpid()), "0", "0", "1")


@attempt("policy-kit", "asks for root by `pkexec`", ROOT)
def _(me):
    run("pkexec", "--disable-internal-agent", "true")


@attempt("raise-open-files", "raises its limit of open files", ROOT)
def _(me):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))


def unlimited(name, number, what):
    @attempt(f"raise-{name}", f"raises its limit of {what}", "is what an ordinary process may do where no limit holds")
    def _(me):
        if resource.getrlimit(number)[1] == resource.RLIM_INFINITY:
            return
        resource.setrlimit(number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


unlimited("processes", resource.RLIMIT_NPROC, "processes")
unlimited("memory", resource.RLIMIT_DATA, "memory")
unlimited("file-size", resource.RLIMIT_FSIZE, "a file's size")
unlimited("processor-time", resource.RLIMIT_CPU, "processor time")
unlimited("core-size", resource.RLIMIT_CORE, "a memory image's size, which the kernel writes outside")
unlimited("real-time-priority", resource.RLIMIT_RTPRIO, "real-time priority")
unlimited("locked-memory", resource.RLIMIT_MEMLOCK, "memory that is never swapped")


@attempt("limits-of-parent", "raises the limits of the process above it", ROOT)
def _(me):
    new = struct.pack("QQ", 1 << 40, 1 << 40)
    syscall("prlimit64", os.getppid(), resource.RLIMIT_NOFILE, ctypes.create_string_buffer(new), 0)
