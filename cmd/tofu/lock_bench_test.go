package main

import (
	"archive/zip"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"tofu/internal/depsfile/pkgstore"
)

var megabytes = flag.Int("megabytes", 70, "what each package of BenchmarkLockTree inflates to; two sevenths "+
	"of that is its archive")

// BenchmarkLockTree measures locking 300 root modules for three platforms with an empty store. For
// comparison, it also measures unpacking and hashing each package once. Locking should not take
// longer than that.
func BenchmarkLockTree(b *testing.B) {
	top := b.TempDir()
	words := []string{"tofu", "providers", "lock", "-recursive", "-no-color",
		"-fs-mirror=" + filepath.Join(top, "mirror")}
	var archives []string
	for i, platform := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64"} {
		words = append(words, "-platform="+platform)
		path := filepath.Join(top, "mirror/example.com/acme/tool/terraform-provider-tool_1.0.0_"+platform+".zip")
		archives = append(archives, path)
		if err := writeLarge(path, byte(i)); err != nil {
			b.Fatal(err)
		}
	}
	m := &mirror{TB: b, top: top}
	m.write("tofurc", "")
	b.Run("lock", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			tree, cache := fmt.Sprintf("tree-%d", i), fmt.Sprintf("TOFU_CACHE_DIR=%s/cache-%d", top, i)
			for n := range 300 {
				m.write(fmt.Sprintf("%s/root-%03d/main.tf", tree, n),
					"terraform {\n  required_providers {\n    tool = {\n"+
						"      source  = \"example.com/acme/tool\"\n      version = \"~> 1.0\"\n    }\n  }\n}\n")
			}
			b.StartTimer()
			if out, err := m.run(b.Context(), filepath.Join(top, tree), words, cache).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
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

// writeLarge writes an archive of a program of -megabytes MiB. The archive compresses the program
// about as well as real programs.
func writeLarge(path string, seed byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.Create("terraform-provider-tool")
	if err != nil {
		return err
	}
	rng := rand.NewChaCha8([32]byte{seed})
	words := make([]byte, 1<<12)
	block := make([]byte, 0, 1<<20)
	for range *megabytes {
		if _, err := rng.Read(words); err != nil {
			return err
		}
		for block = block[:0]; len(block) < 1<<20; {
			at := int(rng.Uint64() % uint64(len(words)-16))
			block = append(block, words[at:at+16]...)
		}
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return z.Close()
}
