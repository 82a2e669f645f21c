#!/usr/bin/env bash
# Plans the working directory for a review. Writes plan.bin, which apply.sh applies after the
# approval, review.md for a comment on the request, and plan.html for people who look closer.
set -euo pipefail
tofu init -input=false -lockfile=readonly
status=0
tofu plan -input=false -detailed-exitcode -out=plan.bin || status=$?
[ $status != 1 ] # 0 means no changes, 2 means changes
tofu show -format=markdown -out=review.md plan.bin
tofu show -format=html -out=plan.html plan.bin
