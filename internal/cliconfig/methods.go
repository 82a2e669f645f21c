package cliconfig

import (
	"errors"
	"fmt"

	"tofu/internal/addrs"
)

// methodKinds lists the installation methods by the name of their block. location is the setting
// that contains the path or URL.
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
		return fmt.Errorf("only one provider_installation block is allowed in all CLI configuration files together; "+
			"another one is at %s",
			d.installation.at)
	}
	d.installation = &it
	blocks, err := it.object()
	if err != nil || it.form != block {
		return errors.New("provider_installation must be a block, without a label or an equals sign")
	}
	d.cfg.Methods = []Method{} // the block replaces the implied methods even if it has errors
	for _, in := range blocks {
		if in.form == labeled { // a label is an error, but the content of the block is used
			d.problem(in, fmt.Errorf("in provider_installation: the block %q must not have a label", in.key))
			in.value = in.value.(object)[0].value
		}
		switch {
		case in.form == assigned:
			err = fmt.Errorf("in provider_installation: %q must be a block, without an equals sign", in.key)
		case in.key == "dev_overrides" && len(d.cfg.Methods) > 0:
			err = errors.New("in provider_installation: dev_overrides takes precedence over all other " +
				"methods, so it must come first")
		case in.key == "dev_overrides":
			err = d.devOverrides(in)
		default:
			err = d.method(in)
		}
		d.problem(in, err)
	}
	return nil
}

func (d *decoder) devOverrides(it item) error {
	obj, err := it.object()
	if err != nil {
		return err
	}
	var errs []error
	for _, in := range obj {
		p, err := addrs.ParseProvider(in.key)
		var dir string
		if err == nil {
			dir, err = in.text()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("dev_overrides: %w", err))
			continue
		}
		if d.cfg.DevOverrides == nil {
			d.cfg.DevOverrides = make(map[addrs.Provider]string)
		}
		d.cfg.DevOverrides[p] = dir
	}
	return errors.Join(errs...)
}

func (d *decoder) method(it item) error {
	kind, ok := methodKinds[it.key]
	if !ok {
		return fmt.Errorf("there is no provider installation method %q; the methods are direct, "+
			"filesystem_mirror, network_mirror and oci_mirror", it.key)
	}
	m := Method{Kind: kind.kind, Retries: -1, MinAge: -1}
	fields := []field{{"include", to(&m.Include, item.texts)}, {"exclude", to(&m.Exclude, item.texts)}}
	if kind.location != "" {
		fields = append(fields, field{kind.location, to(&m.Location, item.text)})
	}
	if m.Kind != FilesystemMirror { // who fills a directory decides what is in it
		fields = append(fields, field{"minimum_release_age", to(&m.MinAge, item.age)})
	}
	switch m.Kind {
	case Direct:
		fields = append(fields, field{"download_retry_count", to(&m.Retries, item.number)})
	case NetworkMirror:
		fields = append(fields, field{"download_retry_count", to(&m.Retries, item.number)},
			field{"trust_all_hashes", to(&m.TrustAllHashes, item.flag)})
	}
	if err := d.block(it, fields...); err != nil {
		return err
	}
	if kind.location != "" && m.Location == "" {
		return fmt.Errorf("the block %q needs the setting %q", it.key, kind.location)
	}
	d.cfg.Methods = append(d.cfg.Methods, m)
	return nil
}
