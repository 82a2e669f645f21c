package marks_test

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
)

func Example() {
	password := cty.StringVal("hush").Mark(marks.Sensitive)
	user := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("ada"), "password": password})

	fmt.Println(marks.Has(user, marks.Sensitive))      // whether the object itself is marked
	fmt.Println(marks.Contains(user, marks.Sensitive)) // whether anything in it is marked
	fmt.Println(marks.Any(marks.Without(user, marks.Sensitive)))
	// Output:
	// false
	// true
	// false
}
