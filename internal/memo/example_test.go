package memo_test

import (
	"fmt"

	"tofu/internal/memo"
)

func Example() {
	var services memo.Map[string, string]
	discover := func(host string) (string, error) {
		return services.Do(host, func() (string, error) {
			fmt.Println("asking", host)
			return "https://" + host + "/v1/providers/", nil
		})
	}
	for range 2 {
		url, err := discover("example.com")
		fmt.Println(url, err)
	}
	// Output:
	// asking example.com
	// https://example.com/v1/providers/ <nil>
	// https://example.com/v1/providers/ <nil>
}
