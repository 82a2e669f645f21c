package awskms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"tofu/internal/awsapi"
	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
)

// Config is the configuration of the key_provider block.
type Config struct {
	awsapi.Config
	KeyID     string            `cfg:"kms_key_id,required"`
	KeySpec   string            `cfg:"key_spec,required"`
	Context   map[string]string `cfg:"encryption_context"`
	Endpoints Endpoints         `cfg:"endpoints,block"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"kms_key_id": "The ID, the ARN or the alias of the KMS key that encrypts the data key.",
		"key_spec":   "The kind of data key: AES_256 or AES_128.",
		"encryption_context": "Names and values that the service authenticates with the key and logs. " +
			"Decrypting needs the same ones.",
		"endpoints": "The addresses of services. AWS_ENDPOINT_URL_KMS sets the address of KMS.",
	}
}

// Endpoints holds the addresses of AWS services that replace the default ones.
type Endpoints struct {
	IAM string `cfg:"iam"`
	STS string `cfg:"sts"`
}

// Docs implements blocks.Documented.
func (*Endpoints) Docs() blocks.Docs {
	return blocks.Docs{
		"iam": "The address of IAM. It is not used.",
		"sts": "The address of STS.",
	}
}

// keyLengths holds the lengths of data keys in bytes, by key_spec.
var keyLengths = map[string]int{"AES_256": 32, "AES_128": 16}

// Check implements blocks.Checker.
func (c *Config) Check() error {
	if keyLengths[c.KeySpec] == 0 {
		return blocks.Invalid([]string{"key_spec"}, "%q is not one of AES_256, AES_128", c.KeySpec)
	}
	return c.Config.Check()
}

const docs = "https://opentofu.org/docs/language/state/encryption/#aws-kms"

// Driver is the driver of the key provider aws_kms.
var Driver = encryption.NewKeyDriver("aws_kms", func(c *Config) (encryption.KeyProvider, error) {
	return &provider{config: c}, nil
})

var service = awsapi.ServiceID{Name: "KMS", Host: "kms", Signing: "kms"}

type provider struct {
	config *Config

	mu  sync.Mutex
	kms *awsapi.Service // nil before the first use
}

// open returns the service. It signs in on first use, and again after a failure.
func (p *provider) open(ctx context.Context) (*awsapi.Service, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kms != nil {
		return p.kms, nil
	}
	account, err := awsapi.Open(ctx, &p.config.Config, awsapi.Options{STSEndpoint: p.config.Endpoints.STS,
		User: "the key provider aws_kms", Docs: docs})
	if err != nil {
		return nil, err
	}
	p.kms, err = account.Service(ctx, service, "", nil, nil)
	return p.kms, err
}

// KeySize implements encryption.KeySizer.
func (p *provider) KeySize(stored []byte) int {
	if stored != nil {
		return 0 // only the service knows the size of stored keys
	}
	return keyLengths[p.config.KeySpec]
}

// metadata is the data that is needed to find a key again. It is stored with the encrypted data.
type metadata struct {
	Ciphertext []byte `json:"ciphertext_blob"`
}

// request is the body of a call. Its fields are named as in the service's API.
type request struct {
	KeyID      string            `json:"KeyId,omitempty"`
	KeySpec    string            `json:",omitempty"`
	Ciphertext []byte            `json:"CiphertextBlob,omitempty"`
	Context    map[string]string `json:"EncryptionContext,omitempty"`
}

// response is the result of a call.
type response struct {
	Plaintext  []byte
	Ciphertext []byte `json:"CiphertextBlob"`
}

func (p *provider) call(ctx context.Context, name string, r request) (out response, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return out, err
	}
	r.Context = p.config.Context
	err = s.JSON(ctx, "1.1", "TrentService."+name, r, &out)
	refused, ok := errors.AsType[*awsapi.Error](err)
	if ok && len(r.Ciphertext) > 0 &&
		(refused.Code == "InvalidCiphertextException" || refused.Code == "IncorrectKeyException") {
		err = fmt.Errorf("the data key was encrypted with another KMS key or another encryption_context; to replace "+
			"the key, keep the old settings in a \"fallback\" block: %w", err)
	}
	return out, err
}

// Keys implements encryption.KeyProvider.
func (p *provider) Keys(ctx context.Context, stored []byte, _ encryption.Keys) (encryption.Keys, []byte, error) {
	if stored == nil {
		made, err := p.call(ctx, "GenerateDataKey", request{KeyID: p.config.KeyID, KeySpec: p.config.KeySpec})
		if err != nil {
			return encryption.Keys{}, nil, fmt.Errorf("creating a data key: %w", err)
		}
		if len(made.Plaintext) != keyLengths[p.config.KeySpec] || len(made.Ciphertext) == 0 {
			return encryption.Keys{}, nil, fmt.Errorf("creating a data key: the response from the service has no "+
				"encrypted key of %d bytes", keyLengths[p.config.KeySpec])
		}
		meta, err := json.Marshal(metadata{made.Ciphertext})
		return encryption.Keys{Encryption: made.Plaintext}, meta, err
	}
	var meta metadata
	if err := json.Unmarshal(stored, &meta); err != nil || len(meta.Ciphertext) == 0 {
		return encryption.Keys{}, nil, errors.New("its metadata is damaged")
	}
	// With the key's name in the request, the service refuses data keys that were encrypted with
	// another key, which may belong to another account.
	found, err := p.call(ctx, "Decrypt", request{KeyID: p.config.KeyID, Ciphertext: meta.Ciphertext})
	if err != nil {
		return encryption.Keys{}, nil, fmt.Errorf("decrypting the data key: %w", err)
	}
	if len(found.Plaintext) == 0 {
		return encryption.Keys{}, nil, errors.New("decrypting the data key: the response from the service has no key")
	}
	return encryption.Keys{
		Decryption: found.Plaintext,
		Reuse:      encryption.ReuseOf(found.Plaintext, keyLengths[p.config.KeySpec]),
	}, nil, nil
}
