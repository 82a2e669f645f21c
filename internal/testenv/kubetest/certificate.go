package kubetest

import (
	"encoding/pem"
	"net/http/httptest"
)

// certificate returns the certificate of a server in PEM format.
func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}
