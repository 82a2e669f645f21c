package testenv

import (
	"regexp"
	"strings"
)

// varying matches what differs between the states and locks of runs and programs: UUIDs, times, the
// values of some fields, and serials, because OpenTofu writes an empty state first.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|` +
	`\d{4}-\d\d-\d\dT[\d:.]+Z|"serial":\d+|"(Who|Version|Info|terraform_version)":"[^"]*"`)

// Plain replaces what varies between runs and programs in the JSON text of a state or a lock, so
// that texts can be compared.
func Plain(text string) string {
	return varying.ReplaceAllStringFunc(text, func(found string) string {
		if name, _, ok := strings.Cut(found, `":`); ok {
			return name + `":"…"`
		}
		return "…"
	})
}
