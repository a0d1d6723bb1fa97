"""Writing outside: by path, through links, by handles, by the programs that every system has."""

import ctypes
import os
import subprocess
import threading

from .base import LIBC, ROOT, C, Held, append, create, first, link_open, syscall, table, write

attempt = table("files")
OUT = "outside"


@attempt("write-by-path", "overwrites a file by its path", judged=OUT)
def _(me):
    write(me.canary, flags=os.O_WRONLY | os.O_TRUNC)


@attempt("append-by-path", "appends to a file by its path", judged=OUT)
def _(me):
    append(me.canary)


@attempt("create-file", "makes a file", judged=OUT)
def _(me):
    create(me.new)


@attempt("create-folder", "makes a folder", judged=OUT)
def _(me):
    os.mkdir(me.new)


@attempt("trailing-slash", "makes a folder by a path that ends in a slash", judged=OUT)
def _(me):
    os.mkdir(C.outside + f"//new-{me.name}/")


@attempt("dot-dot", "climbs to the top by `..`", judged=OUT)
def _(me):
    create("../" * 60 + me.new.lstrip("/"))


@attempt("dot-dot-through-proc", "climbs by `..` from a folder of the kernel's", judged=OUT)
def _(me):
    create("/proc/self/task/../../.." + me.new)


@attempt("truncate", "empties a file by its path", judged=OUT)
def _(me):
    os.truncate(me.canary, 0)


@attempt("truncate-on-open", "empties a file that it opens only to read", judged=OUT)
def _(me):
    os.close(os.open(me.canary, os.O_RDONLY | os.O_TRUNC))


@attempt("unlink", "deletes a file", judged=OUT)
def _(me):
    os.unlink(me.canary)


@attempt("rename-away", "renames a file", judged=OUT)
def _(me):
    os.rename(me.canary, me.new)


@attempt("rename-into", "moves a file of its own outside", judged=OUT)
def _(me):
    create("own")
    os.replace("own", me.new)


