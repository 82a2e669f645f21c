//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The program is a script whose state has b with its present content, c with an old one, d, which
// does not exist, and not a.
func TestJudge(t *testing.T) {
	dir := t.TempDir()
	tr := &trial{bin: filepath.Join(dir, "program"), top: dir, work: dir, files: filepath.Join(dir, "files")}
	sum := sha256.Sum256([]byte("text"))
	now := hex.EncodeToString(sum[:])
	script := `#!/bin/sh
echo '{"values": {"root_module": {"resources": [
  {"values": {"id": "b", "sha256": "` + now + `"}}, {"values": {"id": "c", "sha256": "0"}}, {"values": {"id": "d", "sha256": "0"}}]}}}'
`
	if err := os.WriteFile(tr.bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "late"} {
		if err := os.WriteFile(filepath.Join(dir, "files", name), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	limit := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(dir, "files", "late"), limit.Add(1), limit.Add(1)); err != nil {
		t.Fatal(err)
	}

	var got tally
	tr.judge(&got, limit, true)
	if got.existed != 4 || got.lost != 2 || got.ghosts != 1 || len(got.problems) != 0 {
		t.Errorf("got %+v, want 4 existing, 2 lost (a and c), 1 ghost (d)", got)
	}
}
