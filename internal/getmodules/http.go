package getmodules

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"html"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"tofu/internal/httpclient"
	"tofu/internal/registry"
)

// http fetches an archive, or follows a page that names the package's location.
func (f *fetcher) http(ctx context.Context, j job) error {
	u := *j.url
	u.RawQuery = without(j.query, "archive", "checksum").Encode()
	if u.User == nil && j.host == "" {
		login, err := httpclient.NetrcLogin(u.Hostname())
		if err != nil {
			return err
		}
		u.User = login
	}
	kind := archiveKind(u.Path, j.query)
	if kind == "" {
		return f.page(ctx, j, &u)
	}
	return f.archive(ctx, j, kind, registry.Download{URL: &u, Host: j.host})
}

// pagePart matches the parts of an HTML page that matter: comments, which are ignored, the end of
// the head, and meta elements. pageAttribute matches an attribute of a meta element.
var (
	pagePart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)<!--.*?-->|</head|<meta\s((?:[^>"']|"[^"]*"|'[^']*')*)>`)
	})
	pageAttribute = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)([A-Za-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	})
)

// pageAddress returns the content of the element <meta name="terraform-get" content="ADDRESS"> in
// the head of a page, or "".
func pageAddress(page []byte) string {
	for _, part := range pagePart().FindAllSubmatch(page, -1) {
		if strings.EqualFold(string(part[0]), "</head") {
			break
		}
		attributes := make(map[string]string)
		for _, a := range pageAttribute().FindAllSubmatch(part[1], -1) {
			attributes[strings.ToLower(string(a[1]))] = html.UnescapeString(string(a[2]) + string(a[3]) + string(a[4]))
		}
		if strings.EqualFold(attributes["name"], "terraform-get") {
			return attributes["content"]
		}
	}
	return ""
}

// page requests a page that says where the package is: in a header of the response or in the head
// of the page. If the response is itself an archive, the archive is the package.
func (f *fetcher) page(ctx context.Context, j job, u *url.URL) error {
	asked := *u
	query := asked.Query()
	query.Set("terraform-get", "1")
	asked.RawQuery = query.Encode()
	doc, err := f.client.GetAny(ctx, &asked, j.host)
	if err != nil {
		return err
	}
	if address := doc.Header.Get("X-Terraform-Get"); address != "" {
		return &redirectError{address}
	}
	if kind := contentKind(doc.Body); kind != "" && !noArchive(j.query) {
		return j.unpackArchive(kind, func(dst *os.File) error {
			_, err := dst.Write(doc.Body)
			return err
		})
	}
	if address := pageAddress(doc.Body); address != "" {
		return &redirectError{address}
	}
	return fmt.Errorf("%s is not an archive and doesn't name the location of the module", httpclient.Redact(u))
}

// checksum is the checksum that an address requires of its archive. The zero value accepts any
// archive.
type checksum struct {
	kind func() hash.Hash
	want []byte
}

var checksumKinds = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New,
}

// parseChecksum parses a checksum such as "sha256:HEX". The name of the algorithm is optional.
func parseChecksum(text string) (checksum, error) {
	if text == "" {
		return checksum{}, nil
	}
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		name, value = "", text
	}
	want, err := hex.DecodeString(value)
	if err != nil {
		return checksum{}, fmt.Errorf("the checksum %q is not hexadecimal", text)
	}
	for known, kind := range checksumKinds {
		if (name == "" || name == known) && kind().Size() == len(want) {
			return checksum{kind, want}, nil
		}
	}
	return checksum{},
		fmt.Errorf("the checksum %q has an unknown type or the wrong length; it must be like sha256:…", text)
}

func (c checksum) verify(file string) error {
	if c.kind == nil {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := c.kind()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := h.Sum(nil); !bytes.Equal(got, c.want) {
		return fmt.Errorf("the archive has the checksum %x, but the address requires %x", got, c.want)
	}
	return nil
}
