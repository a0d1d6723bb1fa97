"""The table of attempts and what they share: system calls by number, canaries, and how an error is reported.

An attempt is a function that returns if it reached something outside the sandbox and raises if it was prevented. It is
called in a separate process and an empty folder, so that its changes to itself do not reach the next attempt. `me.canary` is
an existing file outside that the gate compares afterwards, `me.new` a path outside that must stay absent.
"""

import ctypes
import errno
import os
import subprocess

ATTEMPTS = []
LIBC = ctypes.CDLL(None, use_errno=True)
# A refusal looks like one of these. Any other error of a system call means that the kernel looked at its arguments.
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.ESRCH)

ROOT = "root's capabilities, which an ordinary user lacks without a sandbox too"
KERNEL = "a kernel built or configured for it, which this one may not be"
OTHERS = "a service that this machine may not run"


class Held(Exception):
    """The attempt reached nothing, for a reason that is no error of the system."""


class C:
    """The configuration from `rogue.json`: names of the things outside."""


class Attempt:
    """One row of the table."""

    def __init__(self, kind, name, what, function, needs, judged, scene):
        self.kind, self.name, self.what, self.function = kind, name, what, function
        # Why it may fail even where nothing confines it; `None` if it must succeed there.
        self.needs = needs
        # `outside`: the gate sees the effect; `result`: only the result of the call shows it.
        self.judged = judged
        # In which run it is made.
        self.scene = scene

    @property
    def canary(self):
        return f"{C.outside}/canary-{self.name}"

    @property
    def new(self):
        return f"{C.outside}/new-{self.name}"

    def row(self):
        return {
            "attempt": self.name, "kind": self.kind, "what": self.what, "needs": self.needs, "judged": self.judged,
            "scene": self.scene,
        }


def table(kind, scene="alone"):
    """Returns the decorator that adds attempts of this class to the table."""

    def attempt(name, what, needs=None, judged="result"):
        def add(function):
            ATTEMPTS.append(Attempt(kind, name, what, function, needs, judged, scene))
            return function

        return add

    return attempt


def syscall(name, *args):
    """Makes a system call by name. A call that this architecture lacks counts as prevented."""
    if name not in NUMBERS:
        raise Held(f"this architecture has no `{name}`")
    return numbered(NUMBERS[name], *args)


def numbered(number, *args):
    """Makes a system call by number."""
    ctypes.set_errno(0)
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = LIBC.syscall(ctypes.c_long(number), *wide)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def reaches(name, *args):
    """Succeeds if the kernel examines a call's arguments, even if it then finds them invalid."""
    try:
        return syscall(name, *args)
    except OSError as error:
        if error.errno in REFUSALS:
            raise
        return -error.errno


def write(path, text="rogue", flags=os.O_WRONLY):
    """Writes a text to an existing file."""
    handle = os.open(path, flags, 0o666)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def create(path, text="rogue"):
    """Writes a text to a file that is created if necessary."""
    write(path, text, os.O_WRONLY | os.O_CREAT)


def append(path, text="rogue"):
    """Appends a text to a file."""
    write(path, text, os.O_WRONLY | os.O_APPEND)


def read(path, length=65536):
    """Returns the beginning of a file. An empty file counts as prevented, since it contains nothing worth reading."""
    handle = os.open(path, os.O_RDONLY)
    try:
        data = os.read(handle, length)
    finally:
        os.close(handle)
    if not data:
        raise Held("it is empty")
    return data.decode(errors="replace")


def link_open(handle, path):
    """Gives an open file a name; Python's own call does not follow the link in /proc (linkat(2), AT_SYMLINK_FOLLOW)."""
    ctypes.set_errno(0)
    if LIBC.linkat(-100, f"/proc/self/fd/{handle}".encode(), -100, os.fsencode(path), 0x400) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def run(*args, **more):
    """Runs a program and returns its output; a failure counts as prevented."""
    done = subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False, **more)
    if done.returncode:
        raise Held((done.stderr or done.stdout).decode(errors="replace").strip()[-200:] or f"exit {done.returncode}")
    return done.stdout.decode(errors="replace")


