"""How many commits of real repositories the presets would ask about because of a loss.

    python3 scripts/bench/ask_rate.py [--commits 200] [--list] REPOSITORY...

Each repository is a git directory with a history. Its last commits without merges are decided as if each were the change of a tool, by
`PolicySet::decide` in the example `ask_rate` of agentos-policy, which prints the table.
"""

import argparse
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
EMPTY = b"0" * 40


def git(repository, *words):
    return subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True).stdout


class Objects:
    """Objects of a repository, read by one `git cat-file`."""

    def __init__(self, repository):
        command = ["git", "-C", repository, "cat-file", "--batch"]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, object_id):
        """Returns the content, or None if this copy of the repository lacks it."""
        self.program.stdin.write(object_id + b"\n")
        self.program.stdin.flush()
        header = self.program.stdout.readline().split()
        if header[1] == b"missing":
            return None
        content = self.program.stdout.read(int(header[2]))
        self.program.stdout.read(1)
        return content


def read_files(repository, objects, commit):
    """Returns the lines and contents of a commit's files, or None if one is a submodule or missing."""
    words = git(repository, "diff-tree", "-r", "--root", "--no-commit-id", "--no-renames", "-z", commit).split(b"\0")
    files = []
    for about, path in zip(words[0::2], words[1::2]):
        old_mode, new_mode, old, new, _ = about.lstrip(b":").split(b" ")
        contents = [b"" if name == EMPTY else objects.read(name) for name in (old, new) if b"160000" not in (old_mode, new_mode)]
        if len(contents) < 2 or None in contents or b"\n" in path:
            return None
        sizes = [str(len(content)).encode() for content in contents]
        files.append(b" ".join([old_mode, sizes[0], new_mode, sizes[1], path]) + b"\n" + contents[0] + contents[1])
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--list", action="store_true", help="print each commit that the limits of the presets ask about")
    parser.add_argument("repositories", nargs="+")
    chosen = parser.parse_args()
    command = ["cargo", "run", "-q", "-p", "agentos-policy", "--example", "ask_rate", "--"]
    table = subprocess.Popen(command + ["--list"] * chosen.list, cwd=TOP, stdin=subprocess.PIPE)
    for repository in chosen.repositories:
        name = "/".join(Path(repository).resolve().parts[-2:])
        table.stdin.write(f"repository {name}\n".encode())
        objects = Objects(repository)
        for commit in git(repository, "rev-list", "--no-merges", f"--max-count={chosen.commits}", "HEAD").decode().split():
            files = read_files(repository, objects, commit)
            if files is None:
                table.stdin.write(f"skip {commit}\n".encode())
            else:
                table.stdin.write(f"commit {commit} {len(files)}\n".encode() + b"".join(files))
        objects.program.stdin.close()
        objects.program.wait()
    table.stdin.close()
    return table.wait()


if __name__ == "__main__":
    sys.exit(main())
