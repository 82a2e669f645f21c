package atomicfile

import (
	"io/fs"
	"time"
)

// Stamp has what the system says about a file. The zero Stamp is that of no file.
type Stamp struct {
	Size   int64
	Mod    int64  // time of modification, in ns since 1970
	Number string // see Number
}

// StampOf returns the stamp of a file.
func StampOf(info fs.FileInfo) Stamp {
	return Stamp{info.Size(), info.ModTime().UnixNano(), Number(info)}
}

// doubt is the time in which a file may change twice without another time of modification.
const doubt = 2 * time.Second

// Settled reports whether a file that is changed after a time gets another stamp than the one that it had then.
func (s Stamp) Settled(at time.Time) bool { return at.UnixNano()-s.Mod > int64(doubt) }
