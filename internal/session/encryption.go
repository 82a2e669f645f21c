package session

import (
	"context"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/encryption"
	"tofu/internal/encryption/all"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// Encryption evaluates the encryption of a root module's states and plans.
type Encryption struct {
	// Evaluated holds the settings. It is nil until a method has evaluated them.
	Evaluated *encryption.Config
	getenv    func(string) string
}

// config returns the encryption settings in the root module and in TF_ENCRYPTION. It evaluates them
// and derives keys only once.
func (e *Encryption) config(cfg *Config) (*encryption.Config, error) {
	if e.Evaluated != nil {
		return e.Evaluated, nil
	}
	src := &encryption.Source{
		Blocks: cfg.Module.Encryption, Env: e.getenv("TF_ENCRYPTION"), Getenv: e.getenv, Registry: all.Registry(),
		Eval: func(expr hcl.Expression, want cty.Type) (cty.Value, error) {
			return cfg.StaticSecret(expr, want, "terraform.encryption")
		},
	}
	config, err := encryption.Load(src)
	if err != nil {
		return nil, err
	}
	e.Evaluated = config
	return config, nil
}

// StateCodec returns the encryption of states, or nil if states are not encrypted.
func (e *Encryption) StateCodec(cfg *Config) (statemgr.Codec, error) {
	config, err := e.config(cfg)
	if err != nil || config.State() == nil {
		return nil, err
	}
	return config.State(), nil
}

// lazyCodec derives keys only when it finds encrypted data. Therefore commands that read no
// encrypted data don't require the variables on which the keys depend.
type lazyCodec struct {
	encryption *Encryption
	cfg        *Config
}

func (c lazyCodec) Decrypt(ctx context.Context, data []byte) (plain []byte, migrate bool, err error) {
	if !encryption.IsEncrypted(data) {
		return data, false, nil
	}
	codec, err := c.encryption.StateCodec(c.cfg)
	if codec == nil {
		return data, false, err
	}
	return codec.Decrypt(ctx, data)
}

func (c lazyCodec) Encrypt([]byte) ([]byte, error) { panic("unreachable: a lazyCodec only decrypts") }

// Check passes warnings about the encryption settings to warn.
func (e *Encryption) Check(cfg *Config, warn tfdiags.Sink) {
	// Ignore errors: they are reported when the encryption is used.
	if config, err := e.config(cfg); err == nil {
		config.Warn(warn)
	}
}

// FileEncryption returns the encryption for a file that the command line names. It uses the
// settings of the working directory.
func (s *Session) FileEncryption(ctx context.Context, vars Variables) (*encryption.Config, error) {
	return s.fileEncryption(func() (*Config, error) { return s.LoadForState(ctx, vars) })
}

// fileEncryptionWith is like FileEncryption, but uses values that were already collected.
func (s *Session) fileEncryptionWith(
	ctx context.Context, given map[string]configs.Given,
) (*encryption.Config, error) {
	return s.fileEncryption(func() (*Config, error) { return s.LoadRootModuleWith(ctx, given) })
}

func (s *Session) fileEncryption(load func() (*Config, error)) (*encryption.Config, error) {
	if !s.Parser.IsModuleDir(s.RootDir) && strings.TrimSpace(s.Env("TF_ENCRYPTION")) == "" {
		return &encryption.Config{}, nil
	}
	cfg, err := load()
	if err != nil {
		return nil, err
	}
	return s.Encryption.config(cfg)
}

// DecryptFile returns the decrypted content of a file. If t is nil, it returns data unchanged, even
// if it is encrypted.
func DecryptFile(ctx context.Context, t *encryption.Target, data []byte) ([]byte, error) {
	if t == nil {
		return data, nil
	}
	plain, _, err := t.Decrypt(ctx, data)
	return plain, err
}
