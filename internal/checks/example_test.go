package checks_test

import (
	"fmt"

	"tofu/internal/checks"
)

func Example() {
	var results checks.Results
	block := results.Declare(checks.KindResource, "aws_instance.a")
	block.Set("aws_instance.a[0]", checks.Pass, nil)
	block.Set("aws_instance.a[1]", checks.Fail, []string{"The disk is too small."})
	fmt.Println(block.Status)
	// Output: fail
}
