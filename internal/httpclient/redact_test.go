package httpclient

import (
	"net/url"
	"testing"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"https://h/x.zip":                                  "https://h/x.zip",
		"https://me:pw@h/x?ref=v1&version=2":               "https://me:xxxxx@h/x?ref=v1&version=2",
		"https://h/x?token=a&ref=v1":                       "https://h/x?token=xxxxx&ref=v1",
		"https://h/x?X-Amz-Signature=a&X-Amz-Date=b":       "https://h/x?X-Amz-Signature=xxxxx&X-Amz-Date=b",
		"https://h/x?api%4Bey=a&sig=b&PASSWORD=c&token=":   "https://h/x?api%4Bey=xxxxx&sig=xxxxx&PASSWORD=xxxxx&token=",
		"https://h/x?archive=zip&checksum=md5:1&depth=1#t": "https://h/x?archive=zip&checksum=md5:1&depth=1#t",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := Redact(u); got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
		if u.String() != in {
			t.Errorf("%s became %s", in, u)
		}
	}
}
