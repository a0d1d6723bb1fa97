"""Reading what policy withholds from the tool: through links of the base, by other spellings, and by git.

The folder `withheld` of the repository is denied to every tool, and the base has links to it. Each attempt is made in the copy
first, and then in the repository itself, where it works without a sandbox.
"""

import os
import subprocess
import tempfile
import zlib

from .base import C, Held, first, link_open, read, run, table

attempt = table("withheld")
PLAN = "withheld/plan.txt"
# Names that a comparison of patterns or a quoting could get wrong.
HARD = {
    "space": "a plan.txt", "dash": "-rf", "brackets": "[a-z].txt", "braces": "{a,b}.txt", "percent": "%70lan.txt", "dots": "...txt",
    "composed": "pl\u00e4n.txt", "decomposed": "pla\u0308n.txt", "upper-case": "PLAN.TXT", "deep": "a/b/c/d/plan.txt",
    "hidden": ".plan", "shell": "$HOME;`plan`.txt",
}
# Paths to the file in the copy and in the repository: `{}` is the top of either.
SPELLINGS = {
    "by-name": ("by its name", "{}/" + PLAN),
    "link": ("through a link of the base", "{}/docs/plan"),
    "link-folder": ("through a linked folder of the base", "{}/docs/folder/plan.txt"),
    "link-chain": ("through a chain of links of the base", "{}/docs/chain"),
    "link-upward": ("through a link of the base that climbs", "{}/docs/upward/" + PLAN),
    "dot-dot": ("by `..`", "{}/src/../" + PLAN),
    "slashes": ("by a path with more slashes and dots", "{}//./withheld/.//./plan.txt"),
    "through-link-and-back": ("by `..` behind a linked folder", "{}/docs/folder/../" + PLAN),
    "proc-root": ("through the root of its own process", "/proc/self/root{}/" + PLAN),
    "proc-task-root": ("through the root of its own thread", "/proc/thread-self/root{}/" + PLAN),
}


def tops():
    """Returns the top of the copy and of the repository."""
    return (C.copy, C.repository)


for name, (what, path) in SPELLINGS.items():

    @attempt(f"withheld-{name}", f"a withheld file {what}")
    def _(me, path=path):
        return first([path.format(top) for top in tops()], read)


for name, file in HARD.items():

    @attempt(f"withheld-name-{name}", f"a withheld file with a hard name: {name}")
    def _(me, file=file):
        return first([f"{top}/withheld/{file}" for top in tops()], read)


@attempt("withheld-case", "a withheld file in another case", "a file system that does not tell cases apart")
def _(me):
    return first([f"{top}/{name}" for top in tops() for name in ("WITHHELD/PLAN.TXT", "Withheld/plan.txt")], read)


@attempt("withheld-proc-cwd", "a withheld file through the folder of another process", "a process of its own user in that folder")
def _(me):
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    return first([f"/proc/{process}/cwd/{PLAN}" for process in processes], read)


@attempt("withheld-other-root", "a withheld file through the root of another process", "a process of its own user to look into")
def _(me):
    return first([f"/proc/{process}/root{C.repository}/{PLAN}" for process in (1, os.getppid(), C.victim)], read)


@attempt("withheld-own-link", "a withheld file through a link of the tool's own")
def _(me):
    def look(top):
        os.symlink(f"{top}/{PLAN}", f"link-{len(os.listdir())}")
        return first(os.listdir(), read)

    return first(tops(), look)


@attempt("withheld-hard-link", "a withheld file through a hard link", "a file system that both folders are in")
def _(me):
    def look(top):
        os.link(f"{top}/{PLAN}", "linked")
        return read("linked")

    return first(tops(), look)


@attempt("withheld-link-by-descriptor", "a withheld file by a link to its open path", "a file system that both folders are in")
def _(me):
    def look(top):
        link_open(os.open(f"{top}/{PLAN}", os.O_PATH), "linked")
        return read("linked")

    return first(tops(), look)


