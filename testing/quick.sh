#!/usr/bin/env bash
# Vets and tests what has changed since a commit: the packages with changed files and then, as long
# as a minute lasts, the tests of the packages that import them, the quickest to build first. It says
# which ones it left out. Without an argument, what has changed is what isn't committed yet or, if
# everything is, the last commit. Of the sessions in cmd/tofu it runs the changed ones.
# Tests that take several seconds are left out, too (`go test -short`).
# `make quick` sets STATICCHECK, the command of that linter. QUICK_SECONDS sets another limit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

changed_files() {
	git diff --name-only "$1"
	git ls-files --others --exclude-standard
}

base=${1:-HEAD}
if [ $# = 0 ] && [ -z "$(changed_files HEAD)" ]; then base=HEAD~; fi

# A file belongs to the package in its directory or, like test data, in the nearest one above.
changed=() sessions=()
while read -r file; do
	case $file in
	cmd/tofu/testdata/script/*.txtar)
		sessions+=("$(basename "$file" .txtar)")
		continue ;;
	cmd/* | internal/*) ;;
	*) continue ;;
	esac
	dir=$(dirname "$file")
	while [ "$dir" != . ] && ! compgen -G "$dir/*.go" >/dev/null; do dir=$(dirname "$dir"); done
	if [ "$dir" != . ]; then changed+=("tofu/$dir"); fi
done < <(changed_files "$base")

if [ ${#changed[@]} != 0 ]; then
	mapfile -t changed < <(printf '%s\n' "${changed[@]}" | sort -u)
	go vet "${changed[@]}"
	$STATICCHECK "${changed[@]}"
	mapfile -t own < <(printf '%s\n' "${changed[@]}" | grep -vx tofu/cmd/tofu)
	if [ ${#own[@]} != 0 ]; then go test -short -vet=off "${own[@]}"; fi
fi
if [ ${#sessions[@]} != 0 ]; then
	go test ./cmd/tofu -run "^TestScript\$/^($(IFS='|'; echo "${sessions[*]}"))\$"
fi
if [ ${#changed[@]} = 0 ]; then exit; fi

# The packages that import a changed one, or whose tests do. One with few dependencies is quick to build.
mapfile -t importers < <(
	go list -f '{{len .Deps}} {{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./internal/... |
		awk -v list="${changed[*]}" 'BEGIN { n = split(list, a); for (i = 1; i <= n; i++) is[a[i]] = 1 }
			!($2 in is) { for (i = 3; i <= NF; i++) if ($i in is) { print $1, $2; next } }' | sort -n | cut -d' ' -f2
)
left=0
for ((i = 0; i < ${#importers[@]}; i += 4)); do
	rest=$((${QUICK_SECONDS:-58} - SECONDS)) status=124
	if [ $rest -gt 0 ]; then
		status=0
		timeout -k 1 $rest go test -short -vet=off "${importers[@]:i:4}" || status=$?
	fi
	if [ $status = 124 ] || [ $status = 137 ]; then
		left=$((${#importers[@]} - i))
		break
	fi
	if [ $status != 0 ]; then exit $status; fi
done
if [ $left != 0 ]; then
	printf 'A minute is over. Not tested, of %d packages that import the changed ones: %s\n' ${#importers[@]} \
		"${importers[*]:i}"
fi
