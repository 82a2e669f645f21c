package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // each format registers itself
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packageName differs from that of OpenTofu's packages. Otherwise, an upgrade would replace this
// program by OpenTofu. They can't be installed together, because both contain /usr/bin/tofu.
const packageName = "tofu-engine"

// completionPaths says where packages install the completion script of each shell. PowerShell has
// no such place.
var completionPaths = map[string]string{
	"bash": "/usr/share/bash-completion/completions/tofu",
	"zsh":  "/usr/share/zsh/vendor-completions/_tofu",
	"fish": "/usr/share/fish/vendor_completions.d/tofu.fish",
}

// packages writes the packages for an architecture of Linux.
func (r *release) packages(arch, program string) error {
	contents, err := r.packageContents(program)
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		info := nfpm.WithDefaults(&nfpm.Info{Name: packageName, Arch: arch, Platform: "linux", Version: r.version,
			Section: "admin", Maintainer: "The authors of tofu <tofu@localhost>", License: "MPL-2.0", MTime: r.time,
			Description: "Infrastructure engine compatible with OpenTofu\nIt plans and applies configurations, keeps " +
				"states and runs provider plugins.",
			Overridables: nfpm.Overridables{Conflicts: []string{"tofu"}, Contents: clone(contents),
				RPM: nfpm.RPM{BuildHost: "localhost", Group: "admin", Summary: "Infrastructure engine compatible with OpenTofu"}}})
		if format == "apk" { // which has conflicts as dependencies, and one line for a description
			info.Depends, info.Conflicts = []string{"!tofu"}, nil
			info.Description, _, _ = strings.Cut(info.Description, "\n")
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		err = writeFile(r.path(arch+"."+format), func(w io.Writer) error { return packager.Package(info, w) })
		if err != nil {
			return err
		}
	}
	return nil
}

// clone copies contents, because packagers change them.
func clone(all files.Contents) files.Contents {
	var out files.Contents
	for _, c := range all {
		copied := *c
		about := *c.FileInfo
		copied.FileInfo = &about
		out = append(out, &copied)
	}
	return out
}

// packageContents returns the files of a package. The manual pages are compressed, as distributions
// require.
func (r *release) packageContents(program string) (files.Contents, error) {
	var out files.Contents
	add := func(source, destination string, mode os.FileMode) {
		out = append(out, &files.Content{Source: source, Destination: destination,
			FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"}})
	}
	add(program, "/usr/bin/tofu", 0o755)
	for _, f := range r.texts {
		source := filepath.Join(r.work, f.name)
		if err := os.WriteFile(source, f.data, 0o644); err != nil {
			return nil, err
		}
		name := f.name
		if name == "LICENSE" {
			name = "copyright" // the name in Debian
		}
		add(source, "/usr/share/doc/"+packageName+"/"+name, 0o644)
	}
	reference := filepath.Join(r.work, "reference")
	if _, err := r.output("go", "run", "./testing/reference", "-to", reference); err != nil {
		return nil, err
	}
	for shell, path := range completionPaths {
		add(filepath.Join(reference, "completion", shell), path, 0o644)
	}
	pages, err := filepath.Glob(filepath.Join(reference, "man", "*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if err := compress(page); err != nil {
			return nil, err
		}
		add(page+".gz", "/usr/share/man/man1/"+filepath.Base(page)+".gz", 0o644)
	}
	return out, nil
}

func compress(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return writeFile(path+".gz", func(w io.Writer) error {
		packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := packed.Write(text); err != nil {
			return err
		}
		return packed.Close()
	})
}
