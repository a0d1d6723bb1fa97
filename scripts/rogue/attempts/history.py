"""Objects of the repository's object store that are not part of the base's files."""

import os
import subprocess

from .base import C, Held, create, run, table

attempt = table("history")
NEEDS = "the repository's object store, which is not in an ordinary folder of copied files"


def git(*args):
    done = subprocess.run(["git", "-c", "safe.directory=*", *args], cwd=C.copy, capture_output=True, check=False)
    return done.stdout.decode(errors="replace")


def every_blob():
    lines = git("cat-file", "--batch-all-objects", "--batch-check").splitlines()
    blobs = [line.split()[0] for line in lines if " blob " in line]
    return "".join(git("cat-file", "-p", blob) for blob in blobs)


def looked_for(name, what, look):
    @attempt(name, what, NEEDS)
    def _(me):
        found = look()
        if not found.strip():
            raise Held("git found nothing")
        if C.hint not in found:
            raise Held("what git found holds no secret")
        return found


# In two parts: the text of this file is in the history too.
C.hint = "-".join(("kept", "apart"))
looked_for("history-deleted-file", "a file that an earlier commit had", lambda: git("log", "-p", "--all"))
looked_for("history-by-object-name", "the deleted file by the name of its object", lambda: git("cat-file", "-p", C.objects["deleted"]))
looked_for("history-other-branch", "a file of another branch", lambda: git("show", f"{C.objects['branch']}:private.txt"))
looked_for("history-stash", "a stashed change", lambda: git("show", "-p", C.objects["stash"]))
looked_for("history-staged-blob", "a file that was only ever staged", lambda: git("cat-file", "-p", C.objects["staged"]))
looked_for("history-dangling-commit", "a commit that no branch reaches", lambda: git("cat-file", "-p", C.objects["dangling"]))
looked_for("history-every-object", "every object that git can list", every_blob)
looked_for("history-unreachable", "what git calls unreachable", lambda: git("fsck", "--unreachable", "--no-reflogs") and every_blob())
looked_for("history-fetch", "the repository fetched into one of its own", lambda: fetched("fetch"))
looked_for("history-clone", "a clone of the repository", lambda: fetched("clone"))
looked_for("history-alternates", "objects borrowed by a line of its own", lambda: borrowed())
looked_for("history-alternates-variable", "objects borrowed by a variable", lambda: by_variable())


def fetched(how):
    own = os.path.abspath("fetched")
    if how == "clone":
        subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", "--mirror", C.repository, own], capture_output=True, check=False)
    else:
        subprocess.run(["git", "init", "-q", "--bare", own], capture_output=True, check=False)
        subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", own, "fetch", "-q", C.repository, "+refs/*:refs/*"], capture_output=True, check=False
        )
    done = subprocess.run(["git", "-C", own, "log", "-p", "--all"], capture_output=True, check=False)
    return done.stdout.decode(errors="replace")


def borrowed():
    run("git", "init", "-q", "--bare", "borrower")
    create("borrower/objects/info/alternates", C.repository + "/.git/objects\n")
    done = subprocess.run(["git", "-C", "borrower", "cat-file", "-p", C.objects["deleted"]], capture_output=True, check=False)
    return done.stdout.decode(errors="replace")


def by_variable():
    run("git", "init", "-q", "--bare", "borrower")
    more = {**os.environ, "GIT_ALTERNATE_OBJECT_DIRECTORIES": C.repository + "/.git/objects"}
    done = subprocess.run(
        ["git", "-C", "borrower", "cat-file", "-p", C.objects["stash"]], capture_output=True, check=False, env=more
    )
    return done.stdout.decode(errors="replace")


@attempt("borrowed-objects", "writes into the object store that its copy borrows from", NEEDS)
def _(me):
    with open(C.copy + "/.git/objects/info/alternates") as file:
        objects = file.read().strip()
    os.mkdir(objects + "/rogue")


@attempt("borrowed-objects-list", "finds an object of no file that it is shown in the store that its copy borrows from", NEEDS)
def _(me):
    with open(C.copy + "/.git/objects/info/alternates") as file:
        objects = file.read().strip()
    run("git", "init", "-q", "--bare", "lister")
    create("lister/objects/info/alternates", objects + "\n")
    listed = run("git", "-C", "lister", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    shown = git("rev-parse", "HEAD", "HEAD^{tree}").split() + [line.split()[2] for line in git("ls-tree", "-rt", "HEAD").splitlines()]
    more = set(listed) - set(shown)
    if not more:
        raise Held(f"{len(listed)} objects, all of what is shown")
    return f"{len(more)} more"


@attempt("object-store-by-path", "lists the repository's object store")
def _(me):
    os.listdir(C.repository + "/.git/objects")


@attempt("repository-refs", "reads the repository's branches and tags")
def _(me):
    if "refs/" not in run("git", "-c", "safe.directory=*", f"--git-dir={C.repository}/.git", "for-each-ref"):
        raise Held("there are none")