def first(places, act):
    """Succeeds with the first place at which `act` does; raises the last error otherwise."""
    last = Held("there is no such place")
    for place in places:
        try:
            return act(place)
        except (OSError, Held) as error:
            last = error
    raise last


def beyond_mounts(folder):
    """Lists the entries of a folder other than the path to what was mounted for the tool; nothing else counts as seen."""
    with open("/proc/self/mountinfo") as mounts:
        places = [line.split()[4] for line in mounts]
    own = {os.path.dirname(C.repository)} if C.confined else set()
    names = []
    for name in os.listdir(folder):
        path = os.path.join(os.path.realpath(folder), name)
        if not any(place == path or place.startswith(path + "/") for place in places if place != "/") and path not in own:
            names.append(name)
    if not names:
        raise Held("nothing is there but the way to what is shown")
    return names


def child(act):
    """Starts a process that runs `act` and then waits to be ended; returns its number."""
    ready, told = os.pipe()
    process = os.fork()
    if process == 0:
        act()
        os.write(told, b"x")
        while True:
            os.read(ready, 0)
            os.sched_yield()
    os.read(ready, 1)
    return process


# Numbers of system calls: x86_64, then aarch64 (`None` if it has none). Those from 424 on are the same everywhere.
TABLE = """
ptrace 101 117|process_vm_readv 310 270|process_vm_writev 311 271|clone 56 220|name_to_handle_at 303 264
open_by_handle_at 304 265|keyctl 250 219|add_key 248 217|request_key 249 218|bpf 321 280|perf_event_open 298 241
userfaultfd 323 282|fanotify_init 300 262|syslog 103 116|acct 163 89|adjtimex 159 171|clock_adjtime 305 266
clock_settime 227 112|settimeofday 164 170|chroot 161 51|delete_module 176 106|finit_module 313 273|init_module 175 105
kcmp 312 272|kexec_load 246 104|kexec_file_load 320 294|mount 165 40|umount2 166 39|pivot_root 155 41|swapon 167 224
swapoff 168 225|reboot 169 142|sethostname 170 161|setdomainname 171 162|quotactl 179 60|move_pages 279 239
migrate_pages 256 238|setns 308 268|unshare 272 97|vhangup 153 58|personality 135 92|memfd_create 319 279
sched_setaffinity 203 122|sched_setscheduler 144 119|sched_setparam 142 118|sched_setattr 314 274|setpriority 141 140
ioprio_set 251 30|prlimit64 302 261|kill 62 129|tgkill 234 131|rt_sigqueueinfo 129 138|rt_tgsigqueueinfo 297 240
mknodat 259 33|openat 257 56|fchmod 91 52|fchmodat 268 53|socket 41 198|socketpair 53 199|msgget 68 186|semget 64 190
shmget 29 194|mq_open 240 180|capset 126 91|get_robust_list 274 100|ioctl 16 29|setresuid 117 147|setfsuid 122 151
ioperm 173 -|iopl 172 -|modify_ldt 154 -|open 2 -|creat 85 -|mknod 133 -|chmod 90 -|lookup_dcookie 212 18
pidfd_send_signal 424 424|io_uring_setup 425 425|io_uring_enter 426 426|io_uring_register 427 427|open_tree 428 428
move_mount 429 429|fsopen 430 430|fsconfig 431 431|fsmount 432 432|fspick 433 433|pidfd_open 434 434|clone3 435 435
openat2 437 437|pidfd_getfd 438 438|process_madvise 440 440|mount_setattr 442 442|quotactl_fd 443 443|memfd_secret 447 447
process_mrelease 448 448|fchmodat2 452 452|statmount 457 457|listmount 458 458|open_tree_attr 467 467
setxattrat 463 463|seccomp 317 277
"""
COLUMN = {"x86_64": 1, "aarch64": 2}.get(os.uname().machine, 1)
ROWS = [entry.split() for line in TABLE.strip().splitlines() for entry in line.split("|")]
NUMBERS = {row[0]: int(row[COLUMN]) for row in ROWS if row[COLUMN] != "-"}


def describe_error(error):
    """Describes an error in one line, by its name if it is one of the system's."""
    if isinstance(error, OSError) and error.errno:
        return errno.errorcode.get(error.errno, str(error.errno))
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
