package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tofu/internal/atomicfile"
	"tofu/internal/encryption"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

// dataFile is the name of the file in the data directory that has what data sources returned. The part
// of a workspace is encrypted as its state is.
const dataFile = "last-data.json"

// dataFileContent is the content of that file, of lastRunFile and of begunRunFile.
type dataFileContent struct {
	Version    int                        `json:"version"`
	Workspaces map[string]json.RawMessage `json:"workspaces"`
}

const dataFileVersion = 1

func decodeData(text []byte) (*dataFileContent, error) {
	content := &dataFileContent{}
	err := json.Unmarshal(text, content)
	if err == nil && content.Version != dataFileVersion {
		err = fmt.Errorf("it has version %d, and this program knows version %d", content.Version, dataFileVersion)
	}
	return content, err
}

// loadData reads what data sources returned. It does nothing unless plans may leave out reads, or have
// done so before: the file would otherwise have secrets for nothing.
func (op *Operation) loadData(ctx context.Context) {
	text, err := atomicfile.Read(filepath.Join(op.Session.DataDir, dataFile))
	content := &dataFileContent{}
	if err == nil {
		content, err = decodeData(text)
	}
	stored := content.Workspaces[op.Location.Workspace]
	if !op.limited() && stored == nil {
		return
	}
	op.data = &refresh.Data{}
	if errors.Is(err, fs.ErrNotExist) || err == nil && stored == nil {
		return
	}
	text = stored
	if err == nil && op.Location.codec != nil {
		text, _, err = op.Location.codec.Decrypt(ctx, text)
	}
	if err == nil {
		err = op.data.Load(text, op.State.Snapshot.Lineage)
	}
	if err != nil {
		op.Session.Warnings.Add(tfdiags.Warningf("It is not known what data sources returned",
			"%s can't be used: %s. All data sources are read, and the file is written again.",
			filepath.Join(op.Session.DataDir, dataFile), err))
	}
}

// limited reports whether plans may leave out reads.
func (op *Operation) limited() bool {
	return op.options.Refresh.Limited() && len(op.options.Refresh.Only) == 0 ||
		op.options.UsualRefresh && op.Session.CLI != nil && op.Session.CLI.MinimalRefresh
}

// saveData records what data sources returned. It ignores errors, as saveAges does.
func (op *Operation) saveData() {
	if op.data == nil || !op.data.Changed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), agesPatience)
	defer cancel()
	err := op.Session.updatePart(ctx, op.Location, dataFile, func() ([]byte, error) { return op.data.Encode(op.State.Snapshot.Lineage) })
	if err != nil {
		op.Session.Logs.Core.Warn("recording what data sources returned", "error", err)
	}
}

// sealParts encrypts what the data directory has of a workspace's objects, if that is in clear text because
// the state was not encrypted before. Like saveAges, it ignores errors.
func (s *Session) sealParts(ctx context.Context, p *Location) {
	clear := func(text []byte) (*dataFileContent, bool) {
		content, err := decodeData(text)
		if err != nil {
			return nil, false
		}
		part := content.Workspaces[p.Workspace]
		return content, part != nil && !encryption.IsEncrypted(part)
	}
	for _, file := range []string{dataFile, lastRunFile, begunRunFile} {
		text, err := atomicfile.Read(filepath.Join(s.DataDir, file))
		if err != nil {
			continue // most commands have no such file
		}
		if _, found := clear(text); !found {
			continue
		}
		err = s.UpdateDataFile(ctx, file, func(text []byte) ([]byte, error) {
			content, found := clear(text)
			if !found {
				return text, nil
			}
			sealed, err := p.codec.Encrypt(content.Workspaces[p.Workspace])
			if err != nil {
				return nil, err
			}
			content.Workspaces[p.Workspace] = sealed
			return json.Marshal(content)
		})
		if err != nil {
			s.Logs.Core.Warn("encrypting what the data directory has", "file", file, "error", err)
		}
	}
}

// updatePart replaces the workspace's part of a file in the data directory, encrypted as its state is. If
// encode returns nil, it removes the part.
func (s *Session) updatePart(ctx context.Context, p *Location, file string, encode func() ([]byte, error)) error {
	return s.UpdateDataFile(ctx, file, func(previous []byte) ([]byte, error) {
		text, err := encode()
		if err == nil && text != nil && p.codec != nil {
			text, err = p.codec.Encrypt(text)
		}
		if err != nil {
			return nil, err
		}
		content, err := decodeData(previous)
		if err != nil || content.Workspaces == nil {
			content = &dataFileContent{Version: dataFileVersion, Workspaces: map[string]json.RawMessage{}}
		}
		if content.Workspaces[p.Workspace] = text; text == nil {
			delete(content.Workspaces, p.Workspace)
		}
		return json.Marshal(content)
	})
}
