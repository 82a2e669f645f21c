#!/usr/bin/env bash
# Runs the quickstart in a temporary copy: init, plan, apply, a change and its reasons, a page about
# it, a change made outside, destroy. Prints what a person would look at, and stops with the whole
# output of a command at the first unexpected result. The page is kept.
#
#   TOFU=BIN     the program to run (default: bin/tofu of this repository)
#   MIRROR=DIR   the provider plugins (default: build/mirror; `make providers` builds them)
#   PAGE=FILE    where to write the page (default: build/quickstart.html)
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

# say COMMAND…: prints a command as one would type it.
say() { printf '\e[1m$ %s\e[0m\n' "$*"; }

# quiet ARGUMENT…: runs tofu and keeps the output in a file. Prints it if the command fails.
quiet() {
	"$tofu" "$@" >"$work/output" 2>&1 || { say tofu "$@"; cat "$work/output"; exit 1; }
}

# run ARGUMENT…: runs tofu and prints the output, without empty lines.
run() {
	say tofu "$@"
	quiet "$@"
	grep . "$work/output" || true
}

# last ARGUMENT…: runs tofu and prints the line with the result.
last() {
	say tofu "$@"
	quiet "$@"
	grep -E 'successfully|complete!|Plan:' "$work/output" | tail -n 1
}

# expect WHAT COMMAND…: the command must succeed.
expect() {
	local what=$1
	shift
	"$@" || { echo "unexpected result; failed check: $what" >&2; exit 1; }
}

export TF_CLI_ARGS='-concise'
page=$(realpath -m "${PAGE:-$top/build/quickstart.html}")
started=$SECONDS

last init -input=false
last plan -view=brief -out=first.tfplan
last apply first.tfplan
expect "the index links to the page about beans" grep -q 'href="beans.html"' site/index.html
expect "drafts are left out" test ! -e site/winter.html
expect "the style sheet has the first colour" grep -q seagreen site/style.css

say "echo 'accent = \"tomato\"' > terraform.tfvars   # a change, what it does and why"
echo 'accent = "tomato"' >terraform.tfvars
run plan -view=brief -out=change.tfplan
run explain files_file.style change.tfplan
quiet show -format=html -out="$page" change.tfplan
say "tofu show -format=html -out=$page change.tfplan   # open it in a browser"
expect "the page is there" test -s "$page"
last apply change.tfplan
expect "the style sheet has the second colour" grep -q tomato site/style.css

say "echo '<p>by hand</p>' >> site/index.html   # a change made outside"
echo '<p>by hand</p>' >>site/index.html
run plan -view=brief
last apply -input=false -auto-approve
quiet plan -detailed-exitcode
expect "the change made outside is undone" test "$(grep -c 'by hand' site/index.html)" = 0

last destroy -input=false -auto-approve
expect "the site is deleted" test ! -e site
expect "the notes are deleted" test ! -e notes
printf 'Complete in %d seconds. examples/quickstart/README.md has suggestions for more.\n' $((SECONDS - started))
