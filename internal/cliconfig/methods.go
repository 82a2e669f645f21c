package cliconfig

import (
	"fmt"
	"net/url"

	"tofu/internal/addrs"
)

// methodKinds is the table of installation methods: their block's name, and the setting that says where.
var methodKinds = map[string]struct {
	kind     Kind
	location string
}{
	"direct":            {Direct, ""},
	"filesystem_mirror": {FilesystemMirror, "path"},
	"network_mirror":    {NetworkMirror, "url"},
	"oci_mirror":        {OCIMirror, "repository_template"},
}

func (d *decoder) providerInstallation(it item) error {
	if d.installation != nil {
		return fmt.Errorf("there may be one provider_installation block in all files; another one is at %s", d.installation.at)
	}
	d.installation = &it
	blocks, err := it.object()
	if err != nil {
		return err
	}
	d.cfg.Methods = []Method{}
	for _, in := range blocks {
		if in.key == "dev_overrides" {
			err = d.devOverrides(in)
		} else {
			err = d.method(in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) devOverrides(it item) error {
	obj, err := it.object()
	if err != nil {
		return err
	}
	for _, in := range obj {
		p, err := addrs.ParseProvider(in.key)
		if err != nil {
			return fmt.Errorf("dev_overrides: %w", err)
		}
		dir, err := in.text()
		if err != nil {
			return fmt.Errorf("dev_overrides: %w", err)
		}
		if d.cfg.DevOverrides == nil {
			d.cfg.DevOverrides = make(map[addrs.Provider]string)
		}
		d.cfg.DevOverrides[p] = dir
	}
	return nil
}

func (d *decoder) method(it item) error {
	kind, ok := methodKinds[it.key]
	if !ok {
		return fmt.Errorf("there is no provider installation method %q; the methods are direct, filesystem_mirror, network_mirror and oci_mirror", it.key)
	}
	m := Method{Kind: kind.kind, Retries: -1}
	fields := []field{{"include", to(&m.Include, item.texts)}, {"exclude", to(&m.Exclude, item.texts)}}
	if kind.location != "" {
		fields = append(fields, field{kind.location, to(&m.Location, item.text)})
	}
	switch m.Kind {
	case Direct:
		fields = append(fields, field{"download_retry_count", to(&m.Retries, item.number)})
	case NetworkMirror:
		fields = append(fields, field{"download_retry_count", to(&m.Retries, item.number)}, field{"trust_all_hashes", to(&m.TrustAllHashes, item.flag)})
	}
	if err := d.block(it, fields...); err != nil {
		return err
	}
	if kind.location != "" && m.Location == "" {
		return fmt.Errorf("a block %q needs the setting %q", it.key, kind.location)
	}
	if m.Kind == NetworkMirror {
		u, err := url.Parse(m.Location)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("the URL %q of a network mirror must start with https://", m.Location)
		}
	}
	d.cfg.Methods = append(d.cfg.Methods, m)
	return nil
}
