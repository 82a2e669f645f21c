//go:build !linux || !(amd64 || arm64)

package main

// useHugePages does nothing on this system: it requires Linux and an architecture with 2 MB pages.
func useHugePages() {}
