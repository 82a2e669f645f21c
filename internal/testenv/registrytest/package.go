package registrytest

import (
	"archive/zip"
	"bytes"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/mod/sumdb/dirhash"
)

// Zip returns a zip archive of the files.
func Zip(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ContentHash returns the "h1:" hash of an archive. It is computed independently of the tested
// implementation.
func ContentHash(t testing.TB, archive []byte) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return z.Open(name) })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// NewKey returns a key that was created at the given time and expires after life. If life is 0, it
// never expires.
func NewKey(t testing.TB, created time.Time, life time.Duration) *openpgp.Entity {
	t.Helper()
	key, err := openpgp.NewEntity("test", "", "test@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA,
		Time: func() time.Time { return created }, KeyLifetimeSecs: uint32(life / time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Armored returns the public part of a key in the form used by registries.
func Armored(t testing.TB, key *openpgp.Entity) string {
	t.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = key.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// sign signs data. The time of the signature is soon after the creation of the key, when even a key
// that expires is still valid.
func sign(t testing.TB, key *openpgp.Entity, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	at := key.PrimaryKey.CreationTime.Add(time.Minute)
	config := &packet.Config{Time: func() time.Time { return at }}
	if err := openpgp.DetachSign(&out, key, bytes.NewReader(data), config); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
