package httpclient

import (
	"net/url"
	"testing"
)

func TestNetrc(t *testing.T) {
	const text = "# logins\nmachine a.example login me password s3cret\nmacdef x\nmachine b.example login no " +
		"password no\n\nmachine\nb.example\nlogin you\npassword p\ndefault login anonymous password x\n"
	for host, want := range map[string]string{"a.example": "me:s3cret", "b.example": "you:p",
		"c.example": "anonymous:x"} {
		if got := parseNetrc(text, host); got.String() != want {
			t.Errorf("%s: %s", host, got)
		}
	}
	if got := parseNetrc("machine a.example login me", "b.example"); got != nil {
		t.Errorf("%s", got)
	}
}

func TestSameOrigin(t *testing.T) {
	parse := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	at := parse("https://mirror.example/a/")
	for text, want := range map[string]bool{
		"https://mirror.example": true, "https://mirror.example:443/b.zip": true, "https://Mirror.Example/b.zip": true,
		"https://me@mirror.example/": true, "http://mirror.example/a/": false, "http://mirror.example:443/a/": false,
		"https://mirror.example:8443/a/": false, "https://mirror.example.org/a/": false, "https://x.mirror.example/": false,
		"https://mirror.example@x.example/a/": false, "https:mirror.example": false,
	} {
		if got := SameOrigin(at, parse(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
