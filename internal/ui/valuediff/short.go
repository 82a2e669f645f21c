package valuediff

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
)

// shortText describes PEM blocks, such as certificates and keys, by their fingerprints, and
// shortens hashes. It returns "" for other strings.
func shortText(text string) string {
	if strings.Contains(text, "-----BEGIN ") {
		return shortPEM(text)
	}
	return shortHash(text)
}

// shortPEM describes each PEM block by its type and the SHA-256 fingerprint of its bytes. It
// returns "" if there is other text.
func shortPEM(text string) string {
	var parts []string
	rest := []byte(strings.TrimSpace(text))
	for len(rest) > 0 {
		block, after := pem.Decode(rest)
		if block == nil || !strings.HasPrefix(string(rest), "-----BEGIN ") {
			return "" // there is other text around the blocks
		}
		rest = []byte(strings.TrimSpace(string(after)))
		sum := sha256.Sum256(block.Bytes)
		parts = append(parts, describePEM(block, "sha256:"+hex.EncodeToString(sum[:8])))
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

func describePEM(block *pem.Block, fingerprint string) string {
	what := strings.ToLower(block.Type) + " " + fingerprint
	if block.Type != "CERTIFICATE" {
		return what
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return what
	}
	name := cert.Subject.CommonName
	if name == "" && len(cert.DNSNames) > 0 {
		name = cert.DNSNames[0]
	}
	return fmt.Sprintf("%s of %s, expires %s", what, name, cert.NotAfter.UTC().Format("2006-01-02"))
}

// hashDigits holds the numbers of hexadecimal digits in MD5, SHA-1, SHA-224, SHA-256, SHA-384
// and SHA-512 hashes.
var hashDigits = map[int]bool{32: true, 40: true, 56: true, 64: true, 96: true, 128: true}

// shortHash shortens a hexadecimal hash, with or without a prefix such as "sha256:". It returns ""
// for other strings.
func shortHash(text string) string {
	prefix, digits := "", text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && i < 16 {
		prefix, digits = text[:i+1], text[i+1:]
	}
	if !hashDigits[len(digits)] || strings.Trim(digits, "0123456789abcdef") != "" &&
		strings.Trim(digits, "0123456789ABCDEF") != "" || strings.Trim(digits, "0123456789") == "" {
		return ""
	}
	return fmt.Sprintf(`"%s%s…%s"`, prefix, digits[:8], digits[len(digits)-4:])
}
