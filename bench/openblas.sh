#!/bin/sh
# Compares matrix products with OpenBLAS and puts the table between the marks of a Markdown page:
#   sh bench/openblas.sh docs/performance.md
# OPENBLAS_CORETYPE gives the peer the kernels of a processor that it does not know: SkylakeX are those for AVX-512.
# A C compiler and OpenBLAS's headers must be there; without them the page keeps its old figures, and this fails.
set -eu
page=$1
load='not known'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! grep -q '^<!-- openblas -->$' "$page" || ! grep -q '^<!-- /openblas -->$' "$page"; then
	echo "$page has no lines <!-- openblas --> and <!-- /openblas -->" >&2
	exit 1
fi
if [ -r /proc/loadavg ]; then load=$(cut -d ' ' -f 1 /proc/loadavg); fi
if ! sh kernels/cpu/bench/openblas/run.sh >"$dir/table"; then
	echo "$page keeps its old figures of OpenBLAS" >&2
	exit 1
fi
changed=''
git diff --quiet HEAD -- kernels || changed=', kernels changed since'
{
	echo "$(date -u +%F), revision $(git rev-parse --short HEAD)$changed, load at the start $load${OPENBLAS_CORETYPE:+, OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE}."
	echo
	echo '```'
	cat "$dir/table"
	echo '```'
} >"$dir/part"
sed -i -e '/^<!-- openblas -->$/,/^<!-- \/openblas -->$/{//!d}' -e "/^<!-- openblas -->\$/r $dir/part" "$page"
