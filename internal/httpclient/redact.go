package httpclient

import (
	"net/url"
	"strings"
)

// hidden is the text shown instead of a secret, as in net/url.
const hidden = "xxxxx"

// secretWords are words in the names of query parameters that contain secrets, such as
// X-Amz-Signature or access_token.
var secretWords = []string{"tok", "secret", "pass", "pwd", "key", "sig", "cred", "auth", "session", "jwt"}

// Redact returns a URL for display. The password and the values of query parameters that look like
// secrets are replaced.
func Redact(u *url.URL) string {
	if u.RawQuery == "" {
		return u.Redacted()
	}
	shown := *u
	parts := strings.Split(u.RawQuery, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if value != "" && looksSecret(name) {
			parts[i] = name + "=" + hidden
		}
	}
	shown.RawQuery = strings.Join(parts, "&")
	return shown.Redacted()
}

func looksSecret(parameter string) bool {
	if name, err := url.QueryUnescape(parameter); err == nil {
		parameter = name
	}
	parameter = strings.ToLower(parameter)
	for _, word := range secretWords {
		if strings.Contains(parameter, word) {
			return true
		}
	}
	return false
}
