package plans_test

import (
	"fmt"

	"tofu/internal/plans"
)

func ExampleDecide() {
	for _, c := range []plans.Circumstances{
		{},
		{HasPrior: true, Equal: true},
		{HasPrior: true, CannotUpdate: true},
	} {
		action, reason := plans.Decide(c)
		fmt.Printf("%s %q\n", action, reason)
	}
	// Output:
	// create ""
	// no-op ""
	// delete-create "replace_because_cannot_update"
}
