#!/usr/bin/env bash
# Runs the example in a temporary copy: list, graph, init, plan, apply, a change, destroy.
# Stops with an error at the first unexpected result.
#
#   TOFU=BIN   the program to run (default: bin/tofu of this repository)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tofu=$(realpath "${TOFU:-$here/../../bin/tofu}")
[ -x "$tofu" ] || { echo "$tofu does not exist: run make build" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here" "$work/estate"
cd "$work/estate"
rm -rf states ./*/.terraform*

# Settings of the caller must not affect the result.
for name in $(compgen -e | grep -E '^(TF_|TOFU_)' || true); do unset "$name"; done
export TF_CLI_CONFIG_FILE=/dev/null TF_IN_AUTOMATION=1 HOME="$work"

# run ARGUMENTS…: runs the program, and keeps what it prints in the file "out".
run() {
	printf '\n\e[1m$ tofu %s\e[0m\n' "$*"
	"$tofu" "$@" | tee "$work/out"
}

# expect TEXT: the last output must contain a line with the text.
expect() {
	grep -qF -- "$1" "$work/out" || { echo "unexpected result: the output lacks \"$1\"" >&2; exit 1; }
}

run roots list
expect 'dns needs dev/eu/cluster, dev/us/cluster, prod/eu/cluster, prod/us/cluster'
expect 'prod/eu/shop needs prod/eu/cluster'
run roots graph -format=mermaid -tag=prod
run roots init -no-color
run roots validate -no-color

# One plan of everything: what is known of a network is known in its cluster.
run roots plan -no-color -out=everything.plan
expect '17 of 17 root modules change: 36 to add'
run roots apply -no-color everything.plan
run roots output -no-color -only=dns
expect '"prod/eu" = "prod.eu"'

# A larger network in production, planned for production only.
printf 'zones = 4\n' >network/prod.tfvars
run roots plan -no-color -tag=prod
expect '2 of 8 root modules change: 2 to add'
run roots apply -no-color -auto-approve
expect '2 of 17 root modules changed: 2 added'

# What others read is not destroyed without them.
printf '\n\e[1m$ tofu roots destroy -only=dev/eu/network\e[0m\n'
if "$tofu" roots destroy -no-color -auto-approve -only=dev/eu/network; then
	echo "unexpected result: the network was destroyed" >&2
	exit 1
fi
run roots destroy -no-color -auto-approve
expect '17 of 17 root modules changed'
echo "All results are as expected."
