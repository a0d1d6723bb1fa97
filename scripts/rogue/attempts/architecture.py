"""Other sets of system call numbers of the same kernel: the 32-bit gate (`int 0x80`) and x32."""

import ctypes
import mmap
import os
import struct

from .base import LIBC, Held, numbered, table

attempt = table("architecture")
LOW = 0x40  # MAP_32BIT: pointers of a 32-bit call must fit.
NEEDS = "x86_64, and a kernel that takes 32-bit calls"
X32 = "a kernel that takes x32 calls"
X32_BIT = 0x40000000
# push rbx; mov eax, edi; mov ebx, esi; mov r8d, ecx; mov ecx, edx; mov edx, r8d; int 0x80; pop rbx; ret
CODE = bytes.fromhex("53 89f8 89f3 4189c8 89d1 4489c2 cd80 5b c3")


def memory(data, access):
    """Returns the address of a copy of `data` below 4 GiB."""
    LIBC.mmap.restype = ctypes.c_void_p
    address = LIBC.mmap(None, ctypes.c_size_t(4096), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | LOW, -1, ctypes.c_long(0))
    if address is None or address == ctypes.c_void_p(-1).value:
        raise Held("no memory below 4 GiB")
    ctypes.memmove(address, data, len(data))
    if access != 3 and LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(4096), access) != 0:
        raise Held("no memory that can be executed")
    return address


def text(data):
    return memory(data + b"\0", 3)


def old(number, *args):
    """Makes a call of 32 bits; a kernel without them ends this process."""
    if os.uname().machine != "x86_64":
        raise Held("not this architecture")
    gate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(memory(CODE, 5))
    result = gate(number, *(list(args) + [0, 0, 0])[:3])
    if -4096 < result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def by_interrupt(name, what, act, judged="result"):
    @attempt(f"int80-{name}", f"32-bit call: {what}", NEEDS, judged)
    def _(me):
        act(me)


by_interrupt("any", "any at all", lambda me: old(20))
by_interrupt("socket", "makes a socket", lambda me: old(359, 1, 1, 0))
by_interrupt("socketcall", "makes a socket by the call of old", lambda me: old(102, 1, memory(struct.pack("III", 2, 1, 0), 3)))
by_interrupt("open", "overwrites a file outside", lambda me: old(5, text(me.canary.encode()), os.O_WRONLY | os.O_TRUNC), "outside")
by_interrupt("ptrace", "traces a process", lambda me: old(26, 0, 0, 0))
by_interrupt("unshare", "opens a user namespace", lambda me: old(310, 0x10000000))
by_interrupt("mount", "mounts", lambda me: old(21, 0, text(b"/"), 0))
by_interrupt("keyctl", "finds a keyring", lambda me: old(288, 0, -4 & 0x7FFFFFFF, 0))
by_interrupt("setuid-bit", "setuid bit", lambda me: old(15, text(prepared()), 0o4755))
by_interrupt("scheduler", "the processors of process 1", lambda me: old(241, 1, 4, memory(b"\x01" + bytes(3), 3)))
by_interrupt("memory-file", "makes a file that lies in no folder", lambda me: old(356, text(b"rogue"), 0))


def prepared():
    with open("program", "w"):
        return os.path.abspath("program").encode()


def by_x32(name, what, number, *args):
    @attempt(f"x32-{name}", f"x32 call: {what}", X32)
    def _(me):
        if os.uname().machine != "x86_64":
            raise Held("not this architecture")
        numbered(X32_BIT | number, *args)


PARAMS = ctypes.create_string_buffer(256)
by_x32("any", "any at all", 39)
by_x32("socket", "makes a socket", 41, 1, 1, 0)
by_x32("ptrace", "traces, by the number of 64 bits", 101, 0, 0, 0, 0)
by_x32("ptrace-own-number", "traces, by x32's own number", 521, 0, 0, 0, 0)
by_x32("unshare", "opens a user namespace", 272, 0x10000000)
by_x32("memory-read", "reads other memory, by x32's own number", 539, 1, PARAMS, 1, PARAMS, 1, 0)
by_x32("kexec", "loads another kernel, by x32's own number", 528, 0, 0, 0, 0)
by_x32("io-uring", "has the kernel make calls", 425, 4, PARAMS)


@attempt("call-number-high-bits", "makes a call by a number with more bits than the kernel reads", "a kernel that reads only the low bits")
def _(me):
    numbered((1 << 32) | 101, 0, 0, 0, 0)


@attempt("x32-bit-twice", "makes a call by a number with the x32 bit and one above it", X32)
def _(me):
    numbered((1 << 31) | X32_BIT | 41, 1, 1, 0)
