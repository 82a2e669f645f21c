package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"tofu/internal/testenv/registrytest"
)

// cmdOCIRegistry implements `ociregistry DIR`. It starts a registry and sets OCI to its address.
// The registry issues a token for each repository. DIR contains the packages, as
// REPOSITORY/VERSION/PLATFORM; a REPOSITORY has two path elements. The password of the registry is
// in the configuration file that other tools for OCI registries use.
func cmdOCIRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ociregistry DIR")
	}
	reg := registrytest.StartOCI()
	ts.Defer(reg.Close)
	reg.Tokens = true
	releases, err := filepath.Glob(ts.MkAbs(args[0]) + "/*/*/*")
	ts.Check(err)
	for _, dir := range releases {
		platforms, err := os.ReadDir(dir)
		ts.Check(err)
		archives := make(map[string][]byte)
		for _, p := range platforms {
			var out bytes.Buffer
			z := zip.NewWriter(&out)
			ts.Check(z.AddFS(os.DirFS(filepath.Join(dir, p.Name()))))
			ts.Check(z.Close())
			archives[p.Name()] = out.Bytes()
		}
		repository, err := filepath.Rel(ts.MkAbs(args[0]), filepath.Dir(dir))
		ts.Check(err)
		reg.Repository(filepath.ToSlash(repository)).Provider(filepath.Base(dir), archives)
	}
	ca, auth := ts.MkAbs(".home/ca.pem"), ts.MkAbs(".home/.docker/config.json")
	ts.Check(os.MkdirAll(filepath.Dir(auth), 0o700))
	ts.Check(os.WriteFile(ca, registrytest.Certificate(), 0o600))
	ts.Check(os.WriteFile(auth, []byte(`{"auths": {"`+reg.Host+`": {"username": "me", "password": "s3cret"}}}`), 0o600))
	ts.Setenv("SSL_CERT_FILE", ca)
	ts.Setenv("OCI", reg.Host)
}
