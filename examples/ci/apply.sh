#!/usr/bin/env bash
# Applies the plan that was reviewed. It fails if the state has changed since; then plan again.
set -euo pipefail
tofu init -input=false -lockfile=readonly
tofu apply -input=false plan.bin
