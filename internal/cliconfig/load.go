package cliconfig

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tofu/internal/tfdiags"
)

// Load reads the CLI configuration of the current user from files and environment. The result is
// usable even with an error: invalid settings are left out.
func Load(warn tfdiags.Sink) (*Config, error) {
	d := &decoder{warn: warn, cfg: &Config{RegistryRetries: 1, RegistryTimeout: secondsOf(10),
		DownloadRetries: 2, OCIDefault: OCIDefault{Discover: true}}}
	home := homeDir()
	d.cfg.Dir = configDir(home)
	d.cfg.CacheDir = cacheDir()
	d.cfg.ImpliedDirs = impliedDirs(home, d.cfg.Dir)
	d.files(home)
	d.environment()
	d.checkCacheDir()
	d.checkHelper()
	return d.cfg, d.errs.Err()
}

// homeDir returns the user's home directory, even if HOME isn't set, as in some containers. It
// returns "" if it is unknown.
func homeDir() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

func secondsOf(n int) time.Duration { return time.Duration(n) * time.Second }

// files reads the file that an environment variable names. If the variable is not set, it
// reads the user's main file and the files in the configuration directory.
func (d *decoder) files(home string) {
	if path := setting("CLI_CONFIG_FILE"); path != "" {
		d.read(path, true)
		return
	}
	if path := os.Getenv("TERRAFORM_CONFIG"); path != "" {
		d.read(path, true)
		return
	}
	if main := mainFile(home); main != "" {
		d.read(main, false)
	}
	if !filepath.IsAbs(d.cfg.Dir) {
		return // the user's home directory is unknown
	}
	for _, pattern := range []string{"*.tfrc", "*.tfrc.json"} {
		names, err := filepath.Glob(filepath.Join(d.cfg.Dir, pattern))
		if err != nil {
			continue // our pattern is valid, so the directory name itself must contain brackets
		}
		for _, name := range names {
			d.read(name, false)
		}
	}
}

// setting returns the value of an environment variable, TOFU_name or else TF_name.
func setting(name string) string {
	_, value := variable(name)
	return value
}

// variable returns the full name and the value of an environment variable, TOFU_name or else TF_name.
func variable(name string) (full, value string) {
	if v := os.Getenv("TOFU_" + name); v != "" {
		return "TOFU_" + name, v
	}
	return "TF_" + name, os.Getenv("TF_" + name)
}

func (d *decoder) read(path string, named bool) {
	src, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !named {
			return
		}
		d.warn(tfdiags.Warningf("Unable to open CLI configuration file",
			"The CLI configuration file %s can't be read: %s.", path, reason(err)))
		return
	}
	obj, err := parseFile(src, path)
	d.errs = d.errs.AppendError(err)
	d.file(obj)
}

// reason returns err without the path, because the message already contains it.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

func (d *decoder) environment() {
	if dir := setting("PLUGIN_CACHE_DIR"); dir != "" {
		d.cfg.PluginCacheDir = dir
	}
	if v := setting("PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"); v != "" {
		d.cfg.PluginCacheMayBreakLock = v != "0"
	}
	number := func(name string, set func(int)) {
		full, v := variable(name)
		if v == "" {
			return
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			d.warn(tfdiags.Warningf("Invalid environment variable",
				"%s must be a whole number that isn't negative, not %q. The variable is ignored.", full, v))
			return
		}
		set(n)
	}
	number("REGISTRY_DISCOVERY_RETRY", func(n int) { d.cfg.RegistryRetries = n })
	number("REGISTRY_CLIENT_TIMEOUT", func(n int) {
		if n > 0 {
			d.cfg.RegistryTimeout = secondsOf(n)
		}
	})
	number("PROVIDER_DOWNLOAD_RETRY", func(n int) { d.cfg.DownloadRetries = n })
}

// mainFile returns the path of the user's main file, or "" if it doesn't exist. The file .tofurc takes
// precedence over the older .terraformrc. On Windows, their names are tofu.rc and terraform.rc.
func mainFile(home string) string {
	var candidates []string
	switch dir := os.Getenv("APPDATA"); {
	case runtime.GOOS == "windows" && dir == "" || runtime.GOOS != "windows" && home == "":
		return "" // don't use a relative path: a file in the working directory may belong to another user
	case runtime.GOOS == "windows":
		candidates = []string{filepath.Join(dir, "tofu.rc"), filepath.Join(dir, "terraform.rc")}
	default:
		candidates = []string{filepath.Join(home, ".tofurc"), filepath.Join(home, ".terraformrc")}
		if xdg := os.Getenv("XDG_CONFIG_HOME"); xdg != "" {
			candidates = append(candidates[:1:1], filepath.Join(xdg, "opentofu", "tofurc"), candidates[1])
		}
	}
	for _, path := range candidates {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// configDir returns ~/.terraform.d, or a directory below XDG_CONFIG_HOME if that is set and
// ~/.terraform.d doesn't exist. On Windows, it returns the directory terraform.d in APPDATA.
func configDir(home string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("APPDATA"), "terraform.d")
	}
	dir := filepath.Join(home, ".terraform.d")
	if xdg := os.Getenv("XDG_CONFIG_HOME"); xdg != "" {
		if _, err := os.Stat(dir); err != nil {
			return filepath.Join(xdg, "opentofu")
		}
	}
	return dir
}

func cacheDir() string {
	if dir := os.Getenv("TOFU_CACHE_DIR"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tofu")
}

// impliedDirs returns the directories that are used as mirrors if there is no provider_installation
// block.
func impliedDirs(home, configDir string) []string {
	var dirs []string
	add := func(parts ...string) {
		if parts[0] != "" {
			dirs = append(dirs, filepath.Join(parts...))
		}
	}
	switch runtime.GOOS {
	case "windows":
		add(os.Getenv("APPDATA"), "terraform.d", "plugins")
		add(os.Getenv("APPDATA"), "HashiCorp", "Terraform", "plugins")
	case "darwin":
		add(home, ".terraform.d", "plugins")
		add(home, "Library", "Application Support", "io.terraform", "plugins")
		add("/Library/Application Support/io.terraform/plugins")
	default:
		add(home, ".terraform.d", "plugins")
		add(configDir, "plugins")
		data := os.Getenv("XDG_DATA_HOME")
		if data == "" && home != "" {
			data = filepath.Join(home, ".local", "share")
		}
		add(data, "opentofu", "plugins")
		add(data, "terraform", "plugins")
		shared := os.Getenv("XDG_DATA_DIRS")
		if shared == "" {
			shared = "/usr/local/share:/usr/share"
		}
		for dir := range strings.SplitSeq(shared, ":") {
			add(dir, "terraform", "plugins")
		}
	}
	// The first one is relative, because the option -chdir changes the working directory later.
	unique := []string{filepath.Join("terraform.d", "plugins")}
	seen := make(map[string]bool)
	for _, dir := range dirs {
		if abs, err := filepath.Abs(dir); err == nil && !seen[abs] {
			seen[abs] = true
			unique = append(unique, abs)
		}
	}
	return unique
}
