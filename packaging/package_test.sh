#!/usr/bin/env bash
# Install a .deb in a bare Debian 12 that has no network, compiler or Python, and use it there: as root.
#
#   bash packaging/package_test.sh dist/redwell_0.2.0_amd64.deb [FOLDER]
#
# FOLDER (build/package-test if not given) gets the bare system, and a screenshot of the window's first start. The models
# are those of this machine's cache. Needs debootstrap, xvfb and imagemagick; what is missing is installed.
set -euo pipefail
deb=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(realpath -m "${2:-build/package-test}")
models=${REDWELL_CACHE:-$HOME/.cache/redwell}/models
say() { printf '==> %s (after %s s)\n' "$*" "$SECONDS"; }
fail() { printf 'package_test.sh: %s\n' "$*" >&2; exit 1; }

for tool in debootstrap:debootstrap Xvfb:xvfb import:imagemagick; do
  command -v "${tool%%:*}" > /dev/null || apt-get install -y -qq --no-install-recommends "${tool##*:}" > /dev/null
done
mkdir -p "$work"
if [[ ! -e $work/base/etc/debian_version ]]; then
  say "a bare Debian 12"
  debootstrap --variant=minbase bookworm "$work/base" > "$work/debootstrap.log" 2>&1 || fail "see $work/debootstrap.log"
fi
root=$work/root
mounts=()
leave() {
  for place in "${mounts[@]}"; do umount -l "$place"; done
  [[ -z ${screen:-} ]] || kill "$screen"
}
trap leave EXIT
rm -rf "$root"
cp -a "$work/base" "$root"
mount --bind /proc "$root/proc"; mounts+=("$root/proc")
mount --bind /dev "$root/dev"; mounts+=("$root/dev")
mkdir -p "$root/root/records" "$root/root/models" "$root/tmp/.X11-unix"
cp -a examples/police/records/. "$root/root/records/"
cp examples/police/officers.yaml "$root/root/"
mount --bind "$models" "$root/root/models"; mounts+=("$root/root/models")
cp "$deb" "$root/root/redwell.deb"
# A network of its own, in which there is nothing.
inside() { unshare --net chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"; }

for tool in python3 cc gcc clang; do
  if inside sh -c "command -v $tool" > /dev/null; then fail "the bare system has $tool"; fi
done
say "apt install ./redwell.deb"
inside sh -c 'cd /root && apt-get install -y ./redwell.deb' > "$work/install.log" 2>&1 || { tail -5 "$work/install.log"; fail "apt-get"; }
du -sm "$root/opt/redwell" | awk '{print "    installed: " $1 " MB"}'
inside redwell --version
inside sh -c 'for n in 1 2 3; do s=$(date +%s%N); redwell --version > /dev/null; e=$(date +%s%N); echo "    --version: $(((e - s) / 1000000)) ms"; done'
say "the models of this machine, taken in"
inside redwell models add /root/models
inside redwell doctor || true
if [[ -n ${WITH_DEMO:-} ]]; then
  say "the demo's table"
  inside sh -c 'cd /root && redwell run officers.yaml --input records --case demo.redwell --out officers.csv' | tail -40
  [[ $(wc -l < "$root/root/officers.csv") -gt 5 ]] || fail "the table is empty"
fi
say "the window's first start"
Xvfb :97 -screen 0 1280x900x24 > /dev/null 2>&1 & screen=$!
mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"; mounts+=("$root/tmp/.X11-unix")
inside env DISPLAY=:97 redwell desktop > "$work/window.log" 2>&1 & window=$!
sleep 15
DISPLAY=:97 import -window root "$work/first-start.png"
kill -0 "$window" || { tail -5 "$work/window.log"; fail "the window has ended"; }
kill "$window"
say "removed again"
inside apt-get remove -y redwell > "$work/remove.log" 2>&1
[[ ! -e $root/opt/redwell/bin/python3.11 ]] || fail "the tree is still there"
[[ -d $root/root/.cache/redwell ]] || fail "the user's models are gone"
say "passed; the picture is $work/first-start.png"
