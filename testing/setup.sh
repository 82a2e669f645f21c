#!/usr/bin/env bash
# Installs missing services and tools that some tests need. It must run as root on Debian or a
# derivative; elsewhere it changes nothing. Tests whose service is missing are skipped, or fail if
# REQUIRE_SERVICES=1 is set.
set -eu

# Each entry is the name of a program and of the package that contains it.
wanted=(
	"git git"
	"hg mercurial"
	"sshd openssh-server"
	"docker-registry docker-registry"
	"ssh openssh-client"
	"python3 python3"
	"gcc gcc"
	"pgbouncer pgbouncer"
	"chromium chromium"
	"nvim neovim"
	"node nodejs"
	"npm npm"
	"tmux tmux"
	"zsh zsh"
	"fish fish"
	"mandoc mandoc"
	"rpm rpm"
)

PATH=$PATH:/usr/sbin
packages=()
for pair in "${wanted[@]}"; do
	command -v "${pair% *}" >/dev/null || packages+=("${pair#* }")
done
# PostgreSQL's server programs are not in PATH, so look for one of them.
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || packages+=(postgresql)

if [ ${#packages[@]} = 0 ]; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "cannot install missing packages: ${packages[*]}" >&2
	exit 0
fi

# Tests start their own servers, so installing the packages must neither start nor enable system
# services. Before it starts a service, invoke-rc.d asks this program for permission.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
	trap 'rm -f $policy' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends "${packages[@]}"
declare -A services=([pgbouncer]=pgbouncer [docker-registry]=docker-registry [openssh-server]=ssh [postgresql]=postgresql)
for package in "${packages[@]}"; do
	service=${services[$package]:-}
	if [ -n "$service" ] && command -v systemctl >/dev/null; then
		systemctl disable --quiet "$service" || true
	fi
done
