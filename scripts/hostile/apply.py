#!/usr/bin/env python3
"""Runs `agentos apply` on one case of a hostile corpus whose cases bring a policy of their own.

The case's policy (JSON: `allow_exec`, `protected`) becomes the policy of a user, in a settings folder of the case's
own, and nothing else: the flags stay as they are given, and nothing is consented to beforehand.

    run_hostile.py --tool 'python3 scripts/hostile/apply.py {policy} {tmp} agentos apply {patch} --repo {repo} --no-commit'
"""

import json
import os
import sys


def translated(case):
    """Returns the policy file with the meaning of a case's policy."""
    unknown = set(case) - {"allow_exec", "protected"}
    if unknown:
        sys.exit(f"apply.py: no translation for {', '.join(sorted(unknown))}")
    lines = ["version = 1"]
    if case.get("allow_exec"):
        # The preset that lets executable bits change without a person.
        lines.append('preset = "solo"')
    if case.get("protected"):
        globs = [glob if "/" in glob else f"**/{glob}" for glob in case["protected"]]
        lines += ["[[rule]]", 'id = "protected"', 'effect = "deny"', 'why = "the case protects it"']
        lines += ['action = ["create", "modify", "delete", "rename", "chmod"]', f"paths = {json.dumps(globs)}"]
    return "\n".join(lines) + "\n"


def main():
    """Writes the policy file and becomes the command."""
    policy, tmp, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(policy, encoding="utf-8") as file:
        case = json.load(file)
    settings = os.path.join(tmp, "settings")
    if case:
        folder = os.path.join(settings, "agentos", "policy")
        os.makedirs(folder)
        with open(os.path.join(folder, "case.toml"), "w", encoding="utf-8") as file:
            file.write(translated(case))
    os.environ["XDG_CONFIG_HOME"] = settings
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
