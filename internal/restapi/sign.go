package restapi

import (
	"crypto/hmac"
	"hash"
	"net/url"
	"strings"
)

// HMAC returns the HMAC of text with key, as a string of bytes. h is the constructor of the hash
// function.
func HMAC(h func() hash.Hash, key, text string) string {
	m := hmac.New(h, []byte(key))
	m.Write([]byte(text))
	return string(m.Sum(nil))
}

// Escape percent-encodes all characters except the unreserved ones of RFC 3986. The canonical
// requests from which signatures are computed require this.
func Escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
