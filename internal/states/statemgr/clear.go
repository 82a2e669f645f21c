package statemgr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/atomicfile"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// warnClear warns about copies of the state in clear text that earlier runs have left: backups with a
// time, damaged states, journals that were set aside, and states that could not be saved. It is for a
// state that is about to be encrypted. The files stay as they are, because any of them may be the only
// copy of something.
func (w *workspace) warnClear(warn tfdiags.Sink) {
	file, local := w.file()
	if !local {
		file = filepath.Join(w.opts.WorkDir, "terraform.tfstate")
	}
	paths := w.erroredFiles()
	dir, base := filepath.Split(file)
	entries, _ := os.ReadDir(cmp.Or(dir, ".")) // the files are optional, so errors are ignored
	for _, e := range entries {
		// The store encrypts its own backup, and the journal is encrypted or replaced when a run begins.
		path := dir + e.Name()
		own := local && path == file+".backup" || path == w.journalPath()
		if strings.HasPrefix(e.Name(), base+".") && !own {
			paths = append(paths, path)
		}
	}
	var found []string
	for _, path := range paths {
		if data, err := atomicfile.Read(path); err == nil && isClear(data) {
			found = append(found, "\n  "+path)
		}
	}
	if len(found) > 0 {
		warn(tfdiags.Warningf("Copies of the state are not encrypted", "The next write encrypts the state, but these "+
			"files have earlier states, with all their values, in clear text:%s\n\nDelete those that you don't need, and "+
			"keep the others in a safe place.", strings.Join(found, "")))
	}
}

// isClear reports whether data is a state or a journal that is not encrypted.
func isClear(data []byte) bool {
	if _, err := statefile.Parse(data); err == nil {
		return true
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	var e entry
	return json.Unmarshal(first, &e) == nil && e.Kind == beginEntry
}
