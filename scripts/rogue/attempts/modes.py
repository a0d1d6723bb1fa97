"""Setuid and setgid bits on the real disk, and other marks that give a file rights for its next user."""

import ctypes
import os
import shutil
import stat
import struct
import subprocess

from .base import ROOT, Held, create, link_open, syscall, table

attempt = table("modes")


def has_bits(path, bits=stat.S_ISUID | stat.S_ISGID):
    mode = os.stat(path).st_mode
    if not mode & bits:
        raise Held(f"the file has mode {mode:o}")


def own(name="program"):
    shutil.copyfile("/bin/true", name)
    return name


def changed(label, what, act, needs=None):
    @attempt(f"setuid-{label}", what, needs)
    def _(me):
        path = own()
        act(path)
        has_bits(path)


changed("chmod", "setuid bit by `chmod`", lambda path: os.chmod(path, 0o4755))
changed("chmod-setgid", "setgid bit by `chmod`", lambda path: os.chmod(path, 0o2755))
changed("chmod-both", "both bits by `chmod`", lambda path: os.chmod(path, 0o6777))
changed("chmod-high-bits", "setuid bit with more bits than a mode has", lambda path: syscall("fchmodat", -100, path.encode(), 0xFFFF4755))
changed("fchmod", "setuid bit by `fchmod`", lambda path: os.fchmod(os.open(path, os.O_RDONLY), 0o4755))
changed("fchmodat", "setuid bit by `fchmodat`", lambda path: syscall("fchmodat", os.open(".", os.O_PATH), path.encode(), 0o4755))
changed("fchmodat2", "setuid bit by `fchmodat2`", lambda path: syscall("fchmodat2", -100, path.encode(), 0o4755, 0), "Linux 6.6")
changed("old-chmod", "setuid bit by the `chmod` of old", lambda path: syscall("chmod", path.encode(), 0o4755), "x86_64")
changed("proc-fd", "setuid bit through /proc/self/fd", lambda path: os.chmod(f"/proc/self/fd/{os.open(path, os.O_PATH)}", 0o4755))
changed("program", "setuid bit by the program `chmod`", lambda path: subprocess.run(["chmod", "u+s", path], capture_output=True, check=False))


def made(label, what, act, needs=None):
    @attempt(f"setuid-{label}", what, needs)
    def _(me):
        os.umask(0)
        act("made")
        has_bits("made")


made("open", "makes a setuid file by `openat`", lambda path: os.open(path, os.O_WRONLY | os.O_CREAT, 0o4755))
made("open-exclusive", "makes a setgid file by `openat` with O_EXCL", lambda path: os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o2755))
made("old-open", "makes a setuid file by `open`", lambda path: syscall("open", path.encode(), os.O_WRONLY | os.O_CREAT, 0o4755), "x86_64")
made("creat", "makes a setuid file by `creat`", lambda path: syscall("creat", path.encode(), 0o4755), "x86_64")
made("mknod", "makes a setuid file by `mknodat`", lambda path: syscall("mknodat", -100, path.encode(), stat.S_IFREG | 0o4755, 0))
made("old-mknod", "makes a setuid file by `mknod`", lambda path: syscall("mknod", path.encode(), stat.S_IFREG | 0o4755, 0), "x86_64")
made("mknod-no-kind", "makes a setuid file by `mknodat` without a kind", lambda path: syscall("mknodat", -100, path.encode(), 0o4755, 0))
made("install", "makes a setuid file by `install -m 4755`", lambda path: subprocess.run(["install", "-m", "4755", "/bin/true", path], capture_output=True, check=False))


@attempt("setuid-openat2", "makes a setuid file by `openat2`, whose mode no filter can read", "Linux 5.6")
def _(me):
    os.umask(0)
    how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o4755, 0), 24)
    syscall("openat2", -100, b"made", how, 24)
    has_bits("made")


@attempt("setuid-unnamed-file", "makes a setuid file without a name and links it")
def _(me):
    os.umask(0)
    handle = os.open(".", os.O_WRONLY | os.O_TMPFILE, 0o4755)
    link_open(handle, "made")
    has_bits("made")


@attempt("setuid-in-home", "setuid bit on a file of its home")
def _(me):
    path = own(os.path.join(os.environ.get("HOME", "/tmp") if os.access(os.environ.get("HOME", "/"), os.W_OK) else ".", "rogue-home"))
    os.chmod(path, 0o4755)
    has_bits(path)
    os.unlink(path)


@attempt("setuid-in-temporary-folder", "setuid bit on a file of its temporary folder")
def _(me):
    path = own(os.path.join(os.environ.get("TMPDIR", "/tmp"), "rogue-tmp"))
    os.chmod(path, 0o4755)
    has_bits(path)
    os.unlink(path)


@attempt("setgid-folder", "setgid bit on a folder, which new files inherit")
def _(me):
    os.mkdir("folder")
    os.chmod("folder", 0o2777)
    has_bits("folder")


@attempt("setuid-by-tar", "unpacks an archive with a setuid file")
def _(me):
    import io
    import tarfile

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        entry = tarfile.TarInfo("made")
        entry.mode = 0o4755
        archive.addfile(entry)
    subprocess.run(["tar", "-xpf", "-"], input=data.getvalue(), capture_output=True, check=False)
    has_bits("made")


@attempt("setuid-by-rsync-like-copy", "copies a setuid program with its mode")
def _(me):
    source = next((path for path in ("/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount") if os.path.exists(path)), None)
    if source is None:
        raise Held("there is no setuid program")
    subprocess.run(["cp", "-p", source, "made"], capture_output=True, check=False)
    subprocess.run(["cp", "--preserve=mode", source, "made"], capture_output=True, check=False)
    os.chmod("made", os.stat(source).st_mode & 0o7777)
    has_bits("made")


@attempt("file-capability", "gives a program a capability", ROOT)
def _(me):
    path = own()
    os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, 0x1, 0, 0, 0))


@attempt("file-capability-of-namespace", "gives a program a capability of its user namespace", ROOT)
def _(me):
    path = own()
    os.setxattr(path, "security.capability", struct.pack("<IIIIII", 0x03000001, 0x1, 0, 0, 0, os.getuid()))


@attempt("trusted-overlay-attribute", "sets overlayfs's own marks in the trusted namespace", ROOT)
def _(me):
    os.mkdir("folder")
    os.setxattr("folder", "trusted.overlay.opaque", b"y")


@attempt("security-attribute", "sets an attribute of a security module", ROOT)
def _(me):
    create("own")
    os.setxattr("own", "security.rogue", b"y")


@attempt("immutable-file", "makes a file that nobody can delete", ROOT)
def _(me):
    import fcntl

    create("own")
    fcntl.ioctl(os.open("own", os.O_RDONLY), 0x40086602, struct.pack("l", 0x10))
