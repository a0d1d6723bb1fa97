#!/bin/sh
# A tool for AgentOS in shell: proposes a new file that says who was asked.
#
#   agentos tool conform -- sh scripts/examples/tool.sh
#   agentos run -p tool "sign the guest book" --file README.md -- sh scripts/examples/tool.sh
#
# It reads its one line of JSON without looking into it; a tool that has to would use jq. What it writes to standard
# error is kept in the evidence.
set -eu
request=$(cat)
echo "the task has ${#request} characters" >&2
cat <<'END'
{"type":"progress","note":"signing the guest book"}
{"type":"text","text":"--- /dev/null\n+++ b/guests.txt\n@@ -0,0 +1 @@\n+a tool in shell\n"}
{"type":"final"}
END
