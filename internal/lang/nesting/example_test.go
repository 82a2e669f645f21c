package nesting_test

import (
	"fmt"
	"strings"

	"tofu/internal/lang/nesting"
)

func ExampleCheck() {
	fmt.Println(nesting.Check("main.tf", []byte("a = [[1]]")))
	deep := "a = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	fmt.Println(nesting.Check("main.tf", []byte(deep)).Summary)
	// Output:
	// <nil>
	// Configuration nested too deeply
}
