#!/bin/sh
# Required parameters:
# @raycast.schemaVersion 1
# @raycast.title Search My Files
# @raycast.mode fullOutput
# Optional parameters:
# @raycast.packageName dirindex
# @raycast.description Find passages in your own files, by meaning and by words
# @raycast.argument1 { "type": "text", "placeholder": "question or words" }

exec dirindex search --quiet --format md -- "$1"
