# Shared by the scripts of this folder: where things are kept, how steps are told apart.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Outside the checkout, so that a fresh clone on the same machine starts warm.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pacegate-ci
mkdir -p "$cache"

# step NAME COMMAND…: runs it, says how long it took; a failure ends the run and names the step.
step() {
  local name=$1 began=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$name"
  # A function with `set -e` of its own: inside `if` or `||` bash would switch it off.
  set +e
  (set -euo pipefail; "$@")
  status=$?
  set -e
  if [ "$status" -ne 0 ]; then
    printf '=== %s: FAILED with %s after %s s\n' "$name" "$status" $((SECONDS - began)) >&2
    exit "$status"
  fi
  printf '=== %s: ok, %s s\n' "$name" $((SECONDS - began))
}

# packages NAME…: installs Debian packages that are missing.
packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  # The update must not hide that a package can't be had: the install then fails by itself.
  apt-get update -qq || true
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# venv FOLDER REQUIREMENT…: a Python environment with exactly these, made again when they change.
venv() {
  local folder=$1 wanted
  shift
  wanted=$(printf '%s\n' "$@")
  [ "$(cat "$folder/wanted" 2>/dev/null)" = "$wanted" ] && return
  rm -rf "$folder"
  python3.11 -m venv "$folder"
  "$folder/bin/pip" install -q --disable-pip-version-check "$@"
  printf '%s\n' "$wanted" > "$folder/wanted"
}

# servers NAME…: as packages, and none of them is started.
servers() {
  local policy=/usr/sbin/policy-rc.d made='' status=0
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
    made=yes
  fi
  packages "$@" || status=$?
  [ -z "$made" ] || rm -f "$policy"
  return "$status"
}
