package suggest_test

import (
	"fmt"

	"tofu/internal/suggest"
)

func ExampleDidYouMean() {
	commands := []string{"init", "plan", "apply"}
	fmt.Printf("There is no command %q.%s\n", "aply", suggest.DidYouMean("aply", commands))
	fmt.Printf("There is no command %q.%s\n", "deploy", suggest.DidYouMean("deploy", commands))
	fmt.Printf("There is no %s.%s\n", `a.b["wbe"]`, suggest.DidYouMean(`a.b["wbe"]`, []string{`a.b["web"]`}))
	// Output:
	// There is no command "aply". Did you mean "apply"?
	// There is no command "deploy".
	// There is no a.b["wbe"]. Did you mean a.b["web"]?
}
