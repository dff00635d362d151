#!/bin/sh
# Starts Redwell from its own tree: nothing of this system's Python is used.
here=$(dirname "$(readlink -f "$0")")
root=$(dirname "$here")
export PYTHONNOUSERSITE=1
unset PYTHONHOME PYTHONPATH PYTHONUSERBASE
export REDWELL_OUTER_LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}"  # for programs of this system that Redwell starts
export LD_LIBRARY_PATH="$root/lib/bundled${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$root/share/fonts/fonts.conf"
[ -d /usr/share/X11/xkb ] || export XKB_CONFIG_ROOT="$root/share/xkb"
# The window without options needs no command line, which takes a third as long to load as the window itself.
if [ "$1" = desktop ] && [ $# -le 2 ] && [ "${2#-}" = "${2-}" ] && [ -z "${REDWELL_CASE_PASSPHRASE-}" ]; then
  shift
  exec "$root/bin/python3.11" -P -m desktop "$@"
fi
exec "$root/bin/python3.11" -P -c "from engine.cli.main import run; run()" "$@"
