package plugin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"time"
)

const (
	// certEnv is the environment variable with this program's certificate. A plugin accepts only
	// connections with this certificate.
	certEnv = "PLUGIN_CLIENT_CERT"
	// certName is the host name in the certificates of plugins.
	certName = "localhost"
	// certLife is the lifetime of a certificate. A provider runs as long as the command that uses
	// it.
	certLife = 10 * 365 * 24 * time.Hour
)

// newIdentity returns a new TLS configuration for the connection to a plugin, and the
// configuration's certificate as PEM. go-plugin adds the certificate that the plugin sends to the
// configuration. go-plugin could also create the certificate (AutoMTLS), but its key would be for
// the curve P-521. With such a key, a plugin takes several milliseconds longer to start.
func newIdentity() (config *tls.Config, certificate string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		DNSNames:              []string{certName},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(certLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, // applies to connections that the plugin opens
		MinVersion:   tls.VersionTLS12,
		ServerName:   certName,
	}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
