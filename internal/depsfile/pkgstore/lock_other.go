//go:build !unix && !windows

package pkgstore

import "os"

func tryLock(*os.File) (heldByOther bool, err error) { return false, nil }
