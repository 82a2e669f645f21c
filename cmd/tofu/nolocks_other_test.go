//go:build !linux

package main

const canForbidLocks = false

func nolocks() { panic("unreachable: nobody asks for it") }
