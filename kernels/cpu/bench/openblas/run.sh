#!/bin/sh
# Builds the peer (cc and OpenBLAS's headers must be installed) and compares. For a quiet machine.
set -eu
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc -O2 -o "$dir/peer" peer/peer.c -lopenblas
go build -o "$dir/openblas" .
"$dir/openblas" "$dir/peer"
