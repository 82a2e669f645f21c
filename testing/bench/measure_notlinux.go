//go:build !linux

package main

// watch can't tell here what a process took without its children.
func watch(int) own { return own{} }
