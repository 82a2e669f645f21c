package getmodules

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// store is a server that implements the protocol of S3, below /BUCKET, and that of Google Cloud
// Storage. It requires signatures or tokens, returns lists in pages of two names, and has one
// public bucket.
type store struct {
	*testing.T
	objects map[string]string // content by BUCKET/NAME
	creds   aws.Credentials
	token   string
	asked   []string
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.RequestURI())
	if strings.HasPrefix(r.URL.Path, "/storage/v1/b/") {
		s.google(w, r)
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != "public" && !s.signed(r) {
		http.Error(w, "<Error><Code>SignatureDoesNotMatch</Code></Error>", http.StatusForbidden)
		return
	}
	if key == "" {
		type content struct{ Key string }
		var page struct {
			XMLName               xml.Name `xml:"ListBucketResult"`
			IsTruncated           bool
			NextContinuationToken string
			Contents              []content
		}
		names, next := s.page(bucket, r.URL.Query().Get("prefix"), r.URL.Query().Get("continuation-token"))
		for _, name := range names {
			page.Contents = append(page.Contents, content{name})
		}
		page.IsTruncated, page.NextContinuationToken = next != "", next
		if err := xml.NewEncoder(w).Encode(page); err != nil {
			s.Error(err)
		}
		return
	}
	s.send(w, r, bucket+"/"+key+r.URL.Query().Get("versionId"))
}

// signed reports whether a request has a valid signature. It checks the signature in the same way
// as S3.
func (s *store) signed(r *http.Request) bool {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return false
	}
	again, err := http.NewRequest(r.Method, "https://"+r.Host+r.URL.RequestURI(), nil)
	if err != nil {
		s.Error(err)
		return false
	}
	_, list, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	for name := range strings.SplitSeq(list, ";") {
		if value := r.Header.Get(name); value != "" && name != "x-amz-date" {
			again.Header.Set(name, value)
		}
	}
	region := "us-east-1"
	if strings.Contains(r.Header.Get("Authorization"), "/lab-north-1/") {
		region = "lab-north-1"
	}
	err = v4.NewSigner().SignHTTP(s.Context(), s.creds, again, r.Header.Get("X-Amz-Content-Sha256"), "s3", region, at,
		func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	return err == nil && again.Header.Get("Authorization") == r.Header.Get("Authorization")
}

func (s *store) google(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.EscapedPath(), "/storage/v1/b/"), "/", 3)
	bucket := parts[0]
	if bucket != "public" && r.Header.Get("Authorization") != "Bearer "+s.token {
		http.Error(w, "{}", http.StatusUnauthorized)
		return
	}
	if len(parts) == 3 {
		key, err := url.PathUnescape(parts[2])
		if err != nil || r.URL.Query().Get("alt") != "media" {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		s.send(w, r, bucket+"/"+key+r.URL.Query().Get("generation"))
		return
	}
	names, next := s.page(bucket, r.URL.Query().Get("prefix"), r.URL.Query().Get("pageToken"))
	var items []map[string]string
	for _, name := range names {
		items = append(items, map[string]string{"name": name})
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"items": items, "nextPageToken": next}); err != nil {
		s.Error(err)
	}
}

// page returns up to two of the names that come after the given name, and the token for the next
// page. The token is "" if this is the last page.
func (s *store) page(bucket, prefix, after string) (names []string, next string) {
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		key, ok := strings.CutPrefix(name, bucket+"/")
		if !ok || !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(names) == 2 {
			return names, names[1]
		}
		names = append(names, key)
	}
	return names, ""
}

func (s *store) send(w http.ResponseWriter, r *http.Request, name string) {
	data, ok := s.objects[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(data))
}

