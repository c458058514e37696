#!/usr/bin/env bash
# Changes the judges and the policies a little, one place at a time, and sees whether a test notices: docs/results/mutants.md.
# Takes minutes to hours; no part of ./run.sh test, which has to have set the machine up before:
#   tests/mutants/run.sh python [PATTERN…]   e.g. 'testbed.judge.status*'; the changed copies are in mutants/. Stopped by
#                                            Ctrl-C and begun again without a pattern, it goes on with what is left.
#   tests/mutants/run.sh go                  ncp-agent/policy
# A change that no test noticed is shown by: .venv/bin/python -m mutmut show NAME
set -euo pipefail
cd "$(dirname "$0")/../.."

python() {
    .venv/bin/python -I testbed/machine/packages.py mutants
    PYTHONUTF8=1 nice -n 19 .venv/bin/python tests/mutants/mutate.py run "$@"
    .venv/bin/python -m mutmut results # those that live
    .venv/bin/python -m mutmut results --all true | sed -E 's/^ +//; s/\.x(_|ǁ)[^:]*:/:/' | sort | uniq -c
}

# Not --test-cpu: gremlins 0.6.0 hands it on as one word, each run of the tests then ends in an error, and each change
# counts as noticed. A busy machine must not stop tests that would pass, hence the long timeout.
go_policies() {
    local gremlins=$PWD/.build/bin/gremlins
    (cd tests/mutants && go build -o "$gremlins" github.com/go-gremlins/gremlins/cmd/gremlins)
    nice -n 19 "$gremlins" unleash ./ncp-agent/policy --timeout-coefficient 60 --invert-assignments --invert-bitwise \
        --invert-bwassign --invert-logical --invert-loopctrl --remove-self-assignments
}

case ${1:-} in
    python) shift; python "$@" ;;
    go) go_policies ;;
    *) echo "tests/mutants/run.sh: python or go, not '${1:-}'" >&2; exit 2 ;;
esac
