package depsfile_test

import (
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/tfdiags"
)

func Example() {
	locks, err := depsfile.Parse([]byte(`
provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.1"
  hashes  = ["h1:FbGfc+muBsC17Ohy5g806iuI1hQc4SIexpYCrQHQd8w="]
}
`), depsfile.FileName, tfdiags.Drop)
	if err != nil {
		fmt.Println(err)
		return
	}
	lock, ok := locks.Provider(addrs.DefaultProvider("null"))
	constraint, _ := depsfile.ParseConstraints("~> 3.1")
	fmt.Println(lock.Version, ok, depsfile.Acceptable(constraint).Has(lock.Version))
	// Output: 3.2.1 true true
}
