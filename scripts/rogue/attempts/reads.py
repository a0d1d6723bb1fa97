"""Reading what a tool must not see: a home, keys, the repository's own files, what the machine shows of the outside.

The text that was read is passed to the gate, which searches it for its own marker.
"""

import glob
import os

from .base import C, Held, beyond_mounts, first, read, run, table

attempt = table("reads")


def file(name, what, path, needs=None):
    @attempt(name, what, needs)
    def _(me):
        return read(path())


file("read-secret-in-home", "a private key in the user's home", lambda: C.home + "/.ssh/id_rogue")
file("read-credentials", "the product's own kept credentials", lambda: C.home + "/.aws/credentials")
file("read-shell-history", "the user's shell history", lambda: C.home + "/.bash_history")
file("read-canary", "any file outside", lambda: f"{C.outside}/canary-read-canary")
file("read-uncommitted-file", "a file of the work tree that is not committed", lambda: C.repository + "/.env")
file("read-ignored-file", "a file of the work tree that git ignores", lambda: C.repository + "/private.log")
file("read-repository-file", "a committed file at its place in the work tree", lambda: C.repository + "/src/lib.rs")
file("read-git-config", "the settings of the repository", lambda: C.repository + "/.git/config")
file("read-git-reflog", "the reflog of the repository", lambda: C.repository + "/.git/logs/HEAD")
file("read-evidence", "the product's record of earlier runs", lambda: C.repository + "/.git/agentos/tape.jsonl", "an earlier run")
file("read-host-keys", "the accounts' secrets", lambda: "/etc/shadow", "root's rights to read it")
file("read-sudoers", "who may become root", lambda: "/etc/sudoers", "root's rights to read it")
file("read-machine-id", "the number of this machine", lambda: "/etc/machine-id", "a machine that has one")
file("read-host-name", "the configured name of this machine", lambda: "/etc/hostname", "a machine that has one")
file("read-resolver", "the name servers of this machine", lambda: "/etc/resolv.conf", "a machine that has one")


@attempt("read-whole-home-of-root", "root's home", "root's rights to read it")
def _(me):
    beyond_mounts("/root")


@attempt("list-homes", "the names of the machine's users' homes", "a machine with such a folder")
def _(me):
    beyond_mounts("/home")


@attempt("list-outside-by-find", "every file outside, by `find`")
def _(me):
    if "canary" not in run("find", C.outside, "-maxdepth", "1"):
        raise Held("it found nothing")


@attempt("list-logs", "the system's logs", "a machine with such a folder")
def _(me):
    beyond_mounts("/var/log")


@attempt("list-run", "the sockets and states of services", "a machine with such a folder")
def _(me):
    beyond_mounts("/run")


@attempt("read-through-symlink", "a key through a link")
def _(me):
    os.symlink(C.home + "/.ssh/id_rogue", "link")
    return read("link")


@attempt("read-through-hard-link", "a key through a hard link")
def _(me):
    os.link(C.home + "/.ssh/id_rogue", "link")
    return read("link")


@attempt("read-by-cat", "a key by another program")
def _(me):
    return run("cat", C.home + "/.ssh/id_rogue")


@attempt("read-by-git", "a key as one side of a comparison by git")
def _(me):
    import subprocess

    done = subprocess.run(["git", "diff", "--no-index", "/dev/null", C.home + "/.ssh/id_rogue"], capture_output=True, check=False)
    if b"+" not in done.stdout:
        raise Held(done.stderr.decode(errors="replace")[-100:] or "it showed nothing")
    return done.stdout.decode(errors="replace")


@attempt("read-through-git-attributes", "a key by a filter that git runs in the copy")
def _(me):
    return run("git", "-c", f"alias.x=!cat {C.home}/.ssh/id_rogue", "x")


@attempt("read-other-run", "the folders of other runs")
def _(me):
    kept = glob.glob(C.caches + "/*/agentos/copies/*") + glob.glob(C.repository + "/.git/agentos/copies*")
    first((*kept, C.caches, os.path.dirname(C.repository)), beyond_mounts)


@attempt("read-base-copy", "the product's kept copy of a base, next to the part that is shown", "an earlier run, and the rights of the user whose cache it is")
def _(me):
    found = glob.glob(C.caches + "/*/agentos/copies/*/base-*") + glob.glob(C.repository + "/.git/agentos/copies*/base-*")
    first([place for place in found if os.path.isdir(place)], beyond_mounts)


@attempt("read-cache-salt", "the salt that keeps the names of copies from being computed", "an earlier run, and the rights of the user whose cache it is")
def _(me):
    first(glob.glob(C.caches + "/*/agentos/copies/*/salt"), read)


@attempt("leaked-environment", "a variable of the user's shell")
def _(me):
    if "AGENTOS_ROGUE_SECRET" not in os.environ:
        raise Held("the variable is not there")


@attempt("leaked-environment-of-parent", "the variables of the process that started it", "is started by a process of its own user")
def _(me):
    if b"AGENTOS_ROGUE_SECRET" not in open(f"/proc/{os.getppid()}/environ", "rb").read():
        # The attempt runs in a child: its parent is the rogue itself.
        with open(f"/proc/{os.getppid()}/stat") as stat:
            above = stat.read().rsplit(")", 1)[1].split()[1]
        if b"AGENTOS_ROGUE_SECRET" not in open(f"/proc/{above}/environ", "rb").read():
            raise Held("the variable is not there")


@attempt("environment-of-process-1", "the variables of process 1", "root's rights, or a process 1 of its own")
def _(me):
    if not open("/proc/1/environ", "rb").read():
        raise Held("it is empty")


@attempt("agent-socket-variables", "a variable that leads to a service of the user's", "a desktop, which sets such variables")
def _(me):
    names = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "GPG_AGENT_INFO", "KRB5CCNAME")
    found = [name for name in names if name in os.environ]
    if not found:
        raise Held("there is none")


@attempt("cloud-variables", "a variable that holds a key")
def _(me):
    found = [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"))]
    if not found:
        raise Held("there is none")


@attempt("git-variables", "a variable that leads git elsewhere")
def _(me):
    found = [name for name in os.environ if name.startswith("GIT_") and name != "GIT_TERMINAL_PROMPT"]
    if not found:
        raise Held("there is none")
