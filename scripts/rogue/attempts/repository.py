"""The repository, and what git executes: written directly, by git's own options, or planted in the copy for git outside."""

import os

from .base import C, Held, append, create, run, table, write

attempt = table("git")
OUT = "outside"
SAFE = ("-c", "safe.directory=*", "-c", "user.name=r", "-c", "user.email=r@r")


def appended(name, what, path, needs=None):
    @attempt(name, what, needs, OUT)
    def _(me):
        append(f"{C.repository}/{path}")


appended("repository-work-tree", "a file of the work tree", "src/lib.rs")
appended("repository-config", "the settings of the repository", ".git/config")
appended("repository-index", "the index", ".git/index")
appended("repository-exclude", "what git ignores here", ".git/info/exclude")
appended("repository-branch", "the commit of the branch", ".git/refs/heads/main")
appended("repository-reflog", "the reflog", ".git/logs/HEAD")
appended("evidence-tape", "the product's record", ".git/agentos/tape.jsonl", "an earlier run")
appended("evidence-head", "the end of the product's record", ".git/agentos/head.json", "an earlier run")


@attempt("repository-head", "what HEAD names", judged=OUT)
def _(me):
    write(C.repository + "/.git/HEAD", "ref: refs/heads/rogue\n", os.O_WRONLY | os.O_TRUNC)


@attempt("repository-new-file", "a new file in the work tree", judged=OUT)
def _(me):
    create(C.repository + "/src/rogue.rs")


@attempt("repository-hook", "a hook", judged=OUT)
def _(me):
    os.stat(C.repository + "/.git/HEAD")
    create(C.repository + "/.git/hooks/pre-commit")


@attempt("repository-lock", "a lock that stops every git command", judged=OUT)
def _(me):
    os.stat(C.repository + "/.git/HEAD")
    create(C.repository + "/.git/index.lock")
    os.unlink(C.repository + "/.git/index.lock")


@attempt("repository-through-link", "the work tree through a linked folder", judged=OUT)
def _(me):
    os.symlink(C.repository, "link")
    append("link/README.md")


@attempt("journal-of-the-product", "a journal that the product would replay", needs="an earlier run", judged=OUT)
def _(me):
    os.stat(C.repository + "/.git/agentos/tape.jsonl")
    create(C.repository + "/.git/agentos/journal-rogue")
    os.unlink(C.repository + "/.git/agentos/journal-rogue")


def by_git(name, what, *args, **more):
    @attempt(name, what, judged=OUT)
    def _(me):
        run("git", *SAFE, *[arg.format(spare=C.spare, outside=C.outside) for arg in args])


by_git("git-dash-c", "a commit in another repository by `git -C`", "-C", "{spare}", "commit", "--allow-empty", "-qm", "rogue")
by_git("git-directory-options", "a branch by `--git-dir`", "--git-dir={spare}/.git", "--work-tree={spare}", "branch", "by-options")
by_git("git-worktree", "a work tree of another repository", "-C", "{spare}", "worktree", "add", "-q", "{outside}/new-git-worktree")
by_git("git-tag", "a tag in another repository", "-C", "{spare}", "tag", "rogue")
by_git("git-config-option", "a setting of another repository", "--git-dir={spare}/.git", "config", "rogue.x", "1")
by_git("git-config-file", "a settings file outside", "config", "--file", "{outside}/new-git-config-file", "rogue.x", "1")
by_git("git-init-outside", "a new repository outside", "init", "-q", "{outside}/new-git-init-outside")
by_git("git-clone-outside", "a clone outside", "clone", "-q", "--bare", "{spare}", "{outside}/new-git-clone-outside")
by_git("git-archive-output", "an archive outside", "-C", "{spare}", "archive", "-o", "{outside}/new-git-archive-output.tar", "HEAD")
by_git("git-bundle-output", "a bundle outside", "-C", "{spare}", "bundle", "create", "-q", "{outside}/new-git-bundle-output", "HEAD")
by_git("git-update-ref", "a branch by plumbing", "--git-dir={spare}/.git", "update-ref", "refs/heads/by-plumbing", "HEAD")
by_git("git-separate-directory", "a repository whose git directory lies outside", "init", "-q", "--separate-git-dir", "{outside}/new-git-separate-directory", "own")


@attempt("git-environment", "a branch by a variable", judged=OUT)
def _(me):
    run("git", *SAFE, "branch", "by-environment", env={**os.environ, "GIT_DIR": C.spare + "/.git"})


