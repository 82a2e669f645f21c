package command

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
func (a *App) encryptionFor(cfg *loaded) (*encryption.Config, tfdiags.Diagnostics) {
	if a.encrypted != nil {
		return a.encrypted, nil
	}
	src := &encryption.Source{
		Blocks: cfg.Module.Encryption, Env: a.Env("TF_ENCRYPTION"), Getenv: a.Env, Registry: all.Registry(),
		Eval: func(expr hcl.Expression, want cty.Type) (cty.Value, tfdiags.Diagnostics) {
			return cfg.StaticSecret(expr, want, "terraform.encryption")
		},
	}
	config, diags := encryption.Load(src)
	if !diags.HasErrors() {
		a.encrypted = config
	}
	return config, diags
}

// stateCodec gives the encryption of states, nil for none.
func (a *App) stateCodec(cfg *loaded) (statemgr.Codec, tfdiags.Diagnostics) {
	config, diags := a.encryptionFor(cfg)
	if diags.HasErrors() || config.State() == nil {
		return nil, diags
	}
	return config.State(), diags
}

// lateCodec asks for keys when something turns out to be encrypted, so that commands which may have nothing to decrypt don't need the
// variables that keys are made of.
type lateCodec struct {
	app *App
	cfg *loaded
}

func (c lateCodec) Decrypt(ctx context.Context, data []byte) (plain []byte, migrate bool, err error) {
	if !encryption.IsEncrypted(data) {
		return data, false, nil
	}
	codec, diags := c.app.stateCodec(c.cfg)
	if codec == nil {
		return data, false, diags.Err()
	}
	return codec.Decrypt(ctx, data)
}

func (c lateCodec) Encrypt([]byte) ([]byte, error) { panic("unreachable: it is for reading") }

// encryptionWarnings are those about what the configuration says of encryption.
func (a *App) encryptionWarnings(cfg *loaded) tfdiags.Diagnostics {
	config, diags := a.encryptionFor(cfg)
	if diags.HasErrors() {
		return nil // told by whoever needs the encryption
	}
	return config.Warnings()
}

// fileEncryption gives the encryption for a file that is named on the command line, whose configuration is the working directory's.
func (a *App) fileEncryption(ctx context.Context, vars varFlags) (*encryption.Config, tfdiags.Diagnostics) {
	if !a.parser.IsModuleDir(a.rootDir) && strings.TrimSpace(a.Env("TF_ENCRYPTION")) == "" {
		return &encryption.Config{}, nil
	}
	cfg, diags := a.loadRootModule(ctx, vars)
	if diags.HasErrors() {
		return nil, diags
	}
	return a.encryptionFor(cfg)
}

// decryptFile gives a file's content in clear text. Without encryption it is the file itself, unless that is encrypted.
func decryptFile(ctx context.Context, t *encryption.Target, data []byte) ([]byte, error) {
	if t == nil {
		return data, nil
	}
	plain, _, err := t.Decrypt(ctx, data)
	return plain, err
}
