"""Devices, /proc, /sys and terminals: the kernel's and the machine's interfaces as files."""

import ctypes
import fcntl
import os
import stat
import struct

from .base import KERNEL, ROOT, C, Held, first, syscall, table

attempt = table("interfaces")


def opened(name, what, *places, flags=os.O_RDWR, needs="such a device, and rights to it"):
    @attempt(name, what, needs)
    def _(me):
        first(places, lambda place: real(os.open(place, flags | os.O_NONBLOCK)))


def real(handle):
    """Closes what was opened; a null device in the place of something else hides it, and leads nowhere."""
    about = os.fstat(handle)
    os.close(handle)
    if stat.S_ISCHR(about.st_mode) and about.st_rdev == os.makedev(1, 3):
        raise Held("a null device stands in its place")


opened("device-memory", "the machine's memory", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore")
opened("device-kernel-log", "the kernel's log", "/dev/kmsg", "/proc/kmsg", flags=os.O_RDONLY)
opened("device-disks", "the machine's disks", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/dm-0", "/dev/loop0", "/dev/loop-control")
opened("device-virtual-machines", "virtual machines", "/dev/kvm", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/vsock")
opened("device-tunnel", "a network of its own making", "/dev/net/tun", "/dev/ppp")
opened("device-input", "the machine's keyboard", "/dev/input/event0", "/dev/uinput", "/dev/uhid")
opened("device-graphics", "the machine's screen", "/dev/dri/card0", "/dev/dri/renderD128", "/dev/fb0", "/dev/nvidia0")
opened("device-sound", "the machine's microphone", "/dev/snd/controlC0", "/dev/video0", "/dev/media0")
opened("device-console", "the machine's console", "/dev/console", "/dev/tty0", "/dev/tty1", "/dev/vcs")
opened("device-serial", "a serial line", "/dev/ttyS0", "/dev/hvc0", "/dev/ttyUSB0")
opened("device-terminals", "new terminals", "/dev/ptmx", "/dev/pts/ptmx")
opened("device-hardware", "the machine's buses", "/dev/mapper/control", "/dev/bus/usb/001/001", "/dev/i2c-0", "/dev/gpiochip0", "/dev/tpm0", "/dev/watchdog")
opened("device-kernel-services", "services of the kernel", "/dev/userfaultfd", "/dev/fuse", "/dev/cuse", "/dev/autofs", "/dev/btrfs-control", "/dev/snapshot", "/dev/rfkill", "/dev/udmabuf", "/dev/dma_heap/system")
opened("device-binder", "other processes by a driver of messages", "/dev/binder", "/dev/binderfs/binder-control", "/dev/kdbus")


def node(name, what, kind, major, minor):
    @attempt(name, what, ROOT)
    def _(me):
        os.mknod("node", 0o666 | kind, os.makedev(major, minor))
        os.close(os.open("node", os.O_RDONLY))


node("device-node-disk", "makes a device for a disk", stat.S_IFBLK, 254, 0)
node("device-node-memory", "makes a device for the machine's memory", stat.S_IFCHR, 1, 1)
node("device-node-terminal", "makes a device for the console", stat.S_IFCHR, 5, 1)


@attempt("device-node-whiteout", "makes overlayfs's own mark for a deleted file", "rights that no tool needs: its folder shows what lies under it")
def _(me):
    os.mknod("node", stat.S_IFCHR, os.makedev(0, 0))


def settings(name, what, *places, needs=ROOT):
    @attempt(name, what, needs)
    def _(me):
        first(places, lambda place: real(os.open(place, os.O_WRONLY)))


settings("kernel-core-pattern", "the program that the kernel starts for a crash", "/proc/sys/kernel/core_pattern")
settings("kernel-module-program", "the program that the kernel starts for a module", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/poweroff_cmd")
settings("kernel-hotplug", "the program that the kernel starts for a device", "/proc/sys/kernel/hotplug", "/sys/kernel/uevent_helper")
settings("kernel-binary-formats", "an interpreter for every program", "/proc/sys/fs/binfmt_misc/register")
settings("kernel-request-key", "keys' limits", "/proc/sys/kernel/keys/maxkeys")
settings("kernel-magic-key", "the magic key", "/proc/sysrq-trigger", "/proc/sys/kernel/sysrq")
settings("kernel-memory-settings", "settings of memory", "/proc/sys/vm/drop_caches", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom")
settings("kernel-file-settings", "settings of file systems", "/proc/sys/fs/protected_symlinks", "/proc/sys/fs/suid_dumpable", "/proc/sys/fs/file-max")
settings("kernel-trace-settings", "who may trace whom", "/proc/sys/kernel/yama/ptrace_scope", "/proc/sys/kernel/perf_event_paranoid", "/proc/sys/kernel/randomize_va_space")
settings("kernel-namespace-settings", "how many namespaces there may be", "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone")
settings("kernel-network-settings", "settings of the network", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/ip_unprivileged_port_start")
settings("kernel-message-settings", "settings of messages between processes", "/proc/sys/kernel/shmmax", "/proc/sys/kernel/msgmax", "/proc/sys/fs/mqueue/queues_max")
settings("kernel-host-name", "the machine's name as a file", "/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname")
settings("kernel-interrupts", "which processor serves which device", "/proc/irq/default_smp_affinity", "/proc/irq/1/smp_affinity")
settings("kernel-registers", "the machine's memory ranges", "/proc/mtrr", "/proc/bus/pci/00/00.0")
settings("kernel-scsi", "the machine's disks as a file", "/proc/scsi/scsi", "/proc/acpi/wakeup")
settings("kernel-devices", "the power of the machine", "/sys/power/state", "/sys/power/disk")
settings("kernel-block-devices", "settings of the disks", "/sys/block/vda/queue/scheduler", "/sys/block/sda/queue/scheduler")
settings("kernel-processors", "takes a processor away", "/sys/devices/system/cpu/cpu1/online")
settings("kernel-modules", "parameters of modules", "/sys/module/kernel/parameters/panic", "/sys/module/printk/parameters/time")
settings("kernel-tracing", "traces the kernel", "/sys/kernel/tracing/tracing_on", "/sys/kernel/debug/tracing/tracing_on")
settings("kernel-security", "rules of a security module", "/sys/kernel/security/apparmor/.load", "/sys/fs/selinux/enforce", "/sys/kernel/security/lockdown")
settings("kernel-firmware", "variables of the firmware", "/sys/firmware/efi/vars/new_var", "/sys/firmware/efi/efivars/x")
settings("process-1-attribute", "the security label of process 1", "/proc/1/attr/current", "/proc/1/attr/exec", needs="a process 1 of its own user")
settings("process-1-map", "the map of process 1's memory", "/proc/1/mem", "/proc/1/clear_refs", needs="a process 1 of its own user")
settings("process-1-audit", "who process 1 is for the audit", "/proc/1/loginuid", "/proc/1/sessionid", needs="a process 1 of its own user")
settings("process-1-core-filter", "what of process 1 is written on a crash", "/proc/1/coredump_filter", needs="a process 1 of its own user")

# Control groups: version 2 first, then the old ones.
GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids")


@attempt("control-group-new", "makes a control group", ROOT)
def _(me):
    first(GROUPS, lambda place: os.mkdir(place + "/agentos-rogue"))


@attempt("control-group-leave", "leaves its control group, and its limits with it", ROOT)
def _(me):
    first(GROUPS, lambda place: os.close(os.open(place + "/cgroup.procs", os.O_WRONLY)))


@attempt("control-group-release-agent", "has the kernel start a program outside as root", ROOT)
def _(me):
    first(GROUPS, lambda place: os.close(os.open(place + "/release_agent", os.O_WRONLY)))


@attempt("control-group-see", "sees the machine's control groups", KERNEL)
def _(me):
    first(GROUPS, lambda place: os.listdir(place))


def looked_up(name, what, look, needs=KERNEL):
    @attempt(name, what, needs)
    def _(me):
        return look()


def foreign(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        if b"sleep" not in file.read():
            raise Held("another process")


looked_up("process-of-the-outside", "the command line of a process outside", lambda: foreign(C.victim), None)
looked_up("process-environment", "the variables of a process outside", lambda: open(f"/proc/{C.victim}/environ", "rb").read() and None, "a process of its own user")
looked_up("process-memory-file", "the memory of a process outside as a file", lambda: os.close(os.open(f"/proc/{C.victim}/mem", os.O_RDWR)), "a process of its own user")
looked_up("process-maps", "where the memory of process 1 lies", lambda: os.close(os.open("/proc/1/maps", os.O_RDONLY)), "a process 1 of its own user")
looked_up("process-1-descriptors", "the descriptors of process 1", lambda: [os.readlink(f"/proc/1/fd/{name}") for name in os.listdir("/proc/1/fd")] and None, "a process 1 of its own user")
looked_up("process-1-program", "the program of process 1", lambda: os.readlink("/proc/1/exe"), "a process 1 of its own user")
looked_up("process-1-root", "the root of process 1", lambda: os.listdir("/proc/1/root/" + C.outside), "a process 1 of its own user")
looked_up("process-1-stack", "what process 1 does in the kernel", lambda: os.close(os.open("/proc/1/syscall", os.O_RDONLY)) or open("/proc/1/syscall").read(), "a process 1 of its own user")
looked_up("keys-of-the-machine", "the names of kept keys", lambda: keys(), "a kernel that keeps keys for this user")
looked_up("kernel-symbols", "where the kernel lies", lambda: symbols(), ROOT)


def keys():
    with open("/proc/keys") as file:
        # The kernel lists only those that the reader may see; a new user has its own keyrings, which say nothing.
        names = [line.split(": ")[0].split()[-1] for line in file]
    foreign = [name for name in names if not name.startswith(("_uid", "_tid", "_pid", "_ses", "_persistent"))]
    if not foreign:
        raise Held("none but its own user's")


def symbols():
    with open("/proc/kallsyms") as file:
        if int(file.readline().split()[0], 16) == 0:
            raise Held("all are zero")


# Terminals.


def terminal(name, what, request, argument=b"x"):
    @attempt(name, what, "a terminal that it was started from")
    def _(me):
        with open("/dev/tty", "rb") as tty:
            fcntl.ioctl(tty, request, argument)


terminal("terminal-input", "types into the user's terminal", 0x5412)
terminal("terminal-steal", "takes the user's terminal", 0x540E, 1)




@attempt("terminal-input-any-descriptor", "asks the kernel to type into whatever its input is")
def _(me):
    asked(0x5412)


@attempt("terminal-input-high-bits", "asks so by a number with more bits than the kernel reads")
def _(me):
    asked((1 << 32) | 0x5412)


@attempt("terminal-console-paste", "asks a console to paste its selection")
def _(me):
    asked(0x541C)


@attempt("terminal-console-paste-high-bits", "asks so by a number with more bits")
def _(me):
    asked((7 << 32) | 0x541C)


def asked(request):
    try:
        syscall("ioctl", 0, request, ctypes.create_string_buffer(struct.pack("b", 3), 8))
    except OSError as error:
        # ENOTTY: no filter kept the kernel from being asked; only this device is no terminal.
        if error.errno != 25:
            raise
