package mcp

import "testing"

func TestSecrets(t *testing.T) {
	s := newSecrets([]string{"TF_VAR_x=first secret", "AWS_SECRET_ACCESS_KEY=two\"quotes\nand-lines", "HOME=/home/user",
		"API_TOKEN=short", "MY_PASSWORD=hidden", "TF_VAR_y=first secret and more"})
	for in, want := range map[string]string{
		`{"a":"the FIRST Secret is","n":12345678901234567890}`: `{"a":"the *** is","n":12345678901234567890}`,
		`["first secret and more", "/home/user", "short"]`:     `["***","/home/user","short"]`,
		`{"first secret": "and-lines"}`:                        `{"***":"***"}`,
		`"two\"quotes\nand-lines!"`:                            `"***!"`,
		`"hidden"`:                                             `"***"`,
		`"\u202eevil\u001b[31m <b>"`:                           `"\\u202eevil␛[31m <b>"`,
	} {
		got, err := s.clean([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}
