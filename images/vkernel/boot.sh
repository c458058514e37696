#!/bin/bash
# Runs a command in a Linux kernel of its own: Debian's user-mode-linux (6.1, with netem) as a process, in real
# time, on this machine's files, which it can't change. Needs no root.
#
#   boot.sh [-d DIR] [-m MEMORY] [-t SECONDS] [-o] -- COMMAND [ARGUMENT]...
#
#   -d DIR      the only folder that the guest shares writable with this machine (default: a new one in /tmp)
#   -m MEMORY   of the guest (default 512M)
#   -t SECONDS  after which the guest is ended (default 300); waiting for a free core does not count
#   -o          the guest may write anywhere; what it writes is gone with it
#
# Prints what the command printed (DIR has it while it runs: stdout, stderr, kernel.log) and ends with its exit
# code: 125 if the guest did not get that far, 124 after -t.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../.." && pwd)
build=$checkout/.build/vkernel
shared='' memory=512M limit_s=300 overlay=''
while getopts d:m:t:o option; do
  case $option in
    d) shared=$OPTARG ;; m) memory=$OPTARG ;; t) limit_s=$OPTARG ;; o) overlay=1 ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ "${1-}" = -- ] && shift
[ $# -gt 0 ] || { echo "boot.sh: no command" >&2; exit 2; }

shim=$build/xstate-shim.so
if [ ! "$shim" -nt "$here/xstate-shim.c" ]; then
  mkdir -p "$build"
  gcc -O2 -Wall -shared -fPIC -o "$shim.$$" "$here/xstate-shim.c"
  mv "$shim.$$" "$shim"
fi

[ -n "$shared" ] || shared=$(mktemp -d /tmp/ncp-guest.XXXXXX)
shared=$(cd "$shared" && pwd)
printf '%q ' "$@" > "$shared/command"
rm -f "$shared/exit-code"
: > "$shared/stdout"
: > "$shared/stderr"

# On one core a guest's system call costs half of what it does on two. Of the cores that this process may use
# the idlest one that has no guest yet, for two would hold each other up.
idle() { awk '/^cpu[0-9]/ { print substr($1, 4), $5 }' /proc/stat; }
allowed=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)
cores=$(join <(idle | sort) <(sleep 0.3; idle | sort) | awk -v allowed="$allowed" '
  function may(core,  n, i, parts, ends) {
    n = split(allowed, parts, ",")
    for (i = 1; i <= n; i++) {
      split(parts[i], ends, "-")
      if (core >= ends[1] && core <= (ends[2] == "" ? ends[1] : ends[2])) return 1
    }
    return 0
  }
  may($1 + 0) { print $3 - $2, $1 }' | sort -rn | cut -d' ' -f2)
core=''
until [ -n "$core" ]; do
  for candidate in $cores; do
    exec {lock}>"${TMPDIR:-/tmp}/ncp-guest-$UID-core-$candidate.lock"
    if flock -n "$lock"; then core=$candidate; break; fi
    exec {lock}>&-
  done
  [ -n "$core" ] || sleep 1
done

# Before ordinary programs, where that is allowed: what the machine does beside it is not to look like a slow
# link. A guest with nothing to do sleeps, and timeout has the same priority.
priority=()
if chrt --rr 1 true 2>/dev/null; then priority=(chrt --rr 1); fi
# setarch -R: the kernel's own image has a fixed address.
status=0
"${priority[@]}" timeout -k 5 "$limit_s" taskset -c "$core" env LD_PRELOAD="$shim" setarch -R linux.uml \
  mem="$memory" root=/dev/root rootfstype=hostfs rootflags=/ ro init="$here/guest-init" \
  con=null con0=null,fd:1 umid="ncp-guest-$$" uml_dir="$shared" noreboot quiet loglevel=4 \
  guest_shared="$shared" guest_checkout="$checkout" guest_overlay="$overlay" </dev/null >"$shared/kernel.log" 2>&1 || status=$?
cat "$shared/stdout"
cat "$shared/stderr" >&2
[ "$status" != 124 ] || exit 124
if [ ! -s "$shared/exit-code" ]; then
  echo "boot.sh: the guest ended ($status) before its command did; see $shared/kernel.log" >&2
  exit 125
fi
exit "$(cat "$shared/exit-code")"
