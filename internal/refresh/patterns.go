package refresh

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/ages"
	"tofu/internal/engine"
	"tofu/internal/states"
)

// Patterns select resource types and providers: a type ("aws_instance"), a provider ("aws",
// "hashicorp/aws" or its whole address, whatever its host is), or either with the wildcards of [path.Match].
type Patterns []string

var patternForm = regexp.MustCompile(`^[a-zA-Z0-9*?_./\[\]^-]+$`)

// Add adds the patterns in a text, which are separated by commas.
func (p *Patterns) Add(text string) error {
	for pattern := range strings.SplitSeq(text, ",") {
		pattern = strings.TrimSpace(pattern)
		if _, err := path.Match(pattern, ""); err != nil || !patternForm.MatchString(pattern) {
			return errors.New("must be types or providers such as aws_instance, aws_iam_* or hashicorp/aws, " +
				"separated by commas")
		}
		*p = append(*p, pattern)
	}
	return nil
}

func (p Patterns) match(c engine.RefreshCandidate) bool {
	for _, pattern := range p {
		if matches(pattern, c.Addr.Resource.Type, c.Provider) {
			return true
		}
	}
	return false
}

// Patterns returns all patterns of the options.
func (o *Options) Patterns() []string { return slices.Concat(o.Types, o.NotTypes) }

// Matches reports whether a resource in a state matches a pattern.
func Matches(pattern string, st *states.State) bool {
	for r := range st.Resources() {
		if matches(pattern, r.Addr.Resource.Type, r.Provider.Provider) {
			return true
		}
	}
	return false
}

func matches(pattern, typ string, provider addrs.Provider) bool {
	for _, name := range []string{typ, provider.Type, provider.Namespace + "/" + provider.Type, provider.String()} {
		if ok, _ := path.Match(pattern, name); ok { // Add has checked the form
			return true
		}
	}
	return false
}

// ParseAge parses an age as [ages.Parse] does, or with minutes and seconds as [time.ParseDuration] does.
func ParseAge(text string) (time.Duration, error) {
	if age, err := ages.Parse(text); err == nil {
		return age, nil
	}
	age, err := time.ParseDuration(text)
	if err != nil || age <= 0 {
		return 0, errors.New("must be a time longer than 0, such as 90m, 24h, 7d or 2w")
	}
	return age, nil
}
