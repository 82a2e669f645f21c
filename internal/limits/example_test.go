package limits_test

import (
	"fmt"
	"strings"

	"tofu/internal/limits"
)

func ExampleReadAll() {
	data, err := limits.ReadAll(strings.NewReader("short"), 10, "the document")
	fmt.Printf("%s %v\n", data, err)
	_, err = limits.ReadAll(strings.NewReader("much too long"), 10, "the document")
	fmt.Println(err)
	// Output:
	// short <nil>
	// the document is larger than 10 bytes
}
