package azurerm

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"tofu/internal/restapi"
)

// code returns the code of an error response, such as "BlobNotFound".
func code(resp *restapi.Response) string { return resp.Header.Get("X-Ms-Error-Code") }

// advice explains codes of errors. %[1]s is the storage account, %[2]s the container.
var advice = map[string]string{
	"ContainerNotFound": "the storage account %[1]s has no container %[2]s. Create it, or correct " +
		"\"container_name\"",
	"AuthenticationFailed":      refusedCredentials,
	"InvalidAuthenticationInfo": refusedCredentials,
	"AuthorizationFailure": "the storage account %[1]s doesn't permit this request. Check the permissions of the " +
		"shared access signature, and the network rules of the account",
	"AuthorizationPermissionMismatch": "the credentials don't permit this request. They need the role \"Storage Blob " +
		"Data Contributor\" for the container %[2]s; for plans with -lock=false, \"Storage Blob Data " +
		"Reader\" is enough",
	"InsufficientAccountPermissions": "the shared access signature doesn't permit this request",
	"AuthorizationResourceTypeMismatch": "the shared access signature is not for containers and blobs; it needs the " +
		"resource types c and o",
	"AuthorizationServiceMismatch": "the shared access signature is not for the blob service",
	"KeyBasedAuthenticationNotPermitted": "the storage account %[1]s doesn't permit access keys. Set " +
		"\"use_azuread_auth\"",
	"PublicAccessNotPermitted":    "the storage account %[1]s requires credentials",
	"NoAuthenticationInformation": "the storage account %[1]s requires credentials",
	"BlobUsesCustomerSpecifiedEncryption": "the blob is encrypted with another key or scope. Set " +
		"\"customer_provided_key\" or \"encryption_scope\" to the one it was written with",
	"BlobArchived":      "the blob is archived. Move it to another access tier",
	"AccountIsDisabled": "the storage account %[1]s is disabled",
}

const refusedCredentials = "the storage account %[1]s doesn't accept the credentials. Check that the access key, " +
	"shared access signature or token belongs to it and hasn't expired"

// maxSkew is the largest difference that the service accepts between its clock and the client's.
const maxSkew = 15 * time.Minute

// failure returns an error that explains a response.
func (b *blobs) failure(resp *restapi.Response) error {
	var body struct{ Code, Message, AuthenticationErrorDetail string }
	_ = xml.Unmarshal(resp.Body, &body) // a body in another format has no message
	id := code(resp)
	if id == "" {
		id = body.Code
	}
	status := fmt.Sprintf("%d %s", resp.Status, http.StatusText(resp.Status))
	if id != "" {
		status = fmt.Sprintf("%d %s", resp.Status, id)
	}
	if skew := skew(resp); resp.Status == http.StatusForbidden && skew.Abs() > maxSkew {
		return fmt.Errorf("the clock of this machine is off by %s, so the service refuses its signatures: set "+
			"the clock (%s)", skew.Abs().Round(time.Second), status)
	}
	if format := advice[id]; format != "" {
		text := format
		if strings.Contains(format, "%[") {
			text = fmt.Sprintf(strings.ReplaceAll(format, "%[2]s", b.config.Container), b.config.Account)
		}
		return fmt.Errorf("%s (%s)", text, status)
	}
	detail, _, _ := strings.Cut(body.Message, "\n")
	if body.AuthenticationErrorDetail != "" {
		detail += " " + body.AuthenticationErrorDetail
	}
	detail = strings.TrimSpace(detail)
	if detail != "" {
		detail = ": " + detail
	}
	return fmt.Errorf("%s responded with %s%s", resp.From, status, detail)
}

// skew returns how far the clock of this machine is ahead of the service's, or 0 if the response
// has no valid date.
func skew(resp *restapi.Response) time.Duration {
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return time.Since(at)
}

// unreachable explains why there is no response.
func (b *blobs) unreachable(ctx context.Context, err error) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound && dns.Name == b.login.host():
		return fmt.Errorf("there is no storage account %s, or its name can't be resolved on this network: %w. Check "+
			"\"storage_account_name\" and \"environment\"", b.config.Account, err)
	case ctx.Err() != nil && context.Cause(ctx) != ctx.Err():
		return context.Cause(ctx)
	}
	return err
}
