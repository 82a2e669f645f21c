//go:build !unix

package sources

import "io/fs"

var errNotDir = fs.ErrNotExist
