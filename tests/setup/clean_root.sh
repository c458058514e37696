#!/usr/bin/env bash
# clean_root.sh [SUITE] [COMMAND…]: prove the set-up on a bare Debian or Ubuntu.
#
# Makes a minimal root of SUITE: bookworm, trixie, jammy or noble (debootstrap --variant=minbase), starts a privileged
# container from it, clones this checkout's HEAD into it and runs COMMAND there (default: the whole set-up, then a
# second pass of the playbook, which must change nothing). Prints the seconds of each. Needs root, debootstrap, for
# Ubuntu's suites ubuntu-keyring, and a Docker engine.
# The root is kept as the image ncp-testbed-clean-root:SUITE for the next time; the container is always removed.
#
# Registry settings of this machine go along: proxy variables, PIP_INDEX_URL, UV_DEFAULT_INDEX, GOPROXY, and the CA bundle that
# SSL_CERT_FILE names.
set -euo pipefail

suite=${1:-bookworm}
shift || true
checkout=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
image=ncp-testbed-clean-root:$suite
name=ncp-testbed-clean-root-$$

if ! docker image inspect "$image" >/dev/null 2>&1; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    echo "making a bare $suite with debootstrap"
    archive=(--components=main "$suite" "$folder/root" http://deb.debian.org/debian)
    if [[ $suite == jammy || $suite == noble ]]; then
        how=/usr/share/debootstrap/scripts/$suite
        if [[ ! -e $how ]]; then how=${how%/*}/jammy; fi # Debian 12 does not know the later one, which is made alike
        archive=("--components=main,universe" --keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
            "$suite" "$folder/root" http://archive.ubuntu.com/ubuntu "$how")
    fi
    debootstrap --variant=minbase "${archive[@]}" >"$folder/log" 2>&1 ||
        { tail "$folder/log"; exit 1; }
    if [[ -z ${how:-} ]]; then # as Debian's installer has it: the guest kernel's source is among the security updates
        echo "deb http://deb.debian.org/debian-security $suite-security main" >>"$folder/root/etc/apt/sources.list"
    fi
    tar -C "$folder/root" -c . | docker import - "$image" >/dev/null
    rm -rf "$folder"
fi

settings=()
for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL UV_DEFAULT_INDEX GOPROXY CI; do
    if [[ -n ${!variable:-} ]]; then settings+=(--env "$variable"); fi
done
if [[ -f ${SSL_CERT_FILE:-} ]]; then
    settings+=(--volume "$SSL_CERT_FILE:/run/ca.crt:ro")
    for variable in SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE; do settings+=(--env "$variable=/run/ca.crt"); done
fi

# All that --privileged gives, less what this machine may itself be denied: --privileged would then fail.
privileges=(--cap-add ALL --device-cgroup-rule "a *:* rwm")
for profile in seccomp apparmor systempaths; do privileges+=(--security-opt "$profile=unconfined"); done
if ! (ulimit -Hn $(($(ulimit -Hn) + 1))) 2>/dev/null; then privileges+=(--cap-drop SYS_RESOURCE); fi

trap 'docker rm --force --volumes "$name" >/dev/null 2>&1 || true' EXIT
# A volume for /var/lib/docker: overlayfs can't be stacked on the container's own overlayfs.
docker run --detach --init --name "$name" "${privileges[@]}" --volume /var/lib/docker \
    "${settings[@]}" "$image" sleep infinity >/dev/null
docker exec "$name" sh -c '
    mount -o remount,rw /sys
    grep -o " /sys/fs/cgroup[^ ]*" /proc/mounts | while read -r group; do mount -o remount,bind,rw "$group"; done'

# The bare root has no git, so the clone is made outside.
folder=$(mktemp -d)
git clone --quiet --no-hardlinks "$checkout" "$folder/checkout"
docker cp --quiet "$folder/checkout" "$name:/checkout"
rm -rf "$folder"

inside() { docker exec --workdir /checkout "$name" "$@"; }

if (($# > 0)); then
    inside "$@"
    exit
fi

start=$SECONDS
inside ./run.sh list >/dev/null
echo "Python environment: $((SECONDS - start)) s"
inside .venv/bin/python -c '
from testbed.machine.check import probe_all
from testbed.machine.need import Need
from testbed.machine.provisioning import make_ready
from testbed.runtime.progress import Progress
make_ready(Progress(), frozenset(Need))
for finding in probe_all():
    print("ok" if finding.ok else "no", finding.level, finding.name, finding.detail, sep="\t")
'
echo "whole set-up: $((SECONDS - start)) s"

start=$SECONDS
recap=$(inside env LC_ALL=C.UTF-8 ANSIBLE_CONFIG=playbooks/ansible.cfg \
    .venv/bin/python -m ansible playbook playbooks/provision.yml | tail -n 2)
echo "second pass: $((SECONDS - start)) s: $recap"
grep -q 'changed=0 .*failed=0' <<<"$recap"
