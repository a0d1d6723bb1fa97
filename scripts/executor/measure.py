"""Runs commands one after the other and reports their time and memory.

Owns: the clock and the kernel's own account (`wait4`), which Rust's standard library cannot ask for. Called by
`cargo xtask bench` as `measure.py FOLDER COMMAND... -- COMMAND...`; never by a test. Prints one line of JSON:
milliseconds of wall time and of processor time, the largest resident memory in KiB, and the first exit code that is not 0.

The kernel counts the memory of a process before it became the command, so no figure is below this program's own size.
"""

import json
import os
import sys
import time

folder, words = sys.argv[1], sys.argv[2:]
commands, command = [], []
for word in words + ["--"]:
    if word == "--":
        commands.append(command)
        command = []
    else:
        command.append(word)
os.chdir(folder)
nothing = os.open(os.devnull, os.O_RDWR)
streams = [(os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, nothing, 1)]
milliseconds, busy, memory, code = 0.0, 0.0, 0, 0
for command in commands:
    begun = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=streams)
    _, status, usage = os.wait4(child, 0)
    milliseconds += (time.perf_counter() - begun) * 1000
    busy += (usage.ru_utime + usage.ru_stime) * 1000
    memory = max(memory, usage.ru_maxrss)
    code = code or os.waitstatus_to_exitcode(status)
print(json.dumps({"ms": milliseconds, "cpu_ms": busy, "kib": memory, "code": code}))
