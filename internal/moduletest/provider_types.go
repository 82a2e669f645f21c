package moduletest

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// providerTypes maps each name in a file's provider blocks to the provider for which the runs of
// the file use it.
type providerTypes struct {
	suite *Suite
	file  *configs.TestFile
	types map[string]addrs.Provider
	errs  tfdiags.Diagnostics
}

// checkProviderTypes returns an error for each name of a provider block that several runs of a file
// use for different providers. A mocked provider may be used for several providers.
func (s *Suite) checkProviderTypes(file *configs.TestFile) error {
	t := &providerTypes{suite: s, file: file, types: map[string]addrs.Provider{}}
	for _, run := range file.Runs {
		subject := s.subjects[run]
		if subject == nil || subject.config == nil {
			continue
		}
		if !run.Providers.Set {
			for _, local := range slices.SortedFunc(maps.Keys(file.Providers), addrs.LocalProviderConfig.Compare) {
				t.use(run, subject, local.LocalName, local.LocalName, file.Providers[local].Range)
			}
			continue
		}
		for _, pair := range run.Providers.Value {
			if file.Mocks[pair.InParent.Local()] == nil {
				t.use(run, subject, pair.InParent.Name, pair.InChild.Name, pair.InParent.NameRange)
			}
		}
	}
	return t.errs.Err()
}

// use records that a run passes a provider configuration to a module. name is the configuration's
// name in the file, and inModule is its name in the module. If an earlier run uses the name for
// another provider, use adds an error.
func (t *providerTypes) use(run *configs.TestRun, subject *subject, name, inModule string, at hcl.Range) {
	if !subject.knows(inModule) {
		return
	}
	want := subject.config.Module.ProviderByLocalName(inModule)
	have, used := t.types[name]
	switch {
	case !used:
		t.types[name] = want
	case have != want:
		t.errs = append(t.errs, tfdiags.Errorf("Provider type mismatch",
			"In the run %q, the provider configuration %q of %s is for provider %s, but an earlier run of the "+
				"file uses that name for %s. Use a different name for each provider, and pass it with the "+
				"providers argument of the run.",
			run.Name, name, t.file.Name, want.ForDisplay(), have.ForDisplay()).At(at))
	}
}
