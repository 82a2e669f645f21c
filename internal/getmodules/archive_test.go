package getmodules

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

func zipOf(files map[string]string) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func tarOf(files, links map[string]string) []byte {
	var out bytes.Buffer
	g := gzip.NewWriter(&out)
	w := tar.NewWriter(g)
	put := func(h *tar.Header, data string) {
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if _, err := w.Write([]byte(data)); err != nil {
			panic(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		put(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}, files[name])
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		put(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: links[name]}, "")
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if err := g.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// unzipped returns the decompressed content of gzip data.
func unzipped(data []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(r)
	}
	if err != nil {
		panic(err)
	}
	return data
}

// xzOf returns the content of gzip data, compressed with xz.
func xzOf(data []byte) []byte {
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	if err == nil {
		_, err = w.Write(unzipped(data))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

func bytesPage(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.Write(data) }
}

func TestArchives(t *testing.T) {
	l := newLab(t)
	files := map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")}
	l.pages["/a.zip"] = bytesPage(zipOf(files))
	l.pages["/pkg"] = l.pages["/a.zip"]
	l.pages["/a.tar.gz"] = bytesPage(tarOf(files,
		map[string]string{"link.txt": "main.tf", "sub/out": "/etc", "up": "../../x"}))
	l.pages["/a.tar.xz"] = bytesPage(xzOf(tarOf(files, nil)))
	packed, err := base64.StdEncoding.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	l.pages["/a.tar.bz2"] = bytesPage(packed)
	for kind, name := range map[string]string{"zip": "/a.zip", "gz": "/a.tar.gz", "xz": "/a.tar.xz",
		"bz2": "/a.tar.bz2"} {
		l.pages["/plain/"+kind] = l.pages[name] // without a suffix, the kind is detected from the content
	}
	l.pages["/plain/tar"] = bytesPage(unzipped(tarOf(files, nil)))
	l.pages["/wrong.zip"] = l.pages["/a.tar.gz"]
	l.pages["/text"] = bytesPage([]byte(strings.Repeat("hello ", 200)))
	l.write(map[string]string{"local-package": string(zipOf(files))})
	l.pages["/a.txz"], l.pages["/odd"] = l.pages["/a.tar.xz"], l.pages["/a.tar.xz"]
	l.pages["/text.tar.xz"] = bytesPage([]byte("hello"))
	l.pages["/deep.tgz"] = bytesPage(tarOf(map[string]string{"net-1.0/main.tf": value("deep")}, nil))
	l.pages["/slip.zip"] = bytesPage(zipOf(map[string]string{"../../../escaped": "x"}))
	l.pages["/slip.tgz"] = bytesPage(tarOf(map[string]string{"../escaped": "x"}, nil))
	l.pages["/link.tgz"] = bytesPage(tarOf(map[string]string{"d/x": "y"}, map[string]string{"a": "d"}))
	l.pages["/text.zip"] = bytesPage([]byte("hello"))
	l.pages["/header"] = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("terraform-get") == "1" {
			w.Header().Set("X-Terraform-Get", l.url+"/a.zip//sub")
		}
	}
	l.pages["/meta"] = bytesPage([]byte(`<html><head><meta name="terraform-get" content="` + l.url +
		`/a.zip"/></head></html>`))
	l.pages["/body"] = bytesPage([]byte(`<html><head></head><body><meta name="terraform-get" content="` + l.url +
		`/a.zip"/></body></html>`))
	l.pages["/circle"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get",
			l.url+"/circle")
	}
	for _, status := range []int{201, 202, 203, 204, 206, 299} {
		path := fmt.Sprintf("/header/%d", status)
		l.pages[path] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Terraform-Get", l.url+"/a.zip//sub")
			w.WriteHeader(status)
		}
		l.good(call("a", l.url+path))
		l.has(".terraform/modules/a/sub/main.tf", files["sub/main.tf"])
	}
	l.pages["/meta/201"] = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `<meta name="terraform-get" content="%s/a.zip">`, l.url)
	}
	l.pages["/header/304"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get", l.url+"/a.zip")
		w.WriteHeader(http.StatusNotModified)
	}
	for source, file := range map[string]string{
		"/meta/201": "main.tf",
		"/a.zip":    "main.tf", "/a.tar.gz": "main.tf", "/a.zip//sub": "sub/main.tf", "/pkg?archive=zip": "main.tf",
		"/meta": "main.tf", "/meta//sub": "sub/main.tf",
		"/header": "sub/main.tf", "/deep.tgz//*": "net-1.0/main.tf",
		"/a.tar.xz": "sub/main.tf", "/a.txz//sub": "sub/main.tf", "/odd?archive=tar.xz": "main.tf",
		"/a.tar.bz2": "main.tf",
		"/plain/zip": "main.tf", "/plain/zip//sub": "sub/main.tf", "/plain/gz": "main.tf", "/plain/xz": "main.tf",
		"/plain/bz2":         "main.tf",
		"/a.zip?time=10::20": "main.tf", "/plain/tar": "main.tf", "/plain/zip?archive=true": "main.tf", "/wrong.zip": "main.tf",
	} {
		l.good(call("a", l.url+source))
		if _, err := os.Stat(filepath.Join(".terraform/modules/a", file)); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
	l.good(call("a", "file://"+l.top+"/local-package"))
	l.has(".terraform/modules/a/main.tf", value("1"))
	l.good(call("a", l.url+"/a.tar.gz"))
	l.has(".terraform/modules/a/link.txt", value("1"))
	l.has(".terraform/modules/a/sub/out", "")
	l.has(".terraform/modules/a/up", "")
	// These links lead out of the module through another link.
	l.pages["/sly.tgz"] = bytesPage(tarOf(files,
		map[string]string{"here": ".", "other": "here/../x", "sub/up": "..", "sub/up/last": "../main.tf"}))
	l.good(call("a", l.url+"/sly.tgz"))
	l.has(".terraform/modules/a/here/main.tf", value("1"))
	l.has(".terraform/modules/a/other", "")
	l.has(".terraform/modules/a/last", "")
	l.pages["/path"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get", r.URL.Query().Get("to")+l.top)
	}
	l.good(call("a", l.url+"/path?to=file:%2F%2F"))
	for _, to := range []string{"", "file::", "git::"} { // a server must not name a path of this machine
		l.bad(call("a", l.url+"/path?to="+to), "is not a valid package address")
	}
	for source, want := range map[string]string{
		"/header/304": "304 Not Modified", "/slip.zip": "outside of", "/slip.tgz": "outside of", "/text.zip": "reading the archive",
		"/text.tar.xz": "reading the archive", "/gone.zip": "404", "/text": "is not an archive",
		"/pkg?checksum=sha256:00": "unknown type",
		"/a.zip?archive=false":    "is not an archive", "/pkg?archive=0": "is not an archive",
		"/body": "is not an archive", "/circle": "too many times", "/a.zip?checksum=sha256:00": "unknown type",
		"/a.zip?checksum=sha256:" + strings.Repeat("0", 64): "requires",
		"/a.zip//none": "there is no directory \"none\"",
	} {
		l.bad(call("a", l.url+source), want)
	}
	if matches, err := filepath.Glob(filepath.Join(l.top, "*escaped")); err != nil || len(matches) > 0 {
		t.Errorf("outside: %v", matches)
	}
}

