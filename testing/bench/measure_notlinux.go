//go:build !linux

package main

// watch returns nothing: the cost without children is unknown on this system.
func watch(int) own { return own{} }
