"""Namespaces and mounts: a new view of the machine in which another rule holds."""

import ctypes
import os
import signal
import struct
import subprocess

from .base import KERNEL, ROOT, C, Held, first, reaches, run, syscall, table

attempt = table("namespaces")
FLAGS = {
    "user": 0x10000000, "mount": 0x00020000, "process": 0x20000000, "network": 0x40000000, "ipc": 0x08000000,
    "host-name": 0x04000000, "cgroup": 0x02000000, "time": 0x00000080,
}


def opened(kind, flag):
    needs = "user namespaces for everybody" if kind == "user" else ROOT

    @attempt(f"unshare-{kind}", f"opens a {kind} namespace by `unshare`", needs if kind != "user" else None)
    def _(me):
        syscall("unshare", flag)

    if kind == "time":
        # `clone` reads these bits as its signal.
        return

    @attempt(f"clone-{kind}", f"opens a {kind} namespace by `clone`", needs if kind != "user" else None)
    def _(me):
        result = syscall("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
        if result == 0:
            os._exit(0)
        os.waitpid(result, 0)


for kind, flag in FLAGS.items():
    opened(kind, flag)


@attempt("unshare-all-at-once", "opens a user namespace with all others in it")
def _(me):
    syscall("unshare", 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000)


@attempt("clone-high-bits", "opens a user namespace by flags with more bits than the kernel reads")
def _(me):
    result = syscall("clone", (1 << 40) | FLAGS["user"] | signal.SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    os.waitpid(result, 0)


@attempt("clone3-user-namespace", "opens a user namespace by `clone3`")
def _(me):
    args = ctypes.create_string_buffer(struct.pack("QQQQQQQQ", FLAGS["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    result = syscall("clone3", args, 64)
    if result == 0:
        os._exit(0)
    os.waitpid(result, 0)


@attempt("user-namespace-by-program", "opens a user namespace by `unshare`, the program")
def _(me):
    run("unshare", "-Ur", "true")


@attempt("mount-in-user-namespace", "mounts in a namespace of its own", "a system that lets everybody mount in a namespace")
def _(me):
    run("unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt")


@attempt("sandbox-of-others", "starts its own sandbox by `bwrap`", "bubblewrap")
def _(me):
    run("bwrap", "--ro-bind", "/", "/", "true")


def entered(process, kind):
    @attempt(f"enter-{kind}-of-{'process-1' if process == 1 else 'victim'}", f"enters the {kind} namespace of another process", ROOT)
    def _(me):
        handle = os.open(f"/proc/{process if process == 1 else C.victim}/ns/{kind}", os.O_RDONLY)
        syscall("setns", handle, 0)


for kind in ("mnt", "net", "pid", "user", "ipc", "uts", "cgroup", "time"):
    entered(1, kind)
for kind in ("mnt", "net", "user", "ipc"):
    entered(0, kind)


@attempt("enter-by-process-handle", "enters all namespaces of a process by its handle", ROOT)
def _(me):
    syscall("setns", os.pidfd_open(1), 0x00020000 | 0x40000000)


@attempt("enter-own", "enters a namespace at all", ROOT)
def _(me):
    syscall("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0)


@attempt("user-map", "changes the map of its user namespace", ROOT)
def _(me):
    with open("/proc/self/uid_map", "w") as file:
        file.write("0 0 4294967295")


@attempt("user-map-of-process-1", "changes the map of process 1", ROOT)
def _(me):
    with open("/proc/1/uid_map", "w") as file:
        file.write("0 0 4294967295")


mounting = table("mounts")


def mounted(name, what, act, needs=ROOT):
    @mounting(name, what, needs)
    def _(me):
        os.mkdir("point")
        act()


mounted("mount", "mounts a file system in memory", lambda: reaches("mount", b"tmpfs", b"point", b"tmpfs", 0, 0))
mounted("mount-bind", "shows a folder at another place", lambda: reaches("mount", b"/", b"point", 0, 4096, 0))
mounted("mount-proc", "mounts another /proc", lambda: reaches("mount", b"proc", b"point", b"proc", 0, 0))
mounted("mount-sysfs", "mounts /sys", lambda: reaches("mount", b"sysfs", b"point", b"sysfs", 0, 0))
mounted("mount-cgroup", "mounts the control groups", lambda: reaches("mount", b"cgroup2", b"point", b"cgroup2", 0, 0))
mounted("mount-devices", "mounts the machine's devices", lambda: reaches("mount", b"devtmpfs", b"point", b"devtmpfs", 0, 0))
mounted("mount-overlay", "mounts an overlay", lambda: reaches("mount", b"overlay", b"point", b"overlay", 0, b"lowerdir=/,upperdir=.,workdir=."))
mounted("mount-queue", "mounts the message queues", lambda: reaches("mount", b"mqueue", b"point", b"mqueue", 0, 0))
mounted("remount-writable", "makes a system folder writable", lambda: reaches("mount", 0, b"/usr", 0, 4096 | 32, 0))
mounted("remount-root", "makes the root writable", lambda: reaches("mount", 0, b"/", 0, 4096 | 32, 0))
mounted("mount-shared", "has its mounts seen outside", lambda: reaches("mount", 0, b"/", 0, 1 << 20 | 16384, 0))
mounted("unmount", "takes a mount away", lambda: reaches("umount2", b"/tmp", 2))
mounted("unmount-proc", "takes /proc away", lambda: reaches("umount2", b"/proc", 2))
mounted("unmount-program", "takes a mount away by `umount`", lambda: run("umount", "-l", "/tmp"))
mounted("pivot-root", "changes its root", lambda: reaches("pivot_root", b".", b"point"))
mounted("change-root", "changes its root by `chroot`", lambda: os.chroot("."))
mounted("move-mount", "moves a mount", lambda: reaches("move_mount", -100, b"/tmp", -100, b"point", 0))
mounted("open-file-system", "opens a file system by the new calls", lambda: reaches("fsopen", b"tmpfs", 0))
mounted("open-file-system-proc", "opens /proc by the new calls", lambda: reaches("fsopen", b"proc", 0))
mounted("configure-file-system", "configures a file system by the new calls", lambda: reaches("fsconfig", 0, 6, 0, 0, 0))
mounted("mount-file-system", "mounts a file system by the new calls", lambda: reaches("fsmount", 0, 0, 0))
mounted("pick-file-system", "changes a mounted file system by the new calls", lambda: reaches("fspick", -100, b"/", 0))
mounted("mount-attributes", "changes the rights of a mount", lambda: reaches("mount_setattr", -100, b"/", 0, ctypes.create_string_buffer(32), 32))
mounted("mount-attributes-idmap", "maps the owners of a mount", lambda: reaches("mount_setattr", -100, b"/tmp", 0, ctypes.create_string_buffer(struct.pack("QQQQ", 0x100000, 0, 0, 0)), 32))
mounted("open-tree-copy", "copies a mount", lambda: reaches("open_tree", -100, b"/", 1))
mounted("open-tree-plain", "names a mount", lambda: reaches("open_tree", -100, b"/", 0), KERNEL)
mounted("open-tree-attributes", "copies a mount with other rights by the call of Linux 6.15", lambda: reaches("open_tree_attr", -100, b"/", 1, ctypes.create_string_buffer(32), 32))
mounted("quota-by-handle", "asks for quotas by a handle", lambda: reaches("quotactl_fd", os.open(".", os.O_RDONLY), 0x80000700, 0, 0), "a file system with quotas")


@mounting("fuse", "serves a file system itself", "FUSE for everybody")
def _(me):
    first(("/dev/fuse",), lambda place: os.open(place, os.O_RDWR))


@mounting("fuse-program", "mounts by `fusermount3`, which is setuid root", "FUSE for everybody")
def _(me):
    os.mkdir("point")
    run("fusermount3", "-o", "ro", "point")


@mounting("automount-service", "has a service mount a disk", "a service that mounts for users")
def _(me):
    run("udisksctl", "mount", "-b", "/dev/vda")


@mounting("loop-device", "makes a disk of a file", ROOT)
def _(me):
    subprocess.run(["truncate", "-s", "1M", "disk"], check=True)
    run("losetup", "-f", "disk")


def managers():
    """Folders of tool managers, such as `~/.pyenv`: where the search path leads there, the parts that its programs read are shown."""
    for place in os.environ["PATH"].split(":"):
        parts = place.split("/")
        hidden = [number for number, part in enumerate(parts) if part.startswith(".")]
        if hidden:
            home = "/".join(parts[: hidden[0]])
            yield from (f"{home}/{parts[hidden[0]]}", f"{home}/.rustup")


@mounting("mounts-of-the-outside", "sees where the disks of the outside are mounted", "is what /proc/self/mountinfo shows an ordinary process")
def _(me):
    # The sandbox's own mounts name the folder below them; mounts of anything else belong to the outside.
    own = ("/proc", "/dev", "/tmp", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt")
    own += tuple(managers())
    places = [line.split()[4] for line in open("/proc/self/mountinfo")]
    other = [place for place in places if place != "/" and not place.startswith(own) and not place.startswith((os.path.dirname(C.repository), C.caches)) and not place.startswith(tuple(os.environ["PATH"].split(":")))]
    if not other:
        raise Held("only its own are there")


