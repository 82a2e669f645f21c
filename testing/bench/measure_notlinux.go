//go:build !linux

package main

// watch returns zero values: on this system, the cost without children is unknown.
func watch(int) own { return own{} }