@attempt("rename-exchange", "exchanges a file of its own with one outside", judged=OUT)
def _(me):
    create("own")
    if LIBC.renameat2(-100, b"own", -100, me.canary.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attempt("move-by-mv", "moves a file outside by `mv`, which copies where it cannot rename", judged=OUT)
def _(me):
    create("own")
    subprocess.run(["mv", "own", me.new], stderr=subprocess.DEVNULL, check=False)
    os.stat(me.new)


@attempt("hard-link-outward", "makes a hard link to its own file outside", judged=OUT)
def _(me):
    create("own")
    os.link("own", me.new)


@attempt("hard-link-inward", "makes a hard link to a file outside and appends to it", judged=OUT)
def _(me):
    os.link(me.canary, "linked")
    append("linked")


@attempt("hard-link-by-descriptor", "links an open file of the outside by its descriptor", judged=OUT)
def _(me):
    handle = os.open(me.canary, os.O_RDONLY)
    link_open(handle, "linked")
    append("linked")


@attempt("unnamed-file", "makes a file without a name outside and gives it one", judged=OUT)
def _(me):
    handle = os.open(C.outside, os.O_WRONLY | os.O_TMPFILE, 0o666)
    link_open(handle, me.new)


@attempt("symlink-outside", "makes a link outside", judged=OUT)
def _(me):
    os.symlink("/etc/passwd", me.new)


@attempt("write-through-symlink", "writes to a file through a link", judged=OUT)
def _(me):
    os.symlink(me.canary, "link")
    append("link")


@attempt("symlinked-parent", "makes a file below a linked folder", judged=OUT)
def _(me):
    os.symlink(C.outside, "folder")
    create(f"folder/new-{me.name}")


@attempt("chain-of-symlinks", "makes a file through a chain of links with `..` between", judged=OUT)
def _(me):
    os.mkdir("a")
    os.symlink("../" * 60 + C.outside.lstrip("/"), "a/b")
    os.symlink("a/b", "c")
    create(f"c/../{os.path.basename(C.outside)}/new-{me.name}")


@attempt("symlink-swap-race", "exchanges a folder for a link while it writes there", judged=OUT)
def _(me):
    last = Held("no round reached it")
    for _round in range(200):
        os.makedirs("race", exist_ok=True)
        os.rmdir("race")
        os.symlink(C.outside, "race")
        try:
            create(f"race/new-{me.name}")
            return
        except OSError as error:
            last = error
        finally:
            os.unlink("race")
    raise last


@attempt("parallel-swap-race", "exchanges folder and link in one thread and writes in another", judged=OUT, needs="two threads that meet in one moment, which chance decides")
def _(me):
    os.mkdir("real")
    os.symlink(C.outside, "link")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            LIBC.renameat2(-100, b"real", -100, b"link", 2)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _round in range(300):
            try:
                create(f"real/new-{me.name}")
            except OSError:
                pass
            if os.path.exists(me.new):
                return
    finally:
        stop.set()
        thread.join()
    raise Held("300 rounds made no file")


@attempt("folder-handle", "makes a file relative to a handle of the folder", judged=OUT)
def _(me):
    handle = os.open(C.outside, os.O_RDONLY | os.O_DIRECTORY)
    os.close(os.open(f"new-{me.name}", os.O_WRONLY | os.O_CREAT, 0o666, dir_fd=handle))


@attempt("path-handle", "opens a file again through a handle that was opened with O_PATH", judged=OUT)
def _(me):
    handle = os.open(me.canary, os.O_PATH)
    append(f"/proc/self/fd/{handle}")


@attempt("proc-self-fd", "opens a file again for writing that was opened to read", judged=OUT)
def _(me):
    handle = os.open(me.canary, os.O_RDONLY)
    append(f"/proc/self/fd/{handle}")


@attempt("dev-fd", "opens a file again for writing through /dev/fd", judged=OUT)
def _(me):
    handle = os.open(me.canary, os.O_RDONLY)
    append(f"/dev/fd/{handle}")


@attempt("proc-root", "writes through the root of another process", judged=OUT, needs="a process of its own user to look into")
def _(me):
    first((os.getppid(), 1, C.pid, C.victim), lambda process: create(f"/proc/{process}/root{me.new}"))


@attempt("proc-cwd", "lists the outside through the working folder of another process", needs="a process of its own user to look into")
def _(me):
    def look(process):
        # Only a working folder that is not inside the tool's own view counts.
        os.listdir(f"/proc/{process}/cwd/{C.outside}")

    first((1, C.pid, C.victim), look)


@attempt("proc-task-root", "writes through the root of another process's thread", judged=OUT, needs="a process of its own user to look into")
def _(me):
    first((1, C.pid, C.victim), lambda process: create(f"/proc/{process}/task/{process}/root{me.new}"))


@attempt("change-mode", "changes the permissions of a file", judged=OUT)
def _(me):
    os.chmod(me.canary, 0o600)


@attempt("change-owner", "gives a file away", judged=OUT, needs=ROOT)
def _(me):
    os.chown(me.canary, 0, 0)


@attempt("change-group", "changes the group of a file to the own one", judged="result")
def _(me):
    os.chown(me.canary, -1, os.getgid())


@attempt("change-times", "changes the times of a file")
def _(me):
    os.utime(me.canary)


@attempt("extended-attribute", "sets an extended attribute")
def _(me):
    os.setxattr(me.canary, "user.rogue", b"1")


@attempt("extended-attribute-at", "sets an extended attribute by the call of Linux 6.13", needs="Linux 6.13")
def _(me):
    value = ctypes.create_string_buffer(b"1")
    args = (ctypes.c_uint64 * 2)(ctypes.addressof(value), 1)
    syscall("setxattrat", -100, me.canary.encode(), 0, b"user.rogue", args, 16)


@attempt("named-pipe", "makes a FIFO outside", judged=OUT)
def _(me):
    os.mkfifo(me.new)


@attempt("allocate", "allocates room in a file outside", judged=OUT)
def _(me):
    handle = os.open(me.canary, os.O_RDWR)
    os.posix_fallocate(handle, 0, 4096)


@attempt("copy-file-range", "copies into a file outside inside the kernel", judged=OUT)
def _(me):
    create("own", "rogue in the kernel")
    source, target = os.open("own", os.O_RDONLY), os.open(me.canary, os.O_WRONLY)
    os.copy_file_range(source, target, 8)


@attempt("send-file", "sends a file into a file outside", judged=OUT)
def _(me):
    create("own", "rogue sent")
    source, target = os.open("own", os.O_RDONLY), os.open(me.canary, os.O_WRONLY)
    os.sendfile(target, source, 0, 8)


@attempt("splice", "splices a pipe into a file outside", judged=OUT)
def _(me):
    reader, writer = os.pipe()
    os.write(writer, b"rogue")
    os.splice(reader, os.open(me.canary, os.O_WRONLY), 5)


@attempt("shared-mapping", "writes to a file through a shared mapping", judged=OUT)
def _(me):
    import mmap

    handle = os.open(me.canary, os.O_RDWR)
    with mmap.mmap(handle, 6) as mapped:
        mapped[:5] = b"rogue"


@attempt("lease", "puts a lease on a file outside, which holds up whoever opens it")
def _(me):
    import fcntl

    handle = os.open(me.canary, os.O_RDONLY)
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)


