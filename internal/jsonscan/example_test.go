package jsonscan_test

import (
	"fmt"

	"tofu/internal/jsonscan"
)

// The example reads two members of an object and skips all others.
func Example() {
	s := jsonscan.Scanner{Data: []byte(`{"version": 4, "resources": [{"mode": "managed"}], "lineage": "a1b2"}`)}
	var version []byte
	var lineage string
	ok := s.Members(func(name []byte) (ok bool) {
		switch string(name) {
		case "version":
			version, ok = s.Number()
			return ok
		case "lineage":
			lineage, ok = s.Text()
			return ok
		}
		return s.Skip()
	})
	fmt.Println(ok && s.End(), string(version), lineage)
	// Output: true 4 a1b2
}
