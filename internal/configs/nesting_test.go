package configs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func TestDeepNesting(t *testing.T) {
	const n = 12_000
	for name, text := range map[string]string{
		"brackets":     "locals {\n  x = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n}\n",
		"minus":        "locals {\n  x = " + strings.Repeat("-", n) + "1\n}\n",
		"plus":         "locals {\n  x = 1" + strings.Repeat(" + 1", n) + "\n}\n",
		"conditionals": "locals {\n  x = " + strings.Repeat("true ? 1 : ", n) + "1\n}\n",
		"templates":    "locals {\n  x = " + strings.Repeat(`"${`, n) + "1" + strings.Repeat(`}"`, n) + "\n}\n",
		"blocks":       strings.Repeat("a {\n", n) + strings.Repeat("}\n", n),
	} {
		t.Run(name, func(t *testing.T) { deep(t, "main.tf", text) })
	}
	t.Run("json", func(t *testing.T) {
		deep(t, "main.tf.json", `{"locals": {"x": `+strings.Repeat("[", n)+strings.Repeat("]", n)+"}}")
	})
}

func deep(t *testing.T, name, text string) {
	_, diags := loadArchive(&txtar.Archive{Files: []txtar.File{{Name: name, Data: []byte(text)}}}, nil)
	want := []string{"error: Configuration nested too deeply"}
	var got []string
	for _, d := range diags {
		got = append(got, d.Severity.String()+": "+d.Summary)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWideIsNotDeep checks that long files are accepted if they don't nest deeply.
func TestWideIsNotDeep(t *testing.T) {
	var b strings.Builder
	b.WriteString("-- main.tf --\nlocals {\n  x = {\n")
	for i := range 3_000 {
		fmt.Fprintf(&b, "    k%d : -1 + (2 * 3) > 0 ? \"${1 + 1}\" : \"b\"\n", i)
	}
	b.WriteString("  }\n}\n")
	load(t, b.String(), nil)
}