@attempt("withheld-relative-to-folder", "a withheld file relative to an open folder of the base")
def _(me):
    def look(top):
        folder = os.open(f"{top}/src", os.O_PATH | os.O_DIRECTORY)
        return os.read(os.open(f"../{PLAN}", os.O_RDONLY, dir_fd=folder), 65536).decode()

    return first(tops(), look)


@attempt("withheld-lower-folder", "a withheld file in the folders that the copy is made of")
def _(me):
    with open("/proc/self/mountinfo") as mounts:
        parts = [part for line in mounts for part in line.replace(",", " ").split()]
    lower = [part.split("=", 1)[1] for part in parts if part.startswith(("lowerdir=", "lowerdir+=", "upperdir="))]
    folders = [folder for list_ in lower for folder in list_.split(":")]
    return first([f"{folder}/{PLAN}" for folder in [*folders, *tops()]], read)


@attempt("withheld-found", "a withheld file by `find`")
def _(me):
    def look(top):
        found = run("find", top, "-name", "plan.txt", "-type", "f").split()
        return first(found, read)

    return first(tops(), look)


GIT = {
    "show": ("show", f"HEAD:{PLAN}"),
    "show-index": ("show", f":{PLAN}"),
    "object": ("cat-file", "-p", "{object}"),
    "archive": ("archive", "--format=tar", "HEAD", "withheld"),
    "log": ("log", "-p", "--all", "--", "withheld"),
    "grep": ("grep", "-h", "{hint}", "HEAD", "--", "withheld"),
    "diff": ("diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD", "--", "withheld"),
    "every-object": ("cat-file", "--batch-all-objects", "--batch"),
    "restored": ("-c", "alias.x=!git --work-tree=\"$PLACE\" checkout HEAD -- withheld; cat \"$PLACE\"/" + PLAN, "x"),
    "bundle": ("-c", "alias.x=!git bundle create -q \"$PLACE\"/b HEAD; git clone -q \"$PLACE\"/b \"$PLACE\"/c; cat \"$PLACE\"/c/" + PLAN, "x"),
    # The other end of a clone reads no configuration of the call, so a file says that the repository may belong to another user.
    "cloned": ("-c", "alias.x=!printf '[safe]\\n\\tdirectory = *\\n' >\"$PLACE\"/g; GIT_CONFIG_GLOBAL=\"$PLACE\"/g git clone -q . \"$PLACE\"/c; cat \"$PLACE\"/c/" + PLAN, "x"),
}


def git(top, words):
    """Runs git and returns its output, which must not be without the text."""
    words = [word.replace("{object}", C.objects["withheld"]).replace("{hint}", C.hint) for word in words]
    command = ["git", "-C", top, "-c", "safe.directory=*", *words]
    # The attempt may not write the repository. A clone needs a folder that does not exist, so each top has another place.
    place = tempfile.mkdtemp(dir=os.getcwd())
    more = {"PLACE": place, "GIT_INDEX_FILE": place + "/index", "GIT_OPTIONAL_LOCKS": "0"}
    if "show-index" in words or words[-1].startswith(":"):
        del more["GIT_INDEX_FILE"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False, env={**os.environ, **more})
    if C.hint.encode() not in done.stdout:
        raise Held(done.stderr.decode(errors="replace").strip()[-100:] or "it showed nothing")
    return done.stdout.decode(errors="replace")


for name, words in GIT.items():

    @attempt(f"withheld-git-{name}", f"a withheld file by git: {name}")
    def _(me, words=words):
        return first(tops(), lambda top: git(top, words))


@attempt("withheld-object-files", "a withheld file in the files of the object store", "objects that are not packed")
def _(me):
    for top in tops():
        for folder, _folders, files in os.walk(f"{top}/.git/objects"):
            for file in files:
                try:
                    with open(f"{folder}/{file}", "rb") as text:
                        data = zlib.decompress(text.read())
                except (OSError, zlib.error):
                    continue
                if C.hint.encode() in data:
                    return data.decode(errors="replace")
    raise Held("no object has it")
