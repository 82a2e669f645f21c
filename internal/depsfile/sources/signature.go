package sources

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// SignaturePolicy says which signatures are acceptable.
type SignaturePolicy struct {
	// Enforce requires a signature for all providers, even for providers that have no keys in the
	// default registry.
	Enforce bool
	// EnforceExpiry rejects expired keys and signatures.
	EnforceExpiry bool
}

// policyFrom reads the policy from environment variables.
func policyFrom(getenv func(string) string) SignaturePolicy {
	return SignaturePolicy{
		Enforce:       getenv("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true",
		EnforceExpiry: getenv("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true",
	}
}

type signingKey struct {
	ID    string `json:"key_id"`
	Armor string `json:"ascii_armor"`
}

// verifySignature checks a detached signature against the keys listed by the registry and returns
// the key that created it. Expiry is checked last, because the policy decides whether expired
// signatures are accepted.
func verifySignature(
	data, signature []byte, keys []signingKey, policy SignaturePolicy, now time.Time,
) (keyID string, err error) {
	if len(keys) == 0 {
		return "", errors.New("the registry lists no signing keys, but a signature is required")
	}
	config := &packet.Config{Time: func() time.Time { return now }}
	for _, key := range keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.Armor))
		if err != nil {
			return "", fmt.Errorf("the registry lists a key %q that can't be read: %w", key.ID, err)
		}
		entity, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(data), bytes.NewReader(signature), config)
		if errors.Is(err, pgperrors.ErrUnknownIssuer) {
			continue // another key made the signature
		}
		if expired(err) && !policy.EnforceExpiry {
			err = nil
		}
		if err != nil {
			return "", fmt.Errorf("the signature of the list of checksums isn't valid: %w", err)
		}
		if entity != nil {
			return entity.PrimaryKey.KeyIdString(), nil
		}
		return key.ID, nil
	}
	return "", errors.New("the list of checksums isn't signed by any of the keys that the registry lists")
}

func expired(err error) bool {
	return errors.Is(err, pgperrors.ErrKeyExpired) || errors.Is(err, pgperrors.ErrSignatureExpired)
}
