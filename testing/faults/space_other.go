//go:build unix && !linux

package main

import "fmt"

// onFullDisks only prints a message, because mounting a small file system requires Linux.
func (o *options) onFullDisks(func(string, *tally)) error {
	fmt.Println("space: skipped, because full disks are simulated on Linux only")
	return nil
}
