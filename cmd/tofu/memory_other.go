//go:build !linux || !(amd64 || arm64)

package main

// useHugePages is for Linux on machines whose huge pages are small enough; other systems decide on their own.
func useHugePages() {}
