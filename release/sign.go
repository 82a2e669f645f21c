package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// sign signs a file with the keys that the environment gives. RELEASE_GPG_KEY holds an exported
// secret key without a passphrase; the program gpg signs with it. RELEASE_COSIGN_KEY is the key for
// the program cosign (2.6 or later): a file, env://VARIABLE or the address of a key management service.
// Nothing is written into a public log, so a build needs no network.
func sign(path string) error {
	if key := os.Getenv("RELEASE_GPG_KEY"); key != "" {
		if err := signWithGPG(path, key); err != nil {
			return fmt.Errorf("signing with the key in RELEASE_GPG_KEY: %w", err)
		}
	}
	if key := os.Getenv("RELEASE_COSIGN_KEY"); key != "" {
		err := command(nil, "cosign", "sign-blob", "--yes", "--key", key, "--tlog-upload=false", "--use-signing-config=false",
			"--new-bundle-format=false", "--output-signature", path+".sig", path)
		if err != nil {
			return fmt.Errorf("signing with the key in RELEASE_COSIGN_KEY: %w", err)
		}
	}
	return nil
}

// signWithGPG imports the key into a directory that is removed again.
func signWithGPG(path, key string) error {
	home, err := os.MkdirTemp("", "gpg-") // below /tmp, because paths of sockets must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	defer func() { _ = command(nil, "gpgconf", "--homedir", home, "--kill", "all") }()
	if err := command([]byte(key), "gpg", "--homedir", home, "--batch", "--quiet", "--import"); err != nil {
		return err
	}
	return command(nil, "gpg", "--homedir", home, "--batch", "--quiet", "--yes", "--output", path+".gpgsig",
		"--detach-sign", path)
}

func command(input []byte, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
