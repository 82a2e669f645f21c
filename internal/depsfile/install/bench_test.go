package install

import (
	"archive/zip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
)

// BenchmarkLockAll locks 300 root modules for three platforms with a cold store, beside inflating and hashing each of the packages
// once: that is all it should cost. The packages have 20 MB and inflate to 70.
func BenchmarkLockAll(b *testing.B) {
	top := b.TempDir()
	names := []string{"darwin_amd64", "darwin_arm64", "linux_amd64"}
	var platforms []depsfile.Platform
	var archives []string
	for i, name := range names {
		platform, err := depsfile.ParsePlatform(name)
		if err != nil {
			b.Fatal(err)
		}
		platforms = append(platforms, platform)
		path := filepath.Join(top, "mirror", tool.Host, tool.Namespace, tool.Type, fmt.Sprintf("terraform-provider-tool_1.0.0_%s.zip", name))
		archives = append(archives, path)
		writeLarge(b, path, byte(i), 70)
	}
	constraint, err := depsfile.ParseConstraints("~> 1.0")
	if err != nil {
		b.Fatal(err)
	}
	roots := make([]Root, 300)
	for i := range roots {
		roots[i] = Root{Dir: fmt.Sprintf("root-%03d", i), Reqs: depsfile.Requirements{tool: constraint}}
	}
	b.Run("lock", func(b *testing.B) {
		for b.Loop() {
			store, err := pkgstore.Open("")
			if err != nil {
				b.Fatal(err)
			}
			locker := NewLocker(&Options{Source: sources.Filesystem{Dir: filepath.Join(top, "mirror")}, Store: store})
			for _, r := range locker.LockAll(b.Context(), roots, platforms, func(int, RootResult) {}) {
				if lock, _ := r.Locks.Provider(tool); len(lock.Hashes) != len(platforms) {
					b.Fatal(r.Diags.Err())
				}
			}
			if err := store.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("hash", func(b *testing.B) {
		for b.Loop() {
			var group errgroup.Group
			for _, path := range archives {
				group.Go(func() error {
					_, err := pkgstore.HashArchive(path)
					return err
				})
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// writeLarge makes an archive with a program of some megabytes that compresses as programs do.
func writeLarge(b *testing.B, path string, seed byte, megabytes int) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.Create("terraform-provider-tool")
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.NewChaCha8([32]byte{seed})
	words := make([]byte, 1<<12)
	block := make([]byte, 0, 1<<20)
	for range megabytes {
		if _, err := rng.Read(words); err != nil {
			b.Fatal(err)
		}
		for block = block[:0]; len(block) < 1<<20; {
			at := int(rng.Uint64() % uint64(len(words)-16))
			block = append(block, words[at:at+16]...)
		}
		if _, err := w.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
}
