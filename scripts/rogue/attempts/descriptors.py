"""Descriptors that were open when the tool was started, and what its standard streams lead to."""

import os
import stat

from .base import C, Held, table

attempt = table("descriptors")


def numbers():
    return [int(name) for name in os.listdir("/proc/self/fd")]


def link(number):
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


@attempt("inherited-descriptor", "writes to a file of the outside that was open", "a descriptor that nobody closed", "outside")
def _(me):
    for number in range(3, 4096):
        if link(number).startswith(C.outside):
            os.write(number, b"rogue")
            return
    raise Held("no descriptor of the outside is open")


@attempt("inherited-folder", "goes outside by a folder that was open", "a descriptor that nobody closed")
def _(me):
    for number in range(3, 4096):
        try:
            if stat.S_ISDIR(os.fstat(number).st_mode) and not link(number).startswith(("/proc", C.copy)):
                os.stat("..", dir_fd=number)
                return
        except OSError:
            continue
    raise Held("no folder is open")


@attempt("inherited-socket", "speaks over a socket that was open", "a descriptor that nobody closed")
def _(me):
    for number in range(3, 4096):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return
        except OSError:
            continue
    raise Held("no socket is open")


@attempt("inherited-anything", "has any descriptor other than three streams", "a descriptor that nobody closed")
def _(me):
    found = [number for number in C.inherited if number > 2]
    if not found:
        raise Held("only three streams are open")


@attempt("stream-is-terminal", "has the user's terminal as a stream", "a terminal that it was started from")
def _(me):
    if not any(os.isatty(number) for number in range(3)):
        raise Held("no stream is one")


def again(number, name):
    @attempt(f"stream-{name}-again", f"opens its {name} again in another direction, which may be a file of the outside", "a stream that is a file")
    def _(me):
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise Held("it is no file")
        os.close(os.open(f"/proc/self/fd/{number}", os.O_RDWR))


again(0, "input")
again(1, "output")
again(2, "error-stream")


@attempt("stream-socket-peer", "has a stream that is a socket, over which descriptors can be sent", "a stream that is a socket")
def _(me):
    if not any(stat.S_ISSOCK(os.fstat(number).st_mode) for number in range(3)):
        raise Held("no stream is one")


@attempt("descriptor-of-parent", "opens a descriptor of the process that started it", "is started by a process of its own user that may be looked into")
def _(me):
    # Process 1 of a sandbox holds the parent's pipes.
    for name in os.listdir("/proc/1/fd"):
        os.close(os.open(f"/proc/1/fd/{name}", os.O_RDWR))
        return
    raise Held("it has none")


@attempt("streams-at-end", "has a descriptor that leads to the gate's own files", "a descriptor that nobody closed")
def _(me):
    if not any(C.outside in link(number) or C.repository + "/.git/agentos/tape" in link(number) for number in numbers()):
        raise Held("none")
