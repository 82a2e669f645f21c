#!/usr/bin/env bash
# Measures the figures in docs/PERFORMANCE.md. Each part is written to the document, below its
# commands, as soon as it is complete. An interrupted run therefore loses only the current part.
# `make performance` sets these variables:
#
#   PARTS   parts to measure, in order; default: machine side realistic growth waits providers estates postgres
#   MIRROR  the test providers, as built by `make providers`
#   REF     a program to compare with, at sizes that it can handle; may be empty
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

doc=docs/PERFORMANCE.md
bench=build/bench/bench
mkdir -p build/bench
go build -o "$bench" ./testing/bench

# Each part has a title, which is the heading of its section in the document, and a function that
# prints the section's content.
declare -A titles=(
	[machine]='The machine'
	[side]='Side by side'
	[realistic]='Blocks as people write them'
	[growth]='Growth'
	[waits]='What waits for what'
	[providers]='Providers'
	[estates]='Many root modules'
	[postgres]='State in PostgreSQL'
)

# measure ARGUMENT…: prints the command of a benchmark run, then its results. The time of version, which is
# subtracted for growth, is shown side by side only.
measure() {
	printf '\n    go run ./testing/bench %s\n' "$*"
	{ "$bench" "$@" || printf '\n**Some measurements failed.**\n'; } |
		if [ "${start:-}" = yes ]; then printf '\n' && cat; else grep -v '^\(other \)\?version: '; fi
}

machine() {
	printf -- '- %s, %s, %s processors, load %s\n' "$(date -u +%F)" "$(uname -sm)" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)"
	printf -- '- %s, %s\n' "$(go version | cut -d' ' -f3)" "$(git log -1 --format='commit %h')"
	make -s build GOLINK='-s -w' OUT=build/bench/stripped
	printf -- '- the program stripped: %s MB\n' "$(($(stat -c %s build/bench/stripped) / 1000000))"
	if [ -n "${REF:-}" ]; then
		printf -- '- compared with: %s, %s MB\n' "$(TF_CLI_CONFIG_FILE=/dev/null "$REF" version 2>/dev/null | grep -m 1 ' v[0-9]')" "$(($(stat -c %s "$REF") / 1000000))"
	fi
}

side() {
	local start=yes
	measure -bin bin/tofu -ref "$REF" -shapes layers -sizes 1000 -phases plan,apply,noop,destroy -count 3
}

realistic() {
	measure -bin bin/tofu -ref "$REF" -shapes realistic -sizes 10000 -timeout 10m \
		-phases validate,plan,apply,noop,replace,show,statelist,output,plandestroy
}

growth() { measure -bin bin/tofu -shapes layers -sizes 1000,32000 -last -phases planout,apply,noop,destroy -count 2; }

waits() { measure -bin bin/tofu -ref "$REF" -waits; }

providers() {
	measure -bin bin/tofu -mirror "$MIRROR" -type synth_t0 -shapes wide -sizes 5000 -phases plan,apply
}

estates() { measure -bin bin/tofu -mirror "$MIRROR" -estates -sizes 10,100,500,2000; }

postgres() {
	measure -bin bin/tofu -ref "$REF" -mirror "$MIRROR" -postgres -sizes 1000,10000,100000 -timeout 10m
}

# possible PART: succeeds unless the part needs a program to compare with that is not set.
# If it fails, the section of the part stays as it is.
possible() {
	case $1 in
	side | realistic | waits | postgres) [ -n "${REF:-}" ] ;;
	esac
}

# put TITLE FILE: replaces the section with that title, or adds it at the end of the document.
put() {
	awk -v title="## $1" -v text="$2" '
		$0 == title { print title "\n"; while ((getline line < text) > 0) print line; print ""; skip = 1; found = 1; next }
		/^## / && skip { skip = 0 }
		!skip
		END { if (!found) { print "\n" title "\n"; while ((getline line < text) > 0) print line } }
	' "$doc" | cat -s >build/bench/document.md
	mv build/bench/document.md "$doc"
}

for part in ${PARTS:-machine side realistic growth waits providers estates postgres}; do
	title=${titles[$part]:?no such part}
	start=$SECONDS
	if ! possible "$part"; then
		printf '==> %s: skipped, nothing to compare with\n' "$title" >&2
		continue
	fi
	printf '==> %s\n' "$title" >&2
	"$part" | tee build/bench/part.md
	put "$title" build/bench/part.md
	printf '==> %s: %d s\n' "$title" $((SECONDS - start)) >&2
done
