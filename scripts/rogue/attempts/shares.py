"""Folders of the outside that the user shows a tool (`--read`, `--share`): to be read, never written."""

import os

from .base import C, Held, append, beyond_mounts, create, table

attempt = table("shares")
OUT = "outside"
NEEDS = "the folder at its place in the tool's copy"


def shown(name, what, act, needs=None, place=lambda: C.shown):
    @attempt(name, what, needs, OUT)
    def _(me):
        act(place())


def shared(name, what, act):
    shown(name, what, act, NEEDS, lambda: C.copy + "/target")


for name, act, what in (
    ("append", lambda at: append(at + "/file"), "appends to a file"),
    ("create", lambda at: create(at + "/rogue"), "makes a file"),
    ("delete", lambda at: os.unlink(at + "/spare"), "deletes a file"),
    ("rename", lambda at: os.rename(at + "/movable", at + "/moved"), "renames a file"),
    ("mode", lambda at: os.chmod(at + "/file", 0o777), "changes permissions"),
    ("times", lambda at: os.utime(at + "/file", (1, 1)), "changes times, by which two runs could speak"),
    ("link-out", lambda at: os.link(at + "/file", at + "/hard"), "makes a hard link"),
    ("attribute", lambda at: os.setxattr(at + "/file", "user.rogue", b"1"), "sets an attribute"),
    ("fifo", lambda at: os.mkfifo(at + "/rogue-fifo"), "makes a FIFO"),
    ("proc-root", lambda at: append("/proc/self/root" + at + "/file"), "appends through /proc/self/root"),
):
    shown(f"read-folder-{name}", f"{what} in a folder shown by `--read`", act)
    shared(f"shared-folder-{name}", f"{what} in a folder shown by `--share`", act)


@attempt("read-folder-above", "the folder above one that is shown")
def _(me):
    beyond_mounts(C.shown + "/..")


@attempt("shared-folder-above", "the folder above one that is shared", NEEDS)
def _(me):
    # `..` of a mount leads to what it is mounted in.
    if os.path.exists(C.copy + "/target/../.env"):
        return
    raise Held("it is its own copy")


@attempt("read-folder-link", "a link in a folder that is shown, which leads outside")
def _(me):
    os.stat(C.shown + "/link-outside")


@attempt("shared-folder-replace", "replaces a shared folder by its own", NEEDS, OUT)
def _(me):
    os.rename(C.copy + "/target", C.copy + "/target-gone")
