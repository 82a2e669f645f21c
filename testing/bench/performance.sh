#!/usr/bin/env bash
# Measures everything that docs/PERFORMANCE.md has figures of and prints it as
# Markdown, each table below the command that makes it. `make performance` sets:
#
#   MIRROR  the test providers, as `make providers` builds them
#   REF     a program to compare with, at the sizes that it manages; may be empty
#   BEFORE  a commit to compare with; may be empty
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

life=validate,graph,planout,showjson,plan,apply,noop,show,statelist,output,destroy
bench=build/bench/bench
go build -o "$bench" ./testing/bench

# measure ARGUMENT…: one run of the benchmark, its command above it.
measure() {
	printf '\n    go run ./testing/bench %s\n\n' "$*"
	"$bench" "$@" || printf '\n**Not all of this could be measured.**\n'
}

printf '## The machine\n\n'
printf -- '- %s, %s, %s processors, load %s\n' "$(date -u +%F)" "$(uname -sm)" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)"
printf -- '- %s, %s\n' "$(go version | cut -d' ' -f3)" "$(git log -1 --format='commit %h')"
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o build/bench/stripped ./cmd/tofu
printf -- '- the program stripped: %s MB\n' "$(($(stat -c %s build/bench/stripped) / 1000000))"
if [ -n "${REF:-}" ]; then
	printf -- '- compared with: %s, %s MB\n' "$(TF_CLI_CONFIG_FILE=/dev/null "$REF" version 2>/dev/null | grep -m 1 ' v[0-9]')" "$(($(stat -c %s "$REF") / 1000000))"
fi

if [ -n "${REF:-}" ]; then
	printf '\n## Side by side\n'
	measure -bin bin/tofu -ref "$REF" -shapes wide,layers,count -sizes 1000 -phases "$life"
	measure -bin bin/tofu -ref "$REF" -shapes layers -sizes 5000 -phases validate,plan,apply,noop -timeout 20m
fi

if [ -n "${BEFORE:-}" ] && git rev-parse --quiet --verify "$BEFORE^{commit}" >/dev/null; then
	printf '\n## Before and after\n'
	git worktree add --quiet --force --detach build/bench/before "$BEFORE"
	trap 'git worktree remove --force build/bench/before' EXIT
	(cd build/bench/before && CGO_ENABLED=0 go build -trimpath -o bin/tofu ./cmd/tofu)
	measure -bin bin/tofu -ref build/bench/before/bin/tofu -shapes wide,layers,count,moduledeps -sizes 1000,4000 -phases "$life"
fi

printf '\n## Growth\n'
measure -bin bin/tofu -mirror "$MIRROR" -shapes all -sizes 1000,8000 -phases "$life"
measure -bin bin/tofu -shapes wide,layers,chain,count,foreach,modules,variables,nested,splat,outputs -sizes 1000,32000 -phases "$life"

printf '\n## 100,000 instances\n'
measure -bin bin/tofu -shapes count -sizes 50000 -phases "$life"

printf '\n## Providers\n'
measure -bin bin/tofu -mirror "$MIRROR" -type synth_t0 -shapes wide,count -sizes 5000 -phases plan,apply,noop,destroy
measure -bin bin/tofu -mirror "$MIRROR" -shapes one,aliases -sizes 1 -phases validate,plan,apply,noop,destroy -count 2
