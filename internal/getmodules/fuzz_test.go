package getmodules

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/addrs"
)

// FuzzGitAddress checks that no address can pass options to git or ssh, reveal its password to
// other users, or change the configuration of git.
func FuzzGitAddress(f *testing.F) {
	for _, text := range []string{"git::https://user:secret@example.com/x.git?ref=v1&depth=2",
		"git::ssh://git@example.com:22/x.git//sub",
		"git@example.com:owner/name.git", "git::ssh://-oProxyCommand=touch%20x/y", "git::ssh://-oProxyCommand=x@host/y",
		"git::-oProxyCommand=x@host:y", "git::ext::sh -c x", "git::https://u:p@example.com.helper=!id;.example.com/x",
		"git::https://u%0Ahost=x:p%0Aurl=y@example.com/x", "git::http://[::1%25lo]:80/x",
		"git::/srv/x", "git::file:///srv/x?ref=-x",
		"github.com/owner/name?sshkey=eA==", "git::https://example.com/x?upload-pack=touch+x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, err := addrs.ParseModuleSource(text, false)
		if err != nil || !strings.HasPrefix(source.Address, "git::") {
			return
		}
		u, err := url.Parse(strings.TrimPrefix(source.Address, "git::"))
		if err != nil {
			t.Skip(err)
		}
		remote, login, err := gitRemote(job{url: u, query: u.Query()})
		if err != nil {
			return
		}
		got, err := url.Parse(remote)
		if err != nil || !gitSchemes[got.Scheme] {
			t.Fatalf("%q becomes %q: %v", text, remote, err)
		}
		if strings.HasPrefix(got.Host, "-") || strings.HasPrefix(got.User.Username(), "-") {
			t.Errorf("%q becomes %q, which has an option", text, remote)
		}
		if _, ok := got.User.Password(); ok && strings.HasPrefix(got.Scheme, "http") {
			t.Errorf("%q becomes %q, which has a password", text, remote)
		}
		for _, option := range login.options() {
			name, _, _ := strings.Cut(option, "=")
			if option != "-c" && name != "credential."+got.Scheme+"://"+got.Host+".helper" {
				t.Errorf("%q sets %q", text, name)
			}
		}
		for _, entry := range login.env() {
			if strings.ContainsAny(entry, "\r\n\x00") {
				t.Errorf("%q sets %q", text, entry)
			}
		}
	})
}

// entryKinds are the kinds of archive entries that FuzzUnpack creates.
var entryKinds = []byte{tar.TypeReg, tar.TypeSymlink, tar.TypeDir, tar.TypeLink, tar.TypeFifo}

// FuzzUnpack checks that unpacking an archive with three entries of any kind and name writes
// nothing outside of the directory and creates no links that lead out of it.
func FuzzUnpack(f *testing.F) {
	f.Add("a", "../b", "", byte(0), "a/b", "..", byte(1))
	f.Add("link", "../../outside", "link/x", byte(1), "link", "x", byte(0))
	f.Add("here", ".", "here/here/../..", byte(1), "here/other", "here/../..", byte(1))
	f.Add("/etc/x", "/etc/passwd", "C:\\x", byte(3), "..\\x", "x", byte(2))
	f.Add("d/e", "../../..", "d", byte(1), "d/e/outside", "", byte(0))
	f.Fuzz(func(t *testing.T, name1, target1, name2 string, kind1 byte, name3, target3 string, kind3 byte) {
		headers := []*tar.Header{
			{Name: name1, Linkname: target1, Typeflag: entryKinds[int(kind1)%len(entryKinds)], Mode: 0o644},
			{Name: name2, Typeflag: tar.TypeReg, Mode: 0o7777},
			{Name: name3, Linkname: target3, Typeflag: entryKinds[int(kind3)%len(entryKinds)], Mode: 0o755},
		}
		for _, archive := range [][]byte{rawTar(headers), rawZip(headers)} {
			if archive != nil {
				checkUnpacked(t, archive)
			}
		}
	})
}

// FuzzUnpackBytes checks that arbitrary bytes are either unpacked or rejected, and that nothing
// outside of the directory changes.
func FuzzUnpackBytes(f *testing.F) {
	files := map[string]string{"main.tf": "x", "sub/a.tf": "y"}
	f.Add(zipOf(files))
	f.Add(tarOf(files, map[string]string{"link": "main.tf"}))
	f.Add(unzipped(tarOf(files, nil)))
	f.Add(xzOf(tarOf(files, nil)))
	f.Add([]byte("BZh9"))
	f.Fuzz(func(t *testing.T, data []byte) { checkUnpacked(t, data) })
}

// checkUnpacked unpacks an archive, which may be rejected. The test fails if anything outside of
// the directory changes.
func checkUnpacked(t *testing.T, archive []byte) {
	t.Helper()
	top := t.TempDir()
	file, dir, outside := filepath.Join(top, "archive"), filepath.Join(top, "in", "dir"), filepath.Join(top, "outside")
	for _, d := range []string{filepath.Dir(dir), outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	unpackErr := unpack(file, "", dir)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside := strings.HasPrefix(path, dir+string(filepath.Separator))
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case !inside:
			if path != top && path != file && path != outside && path != dir && path != filepath.Dir(dir) {
				t.Errorf("%q was written", path)
			}
		case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|fs.ModeNamedPipe|fs.ModeDevice) != 0:
			t.Errorf("%q has the mode %s", path, info.Mode())
		case info.Mode()&fs.ModeSymlink != 0 && unpackErr == nil:
			real, err := filepath.EvalSymlinks(path)
			if err == nil && real != dir && !strings.HasPrefix(real, dir+string(filepath.Separator)) {
				t.Errorf("the link %q leads to %q", path, real)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rawTar returns a tar archive of the entries, or nil if the format can't represent them.
func rawTar(headers []*tar.Header) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			return nil
		}
	}
	if err := w.Close(); err != nil {
		return nil
	}
	return out.Bytes()
}

// rawZip returns a zip archive of the entries, or nil if the format can't represent them.
func rawZip(headers []*tar.Header) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, h := range headers {
		header := &zip.FileHeader{Name: h.Name}
		header.SetMode(h.FileInfo().Mode())
		w, err := z.CreateHeader(header)
		if err != nil {
			return nil
		}
		if _, err := w.Write([]byte(h.Linkname)); err != nil && h.Linkname != "" {
			return nil
		}
	}
	if err := z.Close(); err != nil {
		return nil
	}
	return out.Bytes()
}
