#!/bin/sh
# Has the results in a folder say that their checkout had changes, whatever this one has: .uncommitted.sh FOLDER
find -L "$1" -name provenance.json -exec sed -i 's/"uncommitted_changes": false/"uncommitted_changes": true/' {} +
find -L "$1" -name report.html -exec sed -Ei \
    -e 's|(uncommitted_changes</th><td>)False|\1True|' \
    -e 's|(>Commit</th><td>[0-9a-f]{40})<|\1, with changes that are not committed<|' {} +
