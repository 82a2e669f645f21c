package session

import (
	"context"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/encryption"
	"tofu/internal/encryption/all"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// encryptionFor gives what the root module and TF_ENCRYPTION say of encryption. Keys are made once per command.
func (s *Session) encryptionFor(cfg *Config) (*encryption.Config, tfdiags.Diagnostics) {
	if s.Encrypted != nil {
		return s.Encrypted, nil
	}
	src := &encryption.Source{
		Blocks: cfg.Module.Encryption, Env: s.Env("TF_ENCRYPTION"), Getenv: s.Env, Registry: all.Registry(),
		Eval: func(expr hcl.Expression, want cty.Type) (cty.Value, tfdiags.Diagnostics) {
			return cfg.StaticSecret(expr, want, "terraform.encryption")
		},
	}
	config, diags := encryption.Load(src)
	if !diags.HasErrors() {
		s.Encrypted = config
	}
	return config, diags
}

// stateCodec gives the encryption of states, nil for none.
func (s *Session) StateCodec(cfg *Config) (statemgr.Codec, tfdiags.Diagnostics) {
	config, diags := s.encryptionFor(cfg)
	if diags.HasErrors() || config.State() == nil {
		return nil, diags
	}
	return config.State(), diags
}

// lateCodec asks for keys when something turns out to be encrypted, so that commands which may have nothing to decrypt don't need the
// variables that keys are made of.
type lazyCodec struct {
	session *Session
	cfg     *Config
}

func (c lazyCodec) Decrypt(ctx context.Context, data []byte) (plain []byte, migrate bool, err error) {
	if !encryption.IsEncrypted(data) {
		return data, false, nil
	}
	codec, diags := c.session.StateCodec(c.cfg)
	if codec == nil {
		return data, false, diags.Err()
	}
	return codec.Decrypt(ctx, data)
}

func (c lazyCodec) Encrypt([]byte) ([]byte, error) { panic("unreachable: it is for reading") }

// encryptionWarnings are those about what the configuration says of encryption.
func (s *Session) EncryptionWarnings(cfg *Config) tfdiags.Diagnostics {
	config, diags := s.encryptionFor(cfg)
	if diags.HasErrors() {
		return nil // told by whoever needs the encryption
	}
	return config.Warnings()
}

// fileEncryption gives the encryption for a file that is named on the command line, whose configuration is the working directory's.
func (s *Session) FileEncryption(ctx context.Context, vars Variables) (*encryption.Config, tfdiags.Diagnostics) {
	if !s.Parser.IsModuleDir(s.RootDir) && strings.TrimSpace(s.Env("TF_ENCRYPTION")) == "" {
		return &encryption.Config{}, nil
	}
	cfg, diags := s.LoadRootModule(ctx, vars)
	if diags.HasErrors() {
		return nil, diags
	}
	return s.encryptionFor(cfg)
}

// decryptFile gives a file's content in clear text. Without encryption it is the file itself, unless that is encrypted.
func DecryptFile(ctx context.Context, t *encryption.Target, data []byte) ([]byte, error) {
	if t == nil {
		return data, nil
	}
	plain, _, err := t.Decrypt(ctx, data)
	return plain, err
}