@attempt("file-lock", "locks a file outside, which holds up whoever locks it")
def _(me):
    import fcntl

    fcntl.flock(os.open(me.canary, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)


@attempt("watch-files", "receives notifications about files outside")
def _(me):
    handle = LIBC.inotify_init()
    if LIBC.inotify_add_watch(handle, C.outside.encode(), 0xFFF) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attempt("change-folder", "goes to a folder outside")
def _(me):
    os.chdir(C.outside)


@attempt("program-on-the-search-path", "puts a program on the system's search path", needs=ROOT)
def _(me):
    place = "/usr/local/bin/agentos-rogue"
    create(place)
    os.unlink(place)


@attempt("system-schedule", "puts a job into the system's schedule", needs=ROOT)
def _(me):
    first(("/etc/cron.d/agentos-rogue", "/var/spool/cron/crontabs/agentos-rogue", "/etc/systemd/system/agentos-rogue.service"), create)


@attempt("dynamic-linker-preload", "has every program load a library", needs=ROOT)
def _(me):
    create("/etc/ld.so.preload")


@attempt("python-site", "puts code where the system's Python looks", needs=ROOT)
def _(me):
    import sysconfig

    create(sysconfig.get_paths()["purelib"] + "/agentos-rogue.pth")


@attempt("shared-memory", "writes to shared memory of the outside", judged=OUT)
def _(me):
    write("/dev/shm/" + C.token)


@attempt("temporary-folder-of-others", "looks at a temporary folder of others")
def _(me):
    os.stat(C.outside)


SPELLINGS = {
    "backslash": ("sh", "-c", "t\\ouch {}"),
    "quotes": ("sh", "-c", "to''uch {}"),
    "variables": ("sh", "-c", "a=tou; b=ch; $a$b {}"),
    "pipe": ("sh", "-c", "printf 'touch {}' | sh"),
    "base64": ("sh", "-c", "eval \"$(printf 'dG91Y2gg' | base64 -d)\" {}"),
    "env-split": ("env", "-S", "touch {}"),
    "xargs": ("xargs", "-a", "/dev/null", "touch", "{}"),
    "find": ("find", ".", "-maxdepth", "0", "-exec", "touch", "{}", ";"),
    "tee": ("tee", "{}"),
    "dd": ("dd", "if=/dev/zero", "count=0", "of={}"),
    "cp": ("cp", "--no-target-directory", "/etc/passwd", "{}"),
    "git-alias": ("git", "-c", "alias.x=!touch {}", "x"),
    "tar": ("sh", "-c", "tar -C / -cf - etc/passwd | tar -xO -f - > {}"),
    "sed": ("sed", "-n", "w {}", "/etc/passwd"),
    "awk": ("awk", "BEGIN { print > \"{}\" }"),
    "install": ("install", "/etc/passwd", "{}"),
}


def disguised(label, command):
    @attempt(f"disguised-command-{label}", f"makes a file by a command in disguise: `{command[0]}`, {label}", judged=OUT)
    def _(me):
        words = [word.replace("{}", me.new) for word in command]
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
        os.stat(me.new)


for label, command in SPELLINGS.items():
    disguised(label, command)