// newStore starts a store and hides the user's own credentials.
func newStore(t *testing.T) (*store, *httptest.Server) {
	s := &store{T: t, creds: aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "s3cret",
		SessionToken: "session"}, token: "t0ken",
		objects: map[string]string{
			"b/net/x 1+2=3.zip": string(zipOf(map[string]string{"main.tf": value("zip"),
				"sub/main.tf": value("sub")})),
			"b/net/x 1+2=3.zipold":       string(zipOf(map[string]string{"main.tf": value("old")})),
			"b/tree/":                    "",
			"b/tree/main.tf":             value("tree"),
			"b/tree/sub/main.tf":         value("deep"),
			"b/tree/sub/ä é.txt":         "x",
			"b/treehouse/main.tf":        value("other"),
			"b/evil/main.tf":             value("evil"),
			"b/evil/../../../escaped.tf": value("evil"),
			"public/a.tar.gz":            string(tarOf(map[string]string{"main.tf": value("public")}, nil)),
		}}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": s.creds.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY": s.creds.SecretAccessKey, "AWS_SESSION_TOKEN": s.creds.SessionToken,
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none",
		"AWS_EC2_METADATA_DISABLED": "true",
		"GOOGLE_OAUTH_ACCESS_TOKEN": s.token, "GOOGLE_APPLICATION_CREDENTIALS": ""} {
		t.Setenv(name, value)
	}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	return s, server
}

func TestS3(t *testing.T) {
	l := newLab(t)
	s, server := newStore(t)
	base := "s3::" + server.URL
	l.good(call("a", base+"/b/net/x 1+2=3.zip"))
	l.has(".terraform/modules/a/main.tf", value("zip"))
	l.good(call("a", base+"/b/net/x 1+2=3.zip//sub?region=lab-north-1"))
	l.has(".terraform/modules/a/sub/main.tf", value("sub"))
	l.good(call("a", base+"/b/net/x 1+2=3.zip?version=old"))
	l.has(".terraform/modules/a/main.tf", value("old"))
	l.good(call("a", base+"/b/tree"))
	l.has(".terraform/modules/a/main.tf", value("tree"))
	l.has(".terraform/modules/a/sub/ä é.txt", "x")
	l.bad(call("a", base+"/b/none.zip"), "404")
	l.bad(call("a", base+"/b/none"), "neither an archive nor any object")
	l.bad(call("a", base+"/b"), "must contain the names of a bucket and an object")
	l.bad(call("a", base+"/b/evil"), "outside of")
	l.bad(call("a", base+"/b/net/x 1+2=3.zip?checksum=md5:00000000000000000000000000000000"), "checksum")

	// The cases are: credentials in the address, credentials of a profile, invalid credentials, no
	// credentials.
	s.creds = aws.Credentials{AccessKeyID: "OTHER", SecretAccessKey: "a/b+c"}
	l.bad(call("a", base+"/b/net/x 1+2=3.zip"), "403")
	l.good(call("a", base+"/b/net/x 1+2=3.zip?aws_access_key_id=OTHER&aws_access_key_secret=a%2Fb%2Bc"))
	l.write(map[string]string{
		"aws": "[profile lab]\naws_access_key_id = OTHER\naws_secret_access_key = a/b+c\nregion = eu-central-1\n"})
	t.Setenv("AWS_CONFIG_FILE", l.top+"/aws")
	l.good(call("a", base+"/b/tree?aws_profile=lab"))
	l.bad(call("a", base+"/b/tree?aws_profile=none"), "profile")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	l.good(call("a", base+"/public/a.tar.gz"))
	l.has(".terraform/modules/a/main.tf", value("public"))
	l.bad(call("a", base+"/b/tree"), "403")
}

