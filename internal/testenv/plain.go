package testenv

import (
	"regexp"
	"strings"
)

// varying matches the parts of states and locks that differ between runs or between programs:
// UUIDs, times, the values of some fields, and serials. Serials differ between programs because
// OpenTofu writes an empty state first.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|` +
	`\d{4}-\d\d-\d\dT[\d:.]+Z|"serial":\d+|"(Who|Version|Info|terraform_version)":"[^"]*"|,"engine":{[^}]*}`)

// Plain replaces the parts of a state or lock in JSON that differ between runs or between programs,
// so that the results can be compared.
func Plain(text string) string {
	return varying.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, ",") {
			return "" // only this program writes this member
		}
		if name, _, ok := strings.Cut(found, `":`); ok {
			return name + `":"…"`
		}
		return "…"
	})
}
