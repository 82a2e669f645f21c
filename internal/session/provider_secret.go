package session

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/memo"
	"tofu/internal/terminal"
)

// providerSecret returns a function that finds the secrets of provider configurations that only the state
// has: in the environment, or by asking the user, once for all plans and applies of an operation.
func (s *Session) providerSecret() func(context.Context, addrs.ProviderInstance, string, string) (string, bool) {
	var answers memo.Map[string, string]
	var asking sync.Mutex // one question at a time
	return func(ctx context.Context, p addrs.ProviderInstance, argument, variable string) (string, bool) {
		if text := s.Env("TF_VAR_" + variable); text != "" {
			return text, true
		}
		if !s.Input {
			return "", false
		}
		text, err := answers.Do(p.String()+argument, func() (string, error) {
			asking.Lock()
			defer asking.Unlock()
			return s.Terminal.Ask(ctx, terminal.Question{Title: fmt.Sprintf("%s of %s", strings.TrimPrefix(argument, "/"), p), Secret: true,
				Text: fmt.Sprintf("The configuration no longer has this provider, and the state has kept its last "+
					"configuration without values that are secret or came from outside of the configuration. The environment variable TF_VAR_%s can hold the value, too.", variable)})
		})
		return text, err == nil && text != ""
	}
}
