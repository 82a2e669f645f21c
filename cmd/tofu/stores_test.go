package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"tofu/internal/backend/s3/s3test"
)

// A store is the part of a service in which a script keeps its states.
type store interface {
	// Dump describes the content of the store as text that is the same in any run and for any
	// program.
	Dump(ctx context.Context) (string, error)
}

// A storeKind makes stores of a service.
type storeKind struct {
	services []string // the environment variables with the addresses of the services
	// make makes an empty store with that name, and sets environment variables for scripts.
	make func(ts *testscript.TestScript, name string) store
}

// storeKinds holds the kinds by name. In scripts, the name is also a condition: whether the
// services of the kind are available.
var storeKinds = map[string]storeKind{
	"aws_kms":     {[]string{"TEST_KMS_URL"}, kmsStore},
	"azure_vault": {nil, vaultStore},
	"azurerm":     {[]string{"TEST_AZURE_URL"}, azureStore},
	"consul":      {nil, consulStore},
	"cos":         {nil, cosStore},
	"oss":         {nil, ossStore},
	"gcp_kms":     {nil, gcpKMSStore},
	"gcs":         {[]string{"TEST_GCS_URL"}, gcsStore},
	"kubernetes":  {nil, kubernetesStore},
	"remote":      {nil, remoteStore},
	"s3":          {[]string{"TEST_S3_URL", "TEST_DYNAMODB_URL"}, s3Store},
}

// missing returns the first service of a kind that is not available.
func (k storeKind) missing() string {
	for _, name := range k.services {
		if os.Getenv(name) == "" {
			return name
		}
	}
	return ""
}

var (
	storeCount   atomic.Int32
	scriptStores sync.Map // the store that was made last, by *testscript.TestScript
)

// cmdStore implements `store KIND`. It makes an empty store and sets environment variables so that
// the backend KIND uses it.
func cmdStore(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || storeKinds[args[0]].make == nil {
		ts.Fatalf("usage: store KIND")
	}
	scriptStores.Store(ts, storeKinds[args[0]].make(ts, fmt.Sprintf("script-%d-%d", os.Getpid(), storeCount.Add(1))))
}

// cmdDump implements `dump FILE`. It describes the content of the store that was made last.
func cmdDump(ts *testscript.TestScript, neg bool, args []string) {
	made, ok := scriptStores.Load(ts)
	if neg || len(args) != 1 || !ok {
		ts.Fatalf("usage: store KIND, then dump FILE")
	}
	text, err := made.(store).Dump(context.Background())
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// s3Store makes a bucket and a table. The name of both is in BUCKET. The user of READER_KEY and
// READER_SECRET may only read.
func s3Store(ts *testscript.TestScript, name string) store {
	s, err := s3test.New(context.Background(), os.Getenv("TEST_S3_URL"), os.Getenv("TEST_DYNAMODB_URL"), name)
	ts.Check(err)
	ts.Check(s.AllowReading(context.Background()))
	for variable, value := range map[string]string{"BUCKET": name, "READER_KEY": s3test.ReaderKey,
		"READER_SECRET": s3test.ReaderSecret, "AWS_ENDPOINT_URL_S3": s.S3,
		"AWS_ENDPOINT_URL_DYNAMODB": s.DynamoDB, "AWS_ACCESS_KEY_ID": s.AccessKey, "AWS_SECRET_ACCESS_KEY": s.SecretKey,
		"AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		ts.Setenv(variable, value)
	}
	return s
}

// kmsStore sets the address and the credentials of the key management service of AWS.
func kmsStore(ts *testscript.TestScript, _ string) store {
	for variable, value := range map[string]string{"AWS_ENDPOINT_URL_KMS": os.Getenv("TEST_KMS_URL"),
		"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "verysecret", "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true"} {
		ts.Setenv(variable, value)
	}
	return nil
}
