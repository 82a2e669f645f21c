//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestJudge checks the counts of lost files and ghosts. The program is a script. In its state, b
// has its current content and c has old content. The state also has d, which does not exist, but
// not a.
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

// TestJudgeExactly checks that the files of interrupted steps are counted neither as lost nor as
// ghosts.
func TestJudgeExactly(t *testing.T) {
	tr := newScripted(t, "a0", "b-a0")
	for name, text := range map[string]string{"a0": "old", "a1": "text", "a2": "text"} {
		if err := os.WriteFile(filepath.Join(tr.files, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got tally
	tr.judgeExactly("test", map[string]bool{"files_file.a[1]": true}, &got)
	if got.existed != 3 || got.lost != 2 || got.ghosts != 1 || len(got.problems) != 1 {
		t.Errorf("got %+v, want 3 existing, 2 lost (a0 and a2), 1 ghost (b-a0)", got)
	}
	got = tally{}
	tr.judgeExactly("test", map[string]bool{"files_file.a[0]": true, "files_file.a[1]": true, "files_file.a[2]": true,
		"files_file.b[0]": true}, &got)
	if got.lost != 0 || got.ghosts != 0 || len(got.problems) != 0 {
		t.Errorf("got %+v, want none", got)
	}
}

// newScripted returns a trial whose program is a script. The script shows a state with the named
// files, all of which have the same content.
func newScripted(t *testing.T, names ...string) *trial {
	t.Helper()
	dir := t.TempDir()
	tr := &trial{bin: filepath.Join(dir, "program"), top: dir, work: dir, files: filepath.Join(dir, "files")}
	sum := sha256.Sum256([]byte("text"))
	var resources []string
	for _, name := range names {
		resources = append(resources, fmt.Sprintf(`{"values": {"id": %q, "sha256": "%x"}}`, name, sum))
	}
	script := fmt.Sprintf("#!/bin/sh\necho '{\"values\": {\"root_module\": {\"resources\": [%s]}}}'\n",
		strings.Join(resources, ","))
	if err := os.WriteFile(tr.bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tr.files, 0o755); err != nil {
		t.Fatal(err)
	}
	return tr
}
