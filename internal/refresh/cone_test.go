package refresh_test

import (
	"slices"
	"testing"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

// TestCone checks that a minimal plan reads the object "a", because something that fails or changes
// depends on it in an unusual way. The object was changed outside, so a plan that doesn't read it fails
// or differs from one with a full refresh. The object "other" is never read.
func TestCone(t *testing.T) {
	const base = "resource \"fake_thing\" \"a\" {\n  name = \"a\"\n}\nresource \"fake_thing\" \"other\" {\n  name = \"other\"\n}\n"
	const module = "variable \"v\" {\n  default = \"\"\n}\nresource \"fake_thing\" \"in\" {\n  name = \"in\"\n}\n"
	for _, c := range []struct {
		name          string
		before, after string // the configuration beside base
		module        string
	}{
		{name: "condition of a block",
			before: "resource \"fake_thing\" \"b\" {\n  name = \"b\"\n}\n",
			after: "resource \"fake_thing\" \"b\" {\n  name = \"b\"\n  lifecycle {\n    precondition {\n" +
				"      condition     = fake_thing.a.c == \"2\"\n      error_message = \"no\"\n    }\n  }\n}\n"},
		{name: "instances of a block",
			before: "resource \"fake_thing\" \"b\" {\n  for_each = toset([\"x\"])\n  name     = \"b\"\n}\n",
			after: "resource \"fake_thing\" \"b\" {\n  for_each = { \"2\" = toset([\"x\"]) }[fake_thing.a.c]\n" +
				"  name     = \"b\"\n}\n"},
		{name: "argument",
			before: "resource \"fake_thing\" \"b\" {\n  name = \"b\"\n  v    = \"yes\"\n}\n",
			after:  "resource \"fake_thing\" \"b\" {\n  name = \"b\"\n  v    = { \"2\" = \"yes\" }[fake_thing.a.c]\n}\n"},
		{name: "value",
			after: "locals {\n  n = { \"2\" = \"yes\" }[fake_thing.a.c]\n}\noutput \"o\" {\n  value = local.n\n}\n"},
		{name: "condition of an output",
			after: "output \"o\" {\n  value = 1\n  precondition {\n    condition     = fake_thing.a.c == \"2\"\n" +
				"    error_message = \"no\"\n  }\n}\n"},
		{name: "condition of a variable",
			before: "module \"m\" {\n  source = \"./m\"\n}\n",
			after:  "module \"m\" {\n  source = \"./m\"\n  v      = fake_thing.a.c\n}\n",
			module: "variable \"v\" {\n  default = \"2\"\n  validation {\n    condition     = var.v == \"2\"\n" +
				"    error_message = \"no\"\n  }\n}\nresource \"fake_thing\" \"in\" {\n  name = \"in\"\n}\n"},
		{name: "instances of a module",
			before: "module \"m\" {\n  source   = \"./m\"\n  for_each = toset([\"x\"])\n}\n",
			after: "module \"m\" {\n  source   = \"./m\"\n" +
				"  for_each = { \"2\" = toset([\"x\"]) }[fake_thing.a.c]\n}\n"},
		{name: "configuration of a provider",
			before: "provider \"fake\" {\n  alias = \"p\"\n}\n" +
				"resource \"fake_thing\" \"b\" {\n  provider = fake.p\n  name     = \"b\"\n}\n",
			after: "provider \"fake\" {\n  alias = \"p\"\n  label = { \"2\" = \"two\" }[fake_thing.a.c]\n}\n" +
				"resource \"fake_thing\" \"b\" {\n  provider = fake.p\n  name     = \"b\"\n}\n"},
		{name: "provider of a change",
			after: "provider \"fake\" {\n  alias = \"p\"\n  label = fake_thing.a.c\n}\n" +
				"resource \"fake_thing\" \"b\" {\n  provider = fake.p\n  name     = \"b\"\n}\n"},
		{name: "call around a change",
			after: "module \"m\" {\n  source = \"./m\"\n  count  = fake_thing.a.c == \"\" ? 0 : 1\n}\n"},
		{name: "condition of a change",
			after: "resource \"fake_thing\" \"b\" {\n  name = \"b\"\n  lifecycle {\n    postcondition {\n" +
				"      condition     = fake_thing.a.c != \"\"\n      error_message = \"no\"\n    }\n  }\n}\n"},
		{name: "deferred block",
			after: "resource \"fake_thing\" \"new\" {\n  name = \"new\"\n}\nresource \"fake_thing\" \"b\" {\n" +
				"  count = fake_thing.new.id == \"\" ? 0 : 1\n  name  = \"b\"\n  v     = fake_thing.a.c\n}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmp := &comparison{s: enginetest.NewSession(t.TempDir())}
			if c.module == "" {
				c.module = module
			}
			cmp.play(&enginetest.Chapter{Files: map[string]string{"main.tf": base + c.before, "m/main.tf": c.module}})
			if cmp.err != nil {
				t.Fatal(cmp.err)
			}
			cmp.s.Cloud.Edit("a-1", "c", "2")
			cfg, err := cmp.s.Load(map[string]string{"main.tf": base + c.after, "m/main.tf": c.module}, nil, tfdiags.Drop)
			if err != nil {
				t.Fatal(err)
			}
			opts := engine.PlanOptions{Defer: true}
			full, minimal := cmp.full(cfg, opts), cmp.minimal(cfg, opts, nil)
			if minimal.text != full.text || minimal.plan == nil || minimal.plan.Errored {
				t.Errorf("full:\n%s\nminimal:\n%s", full.text, minimal.text)
			}
			if !slices.Contains(minimal.objects, "a-1") || slices.Contains(minimal.objects, "other-1") {
				t.Errorf("read %v", minimal.objects)
			}
			if stored := cmp.plan(cfg, opts, refresh.Options{NotTypes: refresh.Patterns{"fake_thing"}}, nil); stored.text == full.text {
				t.Error("without reads the plan is the same")
			}
		})
	}
}
