package restapi

import (
	"crypto/hmac"
	"hash"
	"net/url"
	"strings"
)

// HMAC returns the authentication code of text, in binary form.
func HMAC(h func() hash.Hash, key, text string) string {
	m := hmac.New(h, []byte(key))
	m.Write([]byte(text))
	return string(m.Sum(nil))
}

// Escape percent-encodes all characters but the unreserved ones of RFC 3986, as canonical requests
// for signatures need it.
func Escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
