#!/usr/bin/env bash
# Install what `make package` made in a bare Debian 12 that has no network, compiler or Python, and use it: as root.
#
#   bash packaging/package_test.sh dist [FOLDER]
#
# FOLDER (build/package-test if not given) gets the bare systems and the screenshots. WITH_DEMO=1 asks the demo's question
# as well. Models are those of redwell-models_*.deb where it was made, else of this machine's cache. An AppImage is started
# in a second bare system. Needs debootstrap, xvfb, xdotool and imagemagick; what is missing is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath "${1:-dist}")
work=$(realpath -m "${2:-build/package-test}")
models=${REDWELL_CACHE:-$HOME/.cache/redwell}/models
say() { printf '==> %s (after %s s)\n' "$*" "$SECONDS"; }
fail() { printf 'package_test.sh: %s\n' "$*" >&2; exit 1; }
newest() { find "$dist" -maxdepth 1 -name "$1" -printf '%T@ %p\n' | sort -rn | head -1 | cut -d' ' -f2-; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

deb=$(newest 'redwell_*_amd64.deb'); models_deb=$(newest 'redwell-models_*_all.deb'); appimage=$(newest '*.AppImage')
vulkan_deb=$(newest 'redwell-vulkan_*_amd64.deb')
[[ -n $deb ]] || fail "there is no redwell_*_amd64.deb in $dist: make package"
for tool in debootstrap:debootstrap Xvfb:xvfb import:imagemagick xdotool:xdotool; do
  command -v "${tool%%:*}" > /dev/null || apt-get install -y -qq --no-install-recommends "${tool##*:}" > /dev/null
done
mkdir -p "$work"
if [[ ! -e $work/base/etc/debian_version ]]; then
  say "a bare Debian 12"
  debootstrap --variant=minbase bookworm "$work/base" > "$work/debootstrap.log" 2>&1 || fail "see $work/debootstrap.log"
fi
mounts=()
leave() {
  for place in "${mounts[@]}"; do umount -l "$place"; done
  [[ -z ${screen:-} ]] || kill "$screen"
}
trap leave EXIT
join() { mkdir -p "$2"; mount --bind "$1" "$2"; mounts+=("$2"); }
Xvfb :97 -screen 0 1280x900x24 > /dev/null 2>&1 & screen=$!

# A bare system; sets `root`. `inside` runs a program there, with a network of its own in which there is nothing.
bare_system() {
  root=$work/$1
  # A test that was killed leaves /dev mounted there: what is removed then are the devices of this machine.
  if grep -q " $root/" /proc/mounts; then fail "something is still mounted below $root: umount it (see /proc/mounts)"; fi
  rm -rf --one-file-system "$root"
  cp -a "$work/base" "$root"
  join /proc "$root/proc"; join /dev "$root/dev"; join /tmp/.X11-unix "$root/tmp/.X11-unix"
  mkdir -p "$root/root/records"
  cp -a examples/police/records/. "$root/root/records/"
  cp examples/police/officers.yaml "$root/root/"
  for tool in python3 cc gcc clang; do
    if inside sh -c "command -v $tool" > /dev/null; then fail "the bare system has $tool"; fi
  done
}
inside() { unshare --net chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"; }
apt_install() {
  cp "$1" "$root/root/new.deb"
  inside sh -c 'cd /root && apt-get install -y ./new.deb' > "$work/apt.log" 2>&1 || { tail -5 "$work/apt.log"; fail "apt-get"; }
  rm "$root/root/new.deb"
}

# How long a program takes to show its window, three times; then a picture of it.
open_window() {
  local picture=$1 window turn began
  shift
  for turn in 1 2 3; do
    began=$(milliseconds)
    inside env DISPLAY=:97 "$@" > "$work/window.log" 2>&1 & window=$!
    until [[ -n $(DISPLAY=:97 xdotool search --onlyvisible --name Redwell 2> /dev/null) ]]; do
      kill -0 "$window" 2> /dev/null || { tail -5 "$work/window.log"; fail "the window has ended"; }
      (($(milliseconds) - began < 60000)) || fail "no window within a minute"
      sleep 0.02
    done
    echo "    the window, time $turn: $(($(milliseconds) - began)) ms"
    sleep 12
    DISPLAY=:97 import -window root "$picture"
    DISPLAY=:97 xdotool search --onlyvisible --name Redwell windowkill %@ 2> /dev/null || true
    kill "$window" 2> /dev/null || true
    wait "$window" || true
    sleep 2
  done
}
ask_the_demo() { # NAME COMMAND...
  [[ -n ${WITH_DEMO:-} ]] || return 0
  local name=$1
  shift
  say "the demo's table"
  inside "$@" run /root/officers.yaml --input /root/records --case /root/demo.redwell --out /root/officers.csv \
    > "$work/demo.log" 2>&1 || { tail -5 "$work/demo.log"; fail "the demo"; }
  cp "$root/root/officers.csv" "$work/$name.csv"
  grep ' rows' "$work/demo.log" | tail -1
  [[ $(wc -l < "$work/$name.csv") -gt 5 ]] || fail "the table is empty"
}

bare_system deb
say "an older package, and a case made with it"
dpkg-deb -R "$deb" "$work/older"
sed -i 's/^Version: .*/Version: 0.0.1/' "$work/older/DEBIAN/control"
dpkg-deb -Znone --build "$work/older" "$work/older.deb" > /dev/null
apt_install "$work/older.deb"
rm -rf "$work/older" "$work/older.deb"
inside redwell ingest /root/records/08_property_room_memo.txt --case /root/old.redwell > "$work/ingest.log"
say "apt install ./redwell.deb over it"
apt_install "$deb"
inside dpkg-query -W -f '    ${Package} ${Version}\n' redwell
inside redwell search /root/old.redwell property > "$work/search.log" || fail "the case cannot be searched"
head -1 "$work/search.log"
du -sm "$root/opt/redwell" | awk '{print "    installed: " $1 " MiB"}'
for turn in 1 2 3; do
  began=$(milliseconds); inside redwell --version > /dev/null; echo "    --version: $(($(milliseconds) - began)) ms"
done
if [[ -n $models_deb ]]; then
  say "apt install ./redwell-models.deb"
  apt_install "$models_deb"
else
  say "the models of this machine, taken in"
  join "$models" "$root/root/models"
  inside redwell models add /root/models
fi
inside redwell doctor || true
if [[ -n $vulkan_deb ]]; then
  say "apt install ./redwell-vulkan.deb, with Vulkan's loader and without a driver"
  (cd "$root/root" && apt-get download libvulkan1 2> /dev/null) || fail "libvulkan1 cannot be had"
  cp "$vulkan_deb" "$root/root/vulkan.deb"
  inside sh -c 'cd /root && apt-get install -y --no-install-recommends ./libvulkan1*.deb ./vulkan.deb' > "$work/apt.log" 2>&1 \
    || { tail -5 "$work/apt.log"; fail "apt-get"; }
  inside env REDWELL_GPU_LAYERS=999 redwell doctor > "$work/doctor.log" || true
  grep -q "has no graphics card that it can use" <(tr -s ' \n' ' ' < "$work/doctor.log") || fail "see $work/doctor.log"
fi
ask_the_demo deb redwell
say "the window's first start"
open_window "$work/first-start.png" redwell desktop
say "removed again"
inside apt-get remove -y redwell > "$work/remove.log" 2>&1  # and redwell-vulkan, which needs it
[[ ! -e $root/opt/redwell/bin/python3.11 ]] || fail "the tree is still there"
[[ -e $root/root/old.redwell && -d $root/root/.cache/redwell ]] || fail "the user's case or cache is gone"

if [[ -n $appimage ]]; then
  say "the AppImage, in a system of its own"
  bare_system appimage
  cp "$appimage" "$root/root/Redwell.AppImage"
  start=(/root/Redwell.AppImage)
  if ! inside "${start[@]}" --version > "$work/mount.log" 2>&1; then
    echo "    it cannot be mounted there, so it is unpacked at each start: $(tail -1 "$work/mount.log")"
    start=(env APPIMAGE_EXTRACT_AND_RUN=1 /root/Redwell.AppImage)
  fi
  inside "${start[@]}" --version
  inside "${start[@]}" doctor || true
  ask_the_demo appimage "${start[@]}"
  open_window "$work/first-start-appimage.png" "${start[@]}"
fi
say "passed; the pictures are in $work"
