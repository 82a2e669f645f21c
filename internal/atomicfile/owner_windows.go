package atomicfile

import (
	"io/fs"
	"os"
)

// KeepOwner does nothing: a new file belongs to the user who creates it.
func KeepOwner(*os.File, fs.FileInfo) {}

// IsMountPoint returns false: Windows cannot mount single files.
func IsMountPoint(error) bool { return false }

// Number returns "": numbers of files on Windows require open files.
func Number(fs.FileInfo) string { return "" }
