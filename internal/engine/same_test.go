package engine_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/states/statefile"
)

func TestSameJSON(t *testing.T) {
	for _, a := range []string{`{}`, `[]`, `null`, `{"a":[1,{"b c":" \" x "}],"d":-1.5e3}`, `""`, `"a b"`} {
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(a), "", "\t"); err != nil {
			t.Fatal(err)
		}
		for _, b := range []string{a, indented.String(), " " + a + "\r\n"} {
			if !engine.SameJSON([]byte(a), []byte(b)) {
				t.Errorf("%s and %q differ", a, b)
			}
		}
		for _, b := range []string{a + "1", a[:len(a)-1], a[:len(a)-1] + " ", `{"a":[1,{"b c":" \" x"}],"d":-1.5e3}`, `"ab"`} {
			if engine.SameJSON([]byte(a), []byte(b)) {
				t.Errorf("%s and %q are equal", a, b)
			}
		}
	}
}

// TestStatesOfTheSameRunAreTheSame checks that the text of a state does not depend on the order of
// events. Resources, dependencies, sensitive paths and check results are sorted.
func TestStatesOfTheSameRunAreTheSame(t *testing.T) {
	const config = `
resource "fake_thing" "many" {
  for_each = toset(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"])
  name     = each.key
  s        = "secret"
  v        = sensitive("x")
  f        = sensitive("y")
  tags     = { one = sensitive("1"), two = sensitive("2"), three = "3" }
  lifecycle {
    postcondition {
      condition     = self.name != ""
      error_message = "It has no name."
    }
  }
}
resource "fake_thing" "user" {
  count      = 3
  name       = "user${count.index}"
  v          = fake_thing.many["b"].id
  depends_on = [fake_thing.late, fake_thing.early]
}
resource "fake_thing" "late" {
  name = "late"
  wait = 20
}
resource "fake_thing" "early" {
  name = "early"
}
check "two" {
  assert {
    condition     = fake_thing.late.id == ""
    error_message = "one"
  }
  assert {
    condition     = fake_thing.early.id == ""
    error_message = "two"
  }
}
check "another" {
  assert {
    condition     = fake_thing.early.id == "early-1"
    error_message = "no"
  }
}
output "second" {
  value     = fake_thing.many["a"]
  sensitive = true
}
output "first" {
  value = length(fake_thing.many)
}
`
	var first string
	for range 5 {
		var text []byte
		var problems string
		var err error
		dir := t.TempDir()
		synctest.Test(t, func(*testing.T) {
			s := enginetest.NewSession(dir)
			s.Cloud.Delay = enginetest.Delay
			var got *enginetest.Result
			got, err = s.Do(&enginetest.Step{Files: map[string]string{"main.tf": config}})
			if err == nil {
				problems = got.Problems
				text, err = statefile.Encode(&statefile.File{Serial: 1, Lineage: "l", State: s.State},
					&statefile.Options{Indent: true})
			}
		})
		if err != nil || strings.Contains(problems, "error") {
			t.Fatal(err, problems)
		}
		if first == "" {
			first = string(text)
		}
		if diff := cmp.Diff(first, string(text)); diff != "" {
			t.Fatal(diff)
		}
	}
	if !strings.Contains(first, `"check_results"`) || !strings.Contains(first, `"sensitive_attributes"`) ||
		strings.Count(first, "user") < 3 {
		t.Errorf("there is too little in the state:\n%s", first)
	}
}
