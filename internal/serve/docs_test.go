package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"tofu/internal/cliconfig"
)

// TestExamples sends the requests in docs/SERVE.md and compares the answers, of which the document shows
// a part. "…" stands for any value.
func TestExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/SERVE.md")
	if err != nil {
		t.Fatal(err)
	}
	p := connect(t, start(t, &cliconfig.Config{}, map[string]string{"main.tf": `
variable "size" { type = number }
resource "terraform_data" "a" {
  count = var.size
  input = "x${count.index}"
}
`}))
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if request, ok := strings.CutPrefix(line, "→ "); ok {
			p.send(request)
			n++
		}
		if answer, ok := strings.CutPrefix(line, "← "); ok {
			var want any
			if err := json.Unmarshal([]byte(answer), &want); err != nil {
				t.Fatal(err, answer)
			}
			got := p.next()
			if why := lacks(got, want, "answer"); why != "" {
				t.Errorf("%s\n%.600v", why, got)
			}
		}
	}
	if n < 8 {
		t.Errorf("the document has only %d examples", n)
	}
	for name := range methods() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("the document lacks the method %s", name)
		}
	}
}

// lacks returns where got differs from want, or "". Objects may have more members than want.
func lacks(got, want any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v", at, got)
		}
		for name, value := range want {
			if members[name] == nil {
				return fmt.Sprintf("%s has no %s", at, name)
			}
			if why := lacks(members[name], value, at+"."+name); why != "" {
				return why
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %v", at, got)
		}
		for i := range want {
			if why := lacks(list[i], want[i], fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
		return ""
	}
	if want != "…" && want != got {
		return fmt.Sprintf("%s is %v, not %v", at, got, want)
	}
	return ""
}
