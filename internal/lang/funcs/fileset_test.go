package funcs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/testenv"

	"github.com/zclconf/go-cty/cty"
)

// TestFilesetLoops matches patterns in a tree with symbolic links to parent directories. Matching
// ** must terminate.
func TestFilesetLoops(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"top.txt", "d1/one.txt", "d2/e/two.txt", "other/three.txt"} {
		testenv.WriteFile(t, filepath.Join(dir, name), "")
	}
	for link, target := range map[string]string{"d1/loop": "..", "d2/e/loop": "../..", "d2/e/other": "../../other",
		"self": ".", "d1/link.txt": "one.txt"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links: ", err)
		}
	}
	const all = "d1/link.txt d1/one.txt d2/e/other/three.txt d2/e/two.txt other/three.txt top.txt"
	for pattern, want := range map[string]string{
		"**":            all,
		"**/*.txt":      all,
		"**/**":         all,
		"d1/loop/*.txt": "d1/loop/top.txt",
		"d1/**": "d1/link.txt d1/loop/d2/e/other/three.txt d1/loop/d2/e/two.txt d1/loop/other/three.txt " +
			"d1/loop/top.txt d1/one.txt",
		"*/three.txt": "other/three.txt",
	} {
		names, err := glob(dir, pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		var got []string
		for _, v := range cty.SetVal(names).AsValueSlice() {
			got = append(got, v.AsString())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got\n%s\nwant\n%s", pattern, text, want)
		}
	}
}
