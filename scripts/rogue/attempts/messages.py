"""Memory, messages and semaphores shared between processes: those of the outside are another namespace's."""

import ctypes
import os

from .base import C, Held, create, read, syscall, table

attempt = table("messages")
READ = 0o400


def key(name, what, call, *args):
    @attempt(name, what)
    def _(me):
        syscall(call, C.key, *args)


key("queue-by-key", "a message queue of the outside", "msgget", 0)
key("memory-by-key", "shared memory of the outside", "shmget", 0, 0)
key("semaphores-by-key", "semaphores of the outside", "semget", 0, 0)


def listed(name, what, path):
    @attempt(name, what)
    def _(me):
        with open(path) as file:
            rows = [line.split() for line in file.readlines()[1:]]
        # Of its own making there is none.
        if not any(row[0] == str(C.key) for row in rows):
            raise Held("those of the outside are not there")


listed("queues-listed", "the machine's message queues", "/proc/sysvipc/msg")
listed("memory-listed", "the machine's shared memory", "/proc/sysvipc/shm")
listed("semaphores-listed", "the machine's semaphores", "/proc/sysvipc/sem")


@attempt("memory-by-number", "shared memory of the outside, attached by its number")
def _(me):
    address = ctypes.CDLL(None, use_errno=True)
    address.shmat.restype = ctypes.c_void_p
    found = address.shmat(C.shm, None, 0o10000)
    if found in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    if C.hint.encode() not in ctypes.string_at(found, 64):
        raise Held("it is other memory")


@attempt("queue-receive", "a message for another process")
def _(me):
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(128)
    if library.msgrcv(C.msg, buffer, 100, 0, 0o4000 | 0o20000) < 0:
        code = ctypes.get_errno()
        # MSG_COPY leaves the message where it is; a kernel without it says ENOSYS.
        if code != 38:
            raise OSError(code, "msgrcv")


@attempt("posix-queue", "a POSIX message queue of the outside", "a kernel with message queues")
def _(me):
    os.close(syscall("mq_open", C.token.encode(), os.O_RDWR, 0, 0))


@attempt("posix-queue-folder", "the folder of message queues", "a machine that mounts it")
def _(me):
    os.listdir("/dev/mqueue")


@attempt("posix-semaphore", "a POSIX semaphore of the outside")
def _(me):
    os.stat(f"/dev/shm/sem.{C.token}")


@attempt("shared-memory-read", "shared memory of the outside, by its file")
def _(me):
    return read("/dev/shm/" + C.token)


@attempt("shared-memory-list", "the names of shared memory of the outside")
def _(me):
    if C.token not in os.listdir("/dev/shm"):
        raise Held("it is not there")


@attempt("shared-memory-delete", "deletes shared memory of the outside")
def _(me):
    os.unlink(f"/dev/shm/{C.token}-spare")


@attempt("shared-memory-left", "leaves shared memory that another run finds", judged="outside")
def _(me):
    create(f"/dev/shm/{C.token}-{me.name}")
    raise Held("the gate looks whether it is there")


@attempt("temporary-file-left", "leaves a file in /tmp that another run finds", judged="outside")
def _(me):
    create(f"/tmp/{C.token}-{me.name}")
    raise Held("the gate looks whether it is there")
