#!/usr/bin/env bash
# Makes the Python environment when it is missing or out of date, then runs the command line.
# What a machine needs beyond that (Docker, Mininet, …) is checked and installed by the command line itself.
set -euo pipefail

root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
venv=$root/.venv
log=$root/.build/setup.log
of_uv=$root/playbooks/files/uv.txt
locks=("$of_uv" "$root/uv.lock")
oldest=10 # of Python 3
# What apt, pip and uv say when they can't reach their registry, and where the disk is full.
unreachable='(Temporary failure|NewConnectionError|NameResolutionError|SSLError|invalid peer certificate|[Cc]onnection refused|[Tt]imed out).*'
full='No space left on device'

say() { printf '%s\n' "$*" >&2; }
cannot() { say "ncp-testbed: $*"; exit 4; }

usable() { "$1" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, $oldest))" 2>/dev/null; }

# Debian's Mininet is importable only by Debian's own Python, so that one comes first.
find_python() {
    local name
    for name in /usr/bin/python3 python3 python3.13 python3.12 python3.11 python3.10; do
        if usable "$name"; then command -v "$name"; return; fi
    done
    return 1
}

# Changes with the locks and with the interpreter that the environment was made from.
stamp() { { cat "${locks[@]}"; readlink -f "$venv/bin/python"; } | sha256sum; }
up_to_date() { [[ -x $venv/bin/python && -f $venv/stamp && $(<"$venv/stamp") == "$(stamp)" ]]; }

# step NAME COMMAND…: one line with the seconds it took; the command's own output goes to the log.
step() {
    local name=$1 start=$SECONDS first why
    shift
    first=$(wc -l <"$log")
    printf '  %-48s' "$name" >&2
    printf '== %s: %s\n' "$name" "$*" >>"$log"
    if "$@" >>"$log" 2>&1 </dev/null; then
        printf '%4d s\n' "$((SECONDS - start))" >&2
        return
    fi
    printf 'failed after %d s\n' "$((SECONDS - start))" >&2
    if tail -n "+$first" "$log" | grep -q "$full"; then
        cannot "\"$name\" failed: no space left on the disk of $root or of ${TMPDIR:-/tmp}; set-up takes about 1 GiB. Log: $log"
    fi
    why=$(tail -n "+$first" "$log" | grep -Eo -m1 "$unreachable" || true)
    cannot "\"$name\" failed${why:+: the package registry could not be reached (${why:0:160})}. Log: $log"
}

# holder FILE: the process that wrote its pid there when it took the lock.
holder() {
    local pid
    pid=$(cat "$1" 2>/dev/null || true)
    [[ -r /proc/${pid:-none}/cmdline ]] || { echo "another process"; return; }
    echo "$(tr '\0' ' ' <"/proc/$pid/cmdline")(pid $pid, since $(stat -c %y "/proc/$pid" | cut -c12-19))"
}

apt_python() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update && apt-get install -y --no-install-recommends python3 python3-venv
}

set_up() {
    local python
    if ! mkdir -p "$root/.build" 2>/dev/null || [[ ! -w $root/.build ]]; then
        cannot "can't write to $root/.build, where set-up keeps its log"
    fi
    exec 9>"$root/.build/setup.flock"
    trap 'say; say "stopped; the same command goes on with the set-up"; exit 130' INT TERM
    local wait=3
    until flock -w "$wait" 9; do # another run.sh of this checkout is doing the same
        wait=30
        say "waiting for the set-up of this checkout: $(holder "$root/.build/setup.pid")"
    done
    echo "$$" >"$root/.build/setup.pid"
    if up_to_date; then return; fi
    : >"$log"
    say "Setting up $venv: Python packages as pinned in uv.lock. Log: $log"
    if ! find_python >/dev/null; then
        command -v apt-get >/dev/null || cannot "needs Python 3.$oldest or newer with its venv module"
        ((EUID == 0)) || cannot "needs Python 3.$oldest or newer with its venv module; as root: apt-get install python3 python3-venv"
        step "apt: python3, python3-venv" apt_python
    fi
    python=$(find_python) || cannot "the distribution's python3 is older than 3.$oldest; install a newer one"
    if [[ ! -x $venv/bin/pip || $(readlink -f "$venv/bin/python") != "$(readlink -f "$python")" ]]; then
        step "virtual environment ($python)" "$python" -m venv --clear --system-site-packages "$venv"
    fi
    step "uv" "$venv/bin/python" -m pip install --disable-pip-version-check --retries 2 --no-compile \
        --only-binary :all: --require-hashes -r "$of_uv"
    step "Python packages" "$venv/bin/python" -I "$root/testbed/machine/packages.py" setup testbed
    stamp >"$venv/stamp"
    trap - INT TERM
    exec 9>&-
}

# Go, Matplotlib and Ansible keep their caches in the home folder. A service may leave HOME unset, an account have none.
export HOME=${HOME-~}
if [[ ! -w $HOME ]]; then
    say "HOME=$HOME: there is no such folder that you may write to; caches go to $root/.build/home"
    export HOME=$root/.build/home
fi

arguments=()
for argument in "$@"; do
    if [[ $argument == --no-setup ]]; then export NCP_TESTBED_NO_SETUP=1; else arguments+=("$argument"); fi
done

if ! up_to_date; then
    if [[ ${NCP_TESTBED_NO_SETUP:-} == 1 ]]; then
        find_python >/dev/null || say "missing: Python 3.$oldest or newer with its venv module (Debian: python3, python3-venv)"
        say "missing: $venv with the packages of uv.lock"
        cannot "this machine is not set up; run the same command without --no-setup"
    fi
    set_up
fi

export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # where `su` leaves them out
export PYTHONUTF8=1 # whatever the locale: YAML, telemetry and reports are UTF-8
unset PYTHONIOENCODING # which would still choose another for what is printed
unset PYTHONDONTWRITEBYTECODE # compiling all that is imported takes seconds each time
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
exec "$venv/bin/python" -m testbed "${arguments[@]}"