@attempt("git-index-variable", "an index outside by a variable", judged=OUT)
def _(me):
    run("git", "init", "-q", "own")
    create("own/file")
    run("git", "-C", "own", "add", "file", env={**os.environ, "GIT_INDEX_FILE": me.new})


@attempt("git-object-variable", "objects into another repository by a variable", judged=OUT)
def _(me):
    run("git", "init", "-q", "own")
    create("own/file")
    run("git", "-C", "own", "add", "file", env={**os.environ, "GIT_OBJECT_DIRECTORY": C.spare + "/.git/objects"})


@attempt("git-trace-variable", "a trace that git writes outside", judged=OUT)
def _(me):
    run("git", "--version", env={**os.environ, "GIT_TRACE": me.new})
    os.stat(me.new)


@attempt("worktree-through-symlink", "a work tree through a linked folder", judged=OUT)
def _(me):
    os.symlink(C.outside, "link")
    run("git", *SAFE, "-C", C.spare, "worktree", "add", "-q", os.path.abspath("link") + "/new-worktree-through-symlink")


@attempt("git-push-to-path", "a push to a path", judged=OUT)
def _(me):
    run("git", "init", "-q", "own")
    run("git", *SAFE, "-C", "own", "commit", "--allow-empty", "-qm", "rogue")
    # The receiving side is a process of its own, which hears of trusted folders by a variable only.
    trusted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    run("git", *SAFE, "-C", "own", "push", "-q", C.spare, "HEAD:refs/heads/pushed", env={**os.environ, **trusted})


# Planted in the copy; each works only if somebody outside runs git there, and then leaves a file that the gate sees.

PLANTED = "planted: it works only if git runs here outside, which the gate looks at"
NOBODY = "git run by the product in the tool's copy, which nobody does"


def planted(name, what):
    def add(plant):
        @attempt(name, what, NOBODY, OUT)
        def _(me):
            plant(me, f"touch {me.new}")
            raise Held(PLANTED)

    return add


@planted("hook-in-the-copy", "hooks")
def _(me, command):
    folder = C.copy + "/.git/hooks"
    os.makedirs(folder, exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change", "fsmonitor-watchman"):
        create(f"{folder}/{name}", f"#!/bin/sh\n{command}\n")
        os.chmod(f"{folder}/{name}", 0o755)


def setting(name, what, text):
    @planted(name, what)
    def _(me, command):
        append(C.copy + "/.git/config", "\n" + text.replace("{run}", command).replace("{outside}", C.outside) + "\n")


setting("config-in-the-copy", "settings that name programs", "[core]\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\tpager = {run}\n\teditor = {run}")
setting("config-hooks-path", "a hooks folder", "[core]\n\thooksPath = {outside}")
setting("config-filter", "a filter", '[filter "rogue"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}')
setting("config-diff", "a program that compares", '[diff]\n\texternal = {run}\n[diff "rogue"]\n\ttextconv = {run}\n\tcommand = {run}')
setting("config-merge", "a program that merges", '[merge "rogue"]\n\tdriver = {run}\n[mergetool "rogue"]\n\tcmd = {run}')
setting("config-credential", "a helper for keys", "[credential]\n\thelper = !{run}\n[core]\n\taskPass = {run}")
setting("config-signing", "a program that signs", "[gpg]\n\tprogram = {run}\n[commit]\n\tgpgSign = true")
setting("config-include", "settings of another file", "[include]\n\tpath = {outside}/included")
setting("config-work-tree", "another work tree", "[core]\n\tworktree = {outside}")
setting("config-alternate-refs", "a program that lists borrowed branches", "[core]\n\talternateRefsCommand = {run}")
setting("config-upload-pack", "a program that serves a fetch", '[remote "origin"]\n\turl = ext::{run}\n\tuploadpack = {run}\n[protocol]\n\tallow = always')


@planted("attributes-in-the-copy", "attributes that ask for a filter")
def _(me, command):
    os.makedirs(C.copy + "/.git/info", exist_ok=True)
    create(C.copy + "/.git/info/attributes", "* filter=rogue diff=rogue merge=rogue\n")


@planted("alternates-in-the-copy", "borrowed objects of another repository")
def _(me, command):
    os.makedirs(C.copy + "/.git/objects/info", exist_ok=True)
    create(C.copy + "/.git/objects/info/alternates", C.spare + "/.git/objects\n")


@planted("common-directory-in-the-copy", "a git directory that is part of another")
def _(me, command):
    create(C.copy + "/.git/commondir", C.spare + "/.git\n")
