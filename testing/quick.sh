#!/usr/bin/env bash
# Vets and tests what has changed since a commit: the packages with changed files, and the tests of
# the packages that import them. Without an argument, that is what isn't committed yet or, if
# everything is, the last commit. Of the sessions in cmd/tofu it runs the changed ones.
# `make quick` sets STATICCHECK, the command of that linter.
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
	mapfile -t tested < <(
		printf '%s\n' "${changed[@]}"
		go list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./internal/... |
			awk -v list="${changed[*]}" 'BEGIN { n = split(list, a); for (i = 1; i <= n; i++) is[a[i]] = 1 }
				{ for (i = 2; i <= NF; i++) if ($i in is) { print $1; next } }'
	)
	mapfile -t tested < <(printf '%s\n' "${tested[@]}" | grep -vx tofu/cmd/tofu | sort -u)
	if [ ${#tested[@]} != 0 ]; then go test -short "${tested[@]}"; fi
fi
if [ ${#sessions[@]} != 0 ]; then
	go test ./cmd/tofu -run "^TestScript\$/^($(IFS='|'; echo "${sessions[*]}"))\$"
fi
