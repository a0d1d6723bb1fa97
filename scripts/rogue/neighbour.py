#!/usr/bin/env python3
"""Plays the user's own processes outside the sandbox: holds shared memory, messages and semaphores until its input ends.

    neighbour.py KEY TOKEN SECRET       prints one JSON line with their numbers when they are there
"""

import ctypes
import json
import os
import sys

KEY, TOKEN, SECRET = int(sys.argv[1]), sys.argv[2], sys.argv[3]
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.shmat.restype = ctypes.c_void_p
MODE = 0o1666


def main():
    """Creates everything, reports the ids on one line, and waits for the end of its input."""
    files = [f"/dev/shm/{TOKEN}", f"/dev/shm/{TOKEN}-spare", f"/dev/shm/sem.{TOKEN}"]
    os.umask(0)
    for path in files:
        with open(path, "w") as file:
            file.write("canary\n")
    msg, shm, sem = LIBC.msgget(KEY, MODE), LIBC.shmget(KEY, 4096, MODE), LIBC.semget(KEY, 1, MODE)
    address = LIBC.shmat(shm, None, 0)
    if address not in (None, ctypes.c_void_p(-1).value):
        ctypes.memmove(address, SECRET.encode(), len(SECRET))
    message = ctypes.create_string_buffer((1).to_bytes(8, sys.byteorder) + b"rogue", 16)
    LIBC.msgsnd(msg, message, 5, 0o4000)
    queue = LIBC.mq_open(("/" + TOKEN).encode(), os.O_RDWR | os.O_CREAT, 0o666, None)
    print(json.dumps({"msg": msg, "shm": shm, "sem": sem, "queue": queue}), flush=True)
    sys.stdin.read()
    for path in files:
        if os.path.exists(path):
            os.unlink(path)
    LIBC.msgctl(msg, 0, None)
    LIBC.shmctl(shm, 0, None)
    LIBC.semctl(sem, 0, 0)
    LIBC.mq_unlink(("/" + TOKEN).encode())


main()
