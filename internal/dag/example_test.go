package dag_test

import (
	"context"
	"fmt"

	"tofu/internal/dag"
)

// Callers map vertices to their own data, here to names.
func ExampleWalker_Walk() {
	var g dag.Graph
	names := []string{"network", "server", "address"}
	for range names {
		g.Add()
	}
	g.Connect(1, 0) // the server depends on the network
	g.Connect(2, 1)

	outcomes := dag.NewWalker(&g).Walk(context.Background(), 4, func(id dag.ID) bool {
		fmt.Println("visiting", names[id])
		return names[id] != "server" // the visit of the server fails
	})
	fmt.Println(outcomes[0] == dag.Done, outcomes[1] == dag.Failed, outcomes[2] == dag.Skipped)
	// Output:
	// visiting network
	// visiting server
	// true true true
}