// TestArchiveLimits checks that unpacking stops when a limit is exceeded.
func TestArchiveLimits(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	const left = 1000
	u := &unpacker{root: root, bytes: maxArchiveBytes - left, limit: maxArchiveBytes}
	if err := u.file("a", 0o644, strings.NewReader(strings.Repeat("x", left))); err != nil {
		t.Error(err)
	}
	if err := u.file("b", 0o644, strings.NewReader(strings.Repeat("x", left))); err == nil ||
		!strings.Contains(err.Error(), "inflates to") {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "b")); err != nil || info.Size() > 1 {
		t.Errorf("more than is allowed is written: %v %v", info, err)
	}
	u = &unpacker{root: root, files: maxArchiveFiles}
	if err := u.entry("c", 0o644, "", strings.NewReader("")); err == nil ||
		!strings.Contains(err.Error(), "more than 100000 entries") {
		t.Errorf("%v", err)
	}
}

// TestArchiveRatio checks how far archives of several sizes may inflate. An archive that inflates
// to a thousand times its size is rejected.
func TestArchiveRatio(t *testing.T) {
	for size, want := range map[int64]int64{0: freeArchiveBytes, 1 << 20: freeArchiveBytes, 2 << 20: 200 << 20,
		1 << 40: maxArchiveBytes} {
		if got := inflatable(size); got != want {
			t.Errorf("%d bytes may inflate to %d, not %d", size, got, want)
		}
	}
	dir := t.TempDir()
	try := func(name string, megabytes int) error {
		file := filepath.Join(dir, name+".zip")
		data := zipOf(map[string]string{"main.tf": strings.Repeat(" ", megabytes<<20)})
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return unpack(file, "zip", filepath.Join(dir, name))
	}
	if err := try("small", 1); err != nil {
		t.Error(err)
	}
	if err := try("bomb", freeArchiveBytes>>20+1); err == nil ||
		!strings.Contains(err.Error(), "inflates to more than 100 MB") {
		t.Errorf("%v", err)
	}
}

// TestEndlessOutput checks that the output of programs is limited and that the end of the error
// output is kept.
func TestEndlessOutput(t *testing.T) {
	const each = 1 << 20
	long := bytes.Repeat([]byte("x"), each)
	var out answer
	var errorOutput tail
	steps := stepWriter{report: func(string) {}}
	var err error
	for n := 0; n <= longestAnswer; n += each {
		_, _ = errorOutput.Write(long)
		_, _ = steps.Write(long)
		_, _ = steps.Write([]byte("\nremote: wait\n"))
		_, err = out.Write(long)
	}
	if err == nil || len(out) > longestAnswer {
		t.Errorf("an answer of %d bytes: %v", len(out), err)
	}
	_, _ = errorOutput.Write([]byte("why"))
	_, _ = steps.Write([]byte("why\n"))
	for _, kept := range []string{string(errorOutput), string(steps.errorOutput)} {
		if len(kept) > 2*longestTail || !strings.HasSuffix(strings.TrimSpace(kept), "why") {
			t.Errorf("%d bytes are kept, which end in %q", len(kept), kept[len(kept)-8:])
		}
	}
}
