#!/usr/bin/env bash
# Runs the quickstart in a temporary copy: init, plan, apply, a change, graph, destroy.
# Stops with an error at the first unexpected result.
#
#   TOFU=BIN     the program to run (default: bin/tofu of this repository)
#   MIRROR=DIR   the provider plugins (default: build/mirror; `make providers` builds them)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
tofu=$(realpath "${TOFU:-$top/bin/tofu}")
mirror=$(realpath "${MIRROR:-$top/build/mirror}")
[ -x "$tofu" ] || { echo "$tofu does not exist: run make build" >&2; exit 1; }
[ -d "$mirror/example.com" ] || { echo "$mirror has no plugins: run make providers" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here" "$work/quickstart"
cd "$work/quickstart"
rm -rf .terraform* ./*.tfstate* site notes
printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$mirror" >"$work/tofurc"

# Settings of the caller must not affect the result.
for name in $(compgen -e | grep -E '^(TF_|TOFU_|FILES_|NOTES_)' || true); do unset "$name"; done
export TF_CLI_CONFIG_FILE="$work/tofurc" TF_IN_AUTOMATION=1 HOME="$work"

run() {
	printf '\n\e[1m$ tofu %s\e[0m\n' "$*"
	"$tofu" "$@"
}

# expect WHAT COMMAND…: the command must succeed.
expect() {
	local what=$1
	shift
	"$@" || { echo "unexpected result; failed check: $what" >&2; exit 1; }
}

run init -input=false
run validate
run plan -input=false -out=first.tfplan
run apply -input=false first.tfplan
expect "the index links to the page about beans" grep -q 'href="beans.html"' site/index.html
expect "drafts are left out" test ! -e site/winter.html
expect "the style sheet has the first colour" grep -q seagreen site/style.css

printf '\n\e[1m$ echo '\''accent = "tomato"'\'' > terraform.tfvars\e[0m\n'
echo 'accent = "tomato"' >terraform.tfvars
status=0
run plan -input=false -detailed-exitcode || status=$?
expect "the plan has changes" test "$status" = 2
run apply -input=false -auto-approve
expect "the style sheet has the second colour" grep -q tomato site/style.css
status=0
run plan -input=false -detailed-exitcode || status=$?
expect "the plan has no changes" test "$status" = 0

run graph | tee graph.dot
expect "the output is a graph" grep -q '^digraph' graph.dot
run output

printf '\n\e[1m$ cat site/index.html\e[0m\n'
cat site/index.html

run destroy -input=false -auto-approve
expect "the site is deleted" test ! -e site
expect "the notes are deleted" test ! -e notes
printf '\nThe quickstart is complete. examples/quickstart/README.md has suggestions for more.\n'
