package awskms_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"tofu/internal/awsapi"
	"tofu/internal/encryption"
	"tofu/internal/encryption/awskms"
	"tofu/internal/testenv"
	"tofu/internal/testenv/keytest"
)

// TestMain hides the AWS configuration of the machine.
func TestMain(m *testing.M) {
	testenv.HideEnv("AWS_", "AWS_CA_BUNDLE")
	os.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	os.Setenv("AWS_CONFIG_FILE", "/nonexistent/config")
	os.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials")
	os.Exit(m.Run())
}

var account = awsapi.Config{Region: "us-east-1", AccessKey: "tester", SecretKey: "verysecret"}

// newKey creates a key in the service.
func newKey(t *testing.T) string {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL_KMS", testenv.Service(t, "TEST_KMS_URL"))
	c := account
	a, err := awsapi.Open(context.Background(), &c, awsapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kms, err := a.Service(t.Context(), awsapi.ServiceID{Name: "KMS", Signing: "kms"}, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		KeyMetadata struct {
			KeyID string `json:"KeyId"`
		}
	}
	if err := kms.JSON(t.Context(), "1.1", "TrentService.CreateKey", struct{}{}, &made); err != nil {
		t.Fatal(err)
	}
	return made.KeyMetadata.KeyID
}

func open(t *testing.T, c awskms.Config) encryption.KeyProvider {
	t.Helper()
	if c.AccessKey == "" {
		c.Config = account
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	p, err := awskms.Driver.Open(&c, false)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKeys(t *testing.T) {
	for spec, length := range map[string]int{"AES_256": 32, "AES_128": 16} {
		c := awskms.Config{KeyID: newKey(t), KeySpec: spec}
		keytest.Run(t, func(t *testing.T) encryption.KeyProvider { return open(t, c) })
		made, meta, err := open(t, c).Keys(t.Context(), nil, encryption.Keys{})
		if err != nil || len(made.Encryption) != length || open(t, c).(encryption.KeySizer).KeySize(nil) != length {
			t.Errorf("%s has %d bytes, %v", spec, len(made.Encryption), err)
		}
		var fields map[string][]byte
		if err := json.Unmarshal(meta, &fields); err != nil || len(fields) != 1 || len(fields["ciphertext_blob"]) == 0 {
			t.Errorf("the metadata is %s", meta)
		}
	}
}

// TestReplacedKey checks that a data key can't be decrypted with another key.
func TestReplacedKey(t *testing.T) {
	_, meta, err := open(t, awskms.Config{KeyID: newKey(t), KeySpec: "AES_256"}).Keys(t.Context(),
		nil, encryption.Keys{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = open(t, awskms.Config{KeyID: newKey(t), KeySpec: "AES_256"}).Keys(t.Context(), meta, encryption.Keys{})
	if err == nil || !strings.Contains(err.Error(), "keep the old settings in a \"fallback\" block") {
		t.Error(err)
	}
}

// TestContext checks that a key can be decrypted only with its encryption context.
func TestContext(t *testing.T) {
	key := newKey(t)
	with := func(context map[string]string) encryption.KeyProvider {
		return open(t, awskms.Config{KeyID: key, KeySpec: "AES_256", Context: context})
	}
	prod := map[string]string{"environment": "prod"}
	made, meta, err := with(prod).Keys(t.Context(), nil, encryption.Keys{})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(meta, []byte("prod")) {
		t.Errorf("the metadata has the context: %s", meta)
	}
	got, _, err := with(prod).Keys(t.Context(), meta, encryption.Keys{})
	if err != nil || !bytes.Equal(got.Decryption, made.Encryption) {
		t.Errorf("got %x, %v", got.Decryption, err)
	}
	for _, other := range []map[string]string{nil, {"environment": "test"}} {
		_, _, err := with(other).Keys(t.Context(), meta, encryption.Keys{})
		if err == nil || !strings.Contains(err.Error(), "another KMS key or another encryption_context") {
			t.Errorf("with %v: %v", other, err)
		}
	}
}

func TestFailures(t *testing.T) {
	key := newKey(t)
	for want, c := range map[string]awskms.Config{
		"NotFoundException": {Config: account, KeyID: "9d40f1d4-5b9f-4b3e-8f9a-3f4c6f6d1b1a",
			KeySpec: "AES_256"},
		"No valid credential sources found": {Config: awsapi.Config{Region: "us-east-1"}, KeyID: key,
			KeySpec: "AES_256"},
	} {
		p, err := awskms.Driver.Open(&c, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Keys(t.Context(), nil, encryption.Keys{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_KMS", "http://127.0.0.1:1")
	c := account
	c.MaxRetries = 0
	_, _, err := open(t, awskms.Config{Config: c, KeyID: key, KeySpec: "AES_256"}).Keys(t.Context(), nil,
		encryption.Keys{})
	if err == nil || !strings.Contains(err.Error(), "creating a data key: operation error KMS: GenerateDataKey") ||
		strings.Contains(err.Error(), "verysecret") || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	bad := awskms.Config{Config: account, KeyID: key, KeySpec: "RSA"}
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), `"RSA" is not one of AES_256, AES_128`) {
		t.Error(err)
	}
}
