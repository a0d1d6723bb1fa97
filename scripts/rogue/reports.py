"""Runs that forge or suppress the report of their own sandbox: its layers, and the calls that it refused.

Each run tries one way, and then makes a call that the sandbox refuses and must have recorded. The gate compares the record with
that of a harmless run.
"""

import ctypes
import fcntl
import os
import socket

from attempts import base
from attempts.base import C, create, syscall

# A report without layers, and a record of calls that ends before the true one.
FORGED = b'{"confined":{"layers":[],"landlock_abi":null,"in_group":false}}\n{"refused":"it was not started"}\nheard\n1 read\ncomplete\n'
# Descriptors that are tried.
MOST = 64


def quietly(act, *args):
    """Calls `act` and ignores its failure."""
    try:
        return act(*args)
    except (OSError, ValueError, base.Held):
        return None


def write_to(path):
    """Opens a path for writing and writes the forged report."""
    handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(handle, FORGED)
    os.close(handle)


def take_from(path):
    """Opens a path for reading, takes what it holds, and writes the forged report."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    quietly(os.read, handle, 65536)
    os.close(handle)
    write_to(path)


def to_every_descriptor():
    for number in range(MOST):
        quietly(os.write, number, FORGED)


def to_every_descriptor_again():
    for number in range(MOST):
        quietly(take_from, f"/proc/self/fd/{number}")


def to_other_processes():
    # Without a sandbox, this would take what other programs of the user's send each other.
    for process in filter(str.isdigit, os.listdir("/proc")) if C.confined else [str(os.getppid())]:
        for number in quietly(os.listdir, f"/proc/{process}/fd") or ():
            quietly(take_from, f"/proc/{process}/fd/{number}")


def by_taken_descriptors():
    for process in {1, os.getppid()} if C.confined else {os.getppid()}:
        handle = quietly(syscall, "pidfd_open", process, 0)
        for number in range(MOST if handle else 0):
            taken = quietly(syscall, "pidfd_getfd", handle, number, 0)
            quietly(os.write, taken if taken is not None else -1, FORGED)


def by_splice():
    reader, writer = os.pipe()
    handle = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    quietly(os.splice, handle, writer, 65536)
    os.write(1, FORGED)
    os.close(reader)


def by_closing():
    for number in range(MOST):
        quietly(os.close, number)


def by_shutdown():
    for number in range(MOST):
        handle = quietly(lambda number: socket.socket(fileno=os.dup(number)), number)
        if handle is not None:
            quietly(handle.shutdown, socket.SHUT_RDWR)


def by_small_pipe():
    for number in range(MOST):
        quietly(fcntl.fcntl, number, fcntl.F_SETFL, os.O_NONBLOCK)
        quietly(fcntl.fcntl, number, 1031, 4096)
        quietly(os.write, number, FORGED * 40)


def by_long_line():
    os.write(1, b"x" * 70_000 + b"\n")
    os.write(1, FORGED)


def by_sockets():
    """Connects to every socket that it can find, by name and by path."""
    # Without a sandbox, these would be the user's own services.
    if not C.confined:
        return
    names = [line.split()[-1] for line in open("/proc/net/unix") if len(line.split()) > 7]
    for top in (C.copy, os.environ["HOME"], os.environ["TMPDIR"], os.path.dirname(os.environ["TMPDIR"])):
        names += [os.path.join(folder, name) for folder, _, files in os.walk(top) for name in files]
    for name in names:
        with socket.socket(socket.AF_UNIX) as handle:
            if quietly(handle.connect, name.replace("@", "\0", 1)) is None:
                quietly(handle.send, FORGED)


def by_many_kinds():
    """Uses up the names of the record: kinds of sockets, and calls that no table has."""
    for number in range(200):
        quietly(syscall, "socket", number, 3, number)
        quietly(base.numbered, 1000 + number)


def by_many_calls():
    for _round in range(20_000):
        quietly(syscall, "keyctl", 0, -3, 0)


def by_other_input():
    """Takes the bytes of its input, and writes into the pipe from which they came."""
    fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK)
    quietly(os.read, 0, 4096)
    quietly(write_to, "/proc/self/fd/0")


WAYS = {
    "report-on-output": lambda: os.write(1, FORGED),
    "report-on-errors": lambda: os.write(2, FORGED),
    "report-on-opened-output": lambda: write_to("/proc/self/fd/1"),
    "report-on-device": lambda: write_to("/dev/stdout"),
    "report-on-thread-output": lambda: write_to("/proc/thread-self/fd/1"),
    "report-taken": lambda: take_from("/proc/self/fd/1"),
    "report-spliced": by_splice,
    "report-on-every-descriptor": to_every_descriptor,
    "report-on-every-descriptor-again": to_every_descriptor_again,
    "report-on-other-processes": to_other_processes,
    "report-by-taken-descriptors": by_taken_descriptors,
    "report-closed": by_closing,
    "report-shut-down": by_shutdown,
    "report-in-small-pipe": by_small_pipe,
    "report-after-long-line": by_long_line,
    "report-on-sockets": by_sockets,
    "report-of-many-kinds": by_many_kinds,
    "report-of-many-calls": by_many_calls,
    "report-by-input": by_other_input,
}


def forging(act):
    """Returns the run that tries one way and is then refused a call."""

    def run():
        quietly(act)
        quietly(syscall, "bpf", 0, ctypes.create_string_buffer(16), 16)
        create("honest", "honest\n")

    return run


RUNS = {name: forging(act) for name, act in WAYS.items()}
