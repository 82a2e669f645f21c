#!/usr/bin/env bash
# Installs the services and tools that some tests need and the machine lacks:
# on Debian and its like, as root. Anywhere else it changes nothing; the tests
# that need what is missing are then skipped (or fail, with REQUIRE_SERVICES=1).
set -eu

# What to look for, and the package that has it.
wanted=(
	"git git"
	"hg mercurial"
	"sshd openssh-server"
	"docker-registry docker-registry"
	"ssh openssh-client"
	"python3 python3"
	"gcc gcc"
)

PATH=$PATH:/usr/sbin
packages=()
for pair in "${wanted[@]}"; do
	command -v "${pair% *}" >/dev/null || packages+=("${pair#* }")
done
# The server's own programs are not on the path.
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || packages+=(postgresql)

if [ ${#packages[@]} = 0 ]; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "missing, and not installed: ${packages[*]}" >&2
	exit 0
fi

# Tests start servers of their own. The packages must not start the system's (invoke-rc.d asks this program first), nor enable them.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
	trap 'rm -f $policy' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends "${packages[@]}"
declare -A services=([docker-registry]=docker-registry [openssh-server]=ssh [postgresql]=postgresql)
for package in "${packages[@]}"; do
	service=${services[$package]:-}
	if [ -n "$service" ] && command -v systemctl >/dev/null; then
		systemctl disable --quiet "$service" || true
	fi
done
