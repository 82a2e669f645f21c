package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"tofu/internal/testenv/s3test"
)

// A store is the part of a service in which a script stores its states, such as a bucket.
type store interface {
	// Dump describes the content of the store as text. The text is the same in every run, and
	// regardless of the program that wrote the content.
	Dump(ctx context.Context) (string, error)
}

// A storeKind creates stores in one kind of service.
type storeKind struct {
	services []string // environment variables with the addresses of the services
	// make creates an empty store with the given name, and sets environment variables for the
	// script.
	make func(ts *testscript.TestScript, name string) store
}

// storeKinds holds the kinds of stores by name. In scripts, the name is also a condition, which is
// true if the services that the kind needs are available.
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

// missing returns the variable of the first service that is not available, or "" if all services
// are available.
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
	scriptStores sync.Map // latest store of each script, by *testscript.TestScript
)

// cmdStore implements `store KIND`. It creates an empty store and sets the environment variables
// that the backend KIND needs to use it.
func cmdStore(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || storeKinds[args[0]].make == nil {
		ts.Fatalf("usage: store KIND")
	}
	scriptStores.Store(ts, storeKinds[args[0]].make(ts, fmt.Sprintf("script-%d-%d", os.Getpid(), storeCount.Add(1))))
}

// cmdDump implements `dump FILE`. It writes a description of the script's latest store to FILE.
func cmdDump(ts *testscript.TestScript, neg bool, args []string) {
	made, ok := scriptStores.Load(ts)
	if neg || len(args) != 1 || !ok {
		ts.Fatalf("usage: store KIND, then dump FILE")
	}
	text, err := made.(store).Dump(context.Background())
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// s3Store creates a bucket and a table with the same name, and sets BUCKET to that name. The user
// with the credentials READER_KEY and READER_SECRET may only read.
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

// kmsStore sets the address of AWS KMS and credentials for it.
func kmsStore(ts *testscript.TestScript, _ string) store {
	for variable, value := range map[string]string{"AWS_ENDPOINT_URL_KMS": os.Getenv("TEST_KMS_URL"),
		"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "verysecret", "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true"} {
		ts.Setenv(variable, value)
	}
	return nil
}
