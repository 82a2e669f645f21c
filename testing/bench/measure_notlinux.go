//go:build !linux

package main

// watch returns zero values, because the cost without children is unknown on this system.
func watch(int) own { return own{} }
