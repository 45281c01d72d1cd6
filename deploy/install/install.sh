#!/bin/sh
# Installs Dragoman @VERSION@ with a Node.js of its own; curl and tar are all that it needs:
#
#   curl -fsSL @URL@/install.sh | sh
#
# DRAGOMAN_PREFIX is where (default: ~/.local): PREFIX/lib/dragoman/@VERSION@, and the command PREFIX/bin/dragoman.
# DRAGOMAN_DOWNLOADS is another address with the same files, such as a mirror.
set -eu

version=@VERSION@
downloads=${DRAGOMAN_DOWNLOADS:-@URL@}
prefix=${DRAGOMAN_PREFIX:-$HOME/.local}

fail() {
  echo "dragoman: $1" >&2
  exit 1
}

sum_of() {
  case $1 in
@SUMS@
    *) fail "there is no tarball for $1: install Node.js 22.13 or later, then run: npm install --global dragoman" ;;
  esac
}

platform() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) system=linux-x64 ;;
    Linux-aarch64 | Linux-arm64) system=linux-arm64 ;;
    Darwin-arm64) system=darwin-arm64 ;;
    *) system=$(uname -s)-$(uname -m) ;;
  esac
  # Node.js as it is published needs the GNU C library.
  if [ "${system#linux}" != "$system" ] && ls /lib/ld-musl-* >/dev/null 2>&1; then system=$system-musl; fi
  echo "$system"
}

checksum() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1" | cut -d ' ' -f 1
  else
    shasum -a 256 "$1" | cut -d ' ' -f 1
  fi
}

main() {
  system=$(platform)
  expected=$(sum_of "$system") || exit 1
  name=dragoman-$version-$system
  lib=$prefix/lib/dragoman
  mkdir -p "$lib" "$prefix/bin"
  work=$(mktemp -d "$lib/.install-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM
  echo "dragoman: fetching $downloads/$name.tar.gz" >&2
  curl -fSL --progress-bar -o "$work/$name.tar.gz" "$downloads/$name.tar.gz" || fail "$downloads/$name.tar.gz cannot be fetched"
  found=$(checksum "$work/$name.tar.gz")
  [ "$found" = "$expected" ] || fail "the checksum of $name.tar.gz is $found, and not $expected: nothing was installed"
  tar -xzf "$work/$name.tar.gz" -C "$work"
  "$work/$name/bin/dragoman" --version >/dev/null || fail "$name does not run on this machine: nothing was installed"
  rm -rf "${lib:?}/$version"
  mv "$work/$name" "$lib/$version"
  ln -sf "../lib/dragoman/$version/bin/dragoman" "$prefix/bin/dragoman"
  echo "dragoman: $version is installed: $prefix/bin/dragoman" >&2
  case :$PATH: in
    *":$prefix/bin:"*) echo "dragoman: start it with: dragoman serve" >&2 ;;
    *) echo "dragoman: add $prefix/bin to your PATH, or start it with: $prefix/bin/dragoman serve" >&2 ;;
  esac
}

# The last line: a script that arrives in part does nothing.
main
