#!/usr/bin/env bash
# Builds the images of both recipes from the folder of a release, and runs the program in them. It needs
# root, and Debian's packages buildah and debootstrap, but neither a daemon nor a registry of images: it
# makes the base image itself. BASE is a directory with a Debian system, if there is one already.
#
#     release/images.sh dist/v0.1.0
set -eu
release=$(realpath "$1")
recipes=$(dirname "$(realpath "$0")")
version=${release##*/v}
work=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
b() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }
trap 'b rm --all >/dev/null; b rmi --all --force >/dev/null; rm -rf "$work"' EXIT

base=${BASE:-$work/base}
[ -d "$base" ] || debootstrap --variant=minbase stable "$base" >"$work/debootstrap.log" || {
	tail "$work/debootstrap.log" >&2
	exit 1
}
b from --name base scratch >/dev/null
b add --quiet base "$base" / >/dev/null
b commit --quiet base docker.io/library/debian:stable-slim >/dev/null

for recipe in Containerfile Containerfile.debian; do
	b bud --quiet --pull-never --network host -f "$recipes/$recipe" --build-arg "VERSION=$version" \
		-t "${recipe,,}" "$release" >/dev/null
	container=$(b from --pull-never "localhost/${recipe,,}")
	echo "$recipe:" "$(b run "$container" -- /usr/bin/tofu version | grep "tofu $version ")"
done
