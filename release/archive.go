package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// file is a file in an archive or a package.
type file struct {
	name string
	mode os.FileMode
	data []byte
}

// pack writes the archives and packages for a platform.
func (r *release) pack(platform, program string) error {
	system, arch, _ := strings.Cut(platform, "/")
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	all := append([]file{{filepath.Base(program), 0o755, data}}, r.texts...)
	name := r.path(system + "_" + arch)
	if err := writeFile(name+".zip", func(w io.Writer) error { return writeZip(w, all, r.time) }); err != nil {
		return err
	}
	if err := writeFile(name+".tar.gz", func(w io.Writer) error { return writeTar(w, all, r.time) }); err != nil {
		return err
	}
	if system != "linux" {
		return nil
	}
	return r.packages(arch, program)
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		to, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := to.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}

func writeTar(w io.Writer, files []file, at time.Time) error {
	packed := gzip.NewWriter(w)
	t := tar.NewWriter(packed)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func writeFile(path string, write func(io.Writer) error) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