func TestParseS3(t *testing.T) {
	for address, want := range map[string]string{
		"https://s3.amazonaws.com/b/k/x.zip":                            "us-east-1 https://s3.amazonaws.com/b/k/x.zip",
		"https://s3-eu-west-1.amazonaws.com/b/k/x.zip":                  "eu-west-1 https://s3.eu-west-1.amazonaws.com/b/k/x.zip",
		"https://s3.eu-west-1.amazonaws.com/b/x.zip":                    "eu-west-1 https://s3.eu-west-1.amazonaws.com/b/x.zip",
		"https://b.s3.amazonaws.com/k/x.zip":                            "us-east-1 https://b.s3.amazonaws.com/k/x.zip",
		"https://b.s3-eu-west-1.amazonaws.com/x.zip":                    "eu-west-1 https://b.s3-eu-west-1.amazonaws.com/x.zip",
		"https://b.c.s3.eu-west-1.amazonaws.com/x.zip":                  "eu-west-1 https://b.c.s3.eu-west-1.amazonaws.com/x.zip",
		"https://b.s3.dualstack.eu-west-1.amazonaws.com/x.zip":          "eu-west-1 https://b.s3.dualstack.eu-west-1.amazonaws.com/x.zip",
		"https://b.s3.cn-north-1.amazonaws.com.cn/x.zip":                "cn-north-1 https://b.s3.cn-north-1.amazonaws.com.cn/x.zip",
		"https://s3.amazonaws.com/b/x.zip?region=eu-west-3&version=v 1": "eu-west-3 https://s3.amazonaws.com/b/x.zip?versionId=v+1",
		"http://127.0.0.1:9000/b/k/x.zip":                               "us-east-1 http://127.0.0.1:9000/b/k/x.zip",
		"ftp://127.0.0.1/b/x.zip":                                       "",
		"https:///b/x.zip":                                              "",
		"https://s3.amazonaws.com/b":                                    "",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		b, key, err := parseS3(u, u.Query())
		got := ""
		if err == nil {
			got = b.region + " " + b.object(key).String()
		}
		if got != want {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
}

func TestGCS(t *testing.T) {
	l := newLab(t)
	s, server := newStore(t)
	const base = "gcs::https://www.googleapis.com/storage/v1"
	fetch := func(source, want string) {
		t.Helper()
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		l.write(map[string]string{"work/main.tf": call("a", source)})
		f := newFetcher(l.client)
		f.gcsServer = u
		_, err = f.into(t.Context(), request{location: location{address: source}}, "got")
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", source, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s doesn't fail with %q: %v", source, want, err)
		}
	}
	fetch(base+"/b/net/x 1+2=3.zip", "")
	l.has("got/main.tf", value("zip"))
	fetch(base+"/b/net/x 1+2=3.zip#old", "")
	l.has("got/main.tf", value("old"))
	fetch(base+"/b/tree", "")
	l.has("got/sub/ä é.txt", "x")
	fetch(base+"/b/none.zip", "404")
	fetch(base+"/b/none", "neither an archive nor any object")
	fetch("gcs::https://www.googleapis.com/b/none", "must have the form gcs::")
	fetch("gcs::https://evil.example.com/storage/v1/b/x.zip", "must have the form gcs::")
	fetch(base+"/b/evil", "outside of")

	// A service account key is exchanged for a token. Public objects need no token.
	t.Setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "wrong")
	fetch(base+"/b/tree", "401")
	fetch(base+"/public/a.tar.gz", "")
	t.Setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "none.json")
	fetch(base+"/public/a.tar.gz", "none.json")
	tokens := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, s.token)
	}))
	defer tokens.Close()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "lab@example.com",
		"token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Bytes: x509.MarshalPKCS1PrivateKey(private)}))})
	if err != nil {
		t.Fatal(err)
	}
	l.write(map[string]string{"key.json": string(key)})
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", l.top+"/key.json")
	fetch(base+"/b/tree", "")

	// No credentials may be sent to an emulator.
	t.Setenv("STORAGE_EMULATOR_HOST", server.URL)
	s.asked = nil
	if _, err := newFetcher(l.client).into(t.Context(), request{location: location{address: base + "/public/a.tar.gz"}}, "got"); err !=
		nil || len(s.asked) != 1 {
		t.Errorf("%v %v", s.asked, err)
	}
}
