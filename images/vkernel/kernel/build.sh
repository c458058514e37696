#!/bin/bash
# Builds the guest kernel with virtual time from Debian's source, as any user, in a scratch folder that it removes:
#
#   build.sh SOURCE.tar.xz TARGET
#
# Prints a line per step, and "N of M" while it compiles; TARGET.log has the rest. What is built depends on the
# source, the files beside this script and the compiler: neither names, paths nor dates go into it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$1 target=$2
files=690 # compiled, measured; for the progress only
mkdir -p "$(dirname "$target")"
scratch=$(mktemp -d "$(dirname "$target")/build.XXXXXX")
log=$target.log
: > "$log"
trap 'code=$?; rm -rf "$scratch"; ((code == 0)) || tail -n 3 "$log" >&2' EXIT

echo "unpacking $source"
# Drivers, sound and other machines' code stay in the archive, but for what Kconfig and make read of it.
tar -xJf "$source" -C "$scratch" --strip-components=1 --wildcards \
  --exclude='*/Documentation/*/*' --exclude='*/tools/testing' --exclude='*/sound/*.[ch]' \
  --exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/net/ethernet/*.[ch]' --exclude='*/drivers/net/wireless/*.[ch]' \
  --exclude='*/drivers/media/*.[ch]' --exclude='*/drivers/staging/*.[ch]' --exclude='*/drivers/infiniband/*.[ch]' \
  --exclude='*/drivers/scsi/*.[ch]' --exclude='*/drivers/usb/*.[ch]' --exclude='*/drivers/iio/*.[ch]' \
  --exclude='*/boot/dts/*' --exclude='linux-source-*/arch/[a-tv-w]*.[chS]' --exclude='linux-source-*/arch/xtensa/*.[chS]' \
  2>> "$log"

echo "patching and configuring"
cd "$scratch"
patch -s -p1 < "$here/time-travel.patch" >> "$log"
export KBUILD_BUILD_TIMESTAMP='2000-01-01' KBUILD_BUILD_USER=ncp KBUILD_BUILD_HOST=testbed KBUILD_BUILD_VERSION=1
make ARCH=um KCONFIG_ALLCONFIG="$here/kernel.config" allnoconfig >> "$log" 2>&1
grep '^CONFIG_' "$here/kernel.config" | while read -r wanted; do
  grep -qx "$wanted" .config || { echo "the kernel's configuration has not $wanted" >&2; exit 1; }
done

done=0
make ARCH=um -j "$(nproc)" linux 2>> "$log" | while IFS= read -r line; do
  printf '%s\n' "$line" >> "$log"
  case $line in
    *"  CC  "*)
      done=$((done + 1))
      ((done % 10)) || echo "$((done < files ? done : files)) of $files"
      ;;
  esac
done
strip -o "$target.new" linux
mv "$target.new" "$target"
