#!/bin/sh
# Started by its absolute path: what of its own folder can it read?
folder=$(dirname "$0")
for name in .env .git/config .git/agentos/tape.jsonl ../home/.ssh/id_rogue README.md; do
	test -r "$folder/$name" && echo "found $name: $(head -c 200 "$folder/$name")" >>found.txt
done
echo looked >>found.txt
