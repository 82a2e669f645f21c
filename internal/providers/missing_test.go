package providers

import (
	"testing"

	"tofu/internal/tfdiags"
)

func TestSayMissing(t *testing.T) {
	for _, text := range []string{
		"no matching EC2 VPC found",
		"no matching Route53Zone found",
		"reading IAM Role (app): couldn't find resource",
		"Your query returned no results. Please change your search criteria and try again.",
		"reading EC2 Subnets: empty result",
		"NoSuchEntity: The role with name app cannot be found.",
		"operation error SSM: GetParameter, https response error StatusCode: 400, ParameterNotFound:",
		"ResourceNotFoundException: No cluster found for name: app.",
		"Error: Resource Group (Subscription: \"x\" Resource Group Name: \"app\") was not found",
		"googleapi: Error 404: The resource 'projects/p/zones/z/instances/i' was not found, notFound",
		"namespaces \"app\" not found",
		"GET https://api.example.com/repos/o/r: 404 Not Found []",
		"no droplet found with name app",
		"secret does not exist",
		"The object doesn't exist",
		"open app.txt: no such file or directory",
		"Unable to find image app",
		"unexpected status: 404",
		"0 certificates matched",
	} {
		if !SayMissing(tfdiags.Errorf(text, "").List()) {
			t.Errorf("not recognized as missing: %s", text)
		}
	}
	for _, text := range []string{
		"multiple EC2 VPCs matched; use additional constraints",
		"AccessDenied: not authorized to perform ssm:GetParameter on a parameter that was not found",
		"403 Forbidden: not found",
		"No valid credential sources found",
		"dial tcp: lookup api.example.com: no such host",
		"ExpiredToken: the token was not found",
		"Error 404ms: too slow",
		"connection refused",
		"Invalid filter",
		"More than one result; there is no way to choose",
	} {
		if SayMissing(tfdiags.Errorf(text, "").List()) {
			t.Errorf("taken for missing: %s", text)
		}
	}
	mixed := append(tfdiags.Errorf("a not found", "").List(), tfdiags.Errorf("b", "broken").List()...)
	if SayMissing(mixed) || SayMissing(nil) || SayMissing(tfdiags.Warningf("not found", "").List()) {
		t.Error("all errors must say it, and there must be one")
	}
}
