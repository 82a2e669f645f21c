package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/staging"
)

// The schemas of packages are kept as the provider sent them, one file per package:
//
//	line 1    format and protocol version
//	32 bytes  SHA-256 of all that follows
//	8 bytes   length of the schema message, big endian
//	          the schema message, then the identity schema message
//
// Only schemas of providers that allow it (SchemaOptional) are kept. A file that isn't as it should be counts as absent. Nothing
// depends on the cache: what goes wrong with it is logged, and the provider is asked.
const (
	cacheFormat   = "tofu provider schema 1, protocol "
	cacheLifetime = 90 * 24 * time.Hour // since the last use
)

// cacheFile is the file of the package; empty when its schema isn't to be kept.
func (l *Launch) cacheFile() string {
	if l.PackageHash == "" || l.CacheDir == "" || l.Reattach != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(l.Provider.String() + "\n" + l.PackageHash))
	return filepath.Join(l.CacheDir, hex.EncodeToString(sum[:])+".schema")
}

// cachedSchema gives the schema of a provider that allows its schema to be kept, without a process; nil when it isn't there.
func (l *Launch) cachedSchema() *providers.Schema {
	file := l.cacheFile()
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		var schema *providers.Schema
		if schema, err = decodeCache(data); err == nil {
			now := time.Now()
			_ = os.Chtimes(file, now, now) // only for its lifetime
			return schema
		}
	}
	l.logCache("unusable cached provider schema", err)
	return nil
}

func decodeCache(data []byte) (*providers.Schema, error) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	version, ok := map[string]int{cacheFormat + "5": 5, cacheFormat + "6": 6}[string(line)]
	if !ok || len(rest) < sha256.Size+8 {
		return nil, errors.New("not a cached schema")
	}
	body := rest[sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, errors.New("its checksum is wrong")
	}
	length := binary.BigEndian.Uint64(body)
	body = body[8:]
	if length > uint64(len(body)) {
		return nil, errors.New("it is too short")
	}
	schemas, ids := &tfplugin.GetProviderSchemaResponse{}, &tfplugin.GetResourceIdentitySchemasResponse{}
	if err := errors.Join(proto.Unmarshal(body[:length], schemas), proto.Unmarshal(body[length:], ids)); err != nil {
		return nil, err
	}
	return convertSchemas(version, schemas, ids.IdentitySchemas)
}

func encodeCache(version int, schemas *tfplugin.GetProviderSchemaResponse, ids *tfplugin.GetResourceIdentitySchemasResponse) ([]byte, error) {
	body, err := proto.Marshal(schemas)
	if err != nil {
		return nil, err
	}
	body = append(binary.BigEndian.AppendUint64(nil, uint64(len(body))), body...)
	if body, err = (proto.MarshalOptions{}).MarshalAppend(body, ids); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return bytes.Join([][]byte{fmt.Appendf(nil, "%s%d\n", cacheFormat, version), sum[:], body}, nil), nil
}

// keepSchema writes the cache file, through a temporary one, and removes files that nobody has used for long.
func (l *Launch) keepSchema(version int, schemas *tfplugin.GetProviderSchemaResponse, ids *tfplugin.GetResourceIdentitySchemasResponse) {
	file := l.cacheFile()
	if file == "" {
		return
	}
	data, err := encodeCache(version, schemas, ids)
	if err == nil {
		err = os.MkdirAll(l.CacheDir, 0o700)
	}
	if err == nil {
		staging.RemoveStale(l.CacheDir)
		err = staging.Write(file, data, 0o600)
	}
	if err != nil {
		l.logCache("provider schema not cached", err)
	}
	entries, _ := os.ReadDir(l.CacheDir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && strings.Contains(entry.Name(), ".schema") && time.Since(info.ModTime()) > cacheLifetime {
			_ = os.Remove(filepath.Join(l.CacheDir, entry.Name()))
		}
	}
}

func (l *Launch) logCache(text string, err error) {
	if l.Log != nil {
		l.Log.LogAttrs(context.Background(), slog.LevelWarn, text, slog.String("provider", l.Provider.String()), slog.Any("error", err))
	}
}
