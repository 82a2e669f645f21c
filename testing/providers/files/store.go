package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	fwpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/statestore"
	"github.com/hashicorp/terraform-plugin-framework/statestore/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var _ statestore.StateStoreWithConfigure = (*folderStore)(nil)

// folderStore implements the state store files_store, which keeps states and locks in a folder. Each
// call has a value of its own.
type folderStore struct {
	env    *env
	folder string
}

const (
	stateSuffix = ".tfstate"
	lockSuffix  = ".lock"
)

func (s *folderStore) Metadata(_ context.Context, _ statestore.MetadataRequest, resp *statestore.MetadataResponse) {
	resp.TypeName = "files_store"
}

func (s *folderStore) Schema(_ context.Context, _ statestore.SchemaRequest, resp *statestore.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "Keeps states in a folder.",
		Attributes: map[string]schema.Attribute{
			"folder": schema.StringAttribute{Required: true,
				Description: "The path of the folder, relative to the root folder.",
				Validators:  []validator.String{relativePath}},
		},
	}
}

func (s *folderStore) Initialize(ctx context.Context, req statestore.InitializeRequest,
	resp *statestore.InitializeResponse) {
	var folder types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, fwpath.Root("folder"), &folder)...)
	s.env.around(ctx, &resp.Diagnostics, "store-configure", folder.ValueString(), func(d disk) error {
		return os.MkdirAll(d.path(folder.ValueString()), 0o755)
	})
	resp.StateStoreData = folder.ValueString()
}

func (s *folderStore) Configure(_ context.Context, req statestore.ConfigureRequest, _ *statestore.ConfigureResponse) {
	s.folder, _ = req.StateStoreData.(string)
}

func (s *folderStore) file(id, suffix string) string { return path.Join(s.folder, id+suffix) }

func (s *folderStore) GetStates(ctx context.Context, _ statestore.GetStatesRequest,
	resp *statestore.GetStatesResponse) {
	s.env.around(ctx, &resp.Diagnostics, "store-list", s.folder, func(d disk) error {
		names, err := folderNames(d.path(s.folder))
		for _, name := range names {
			if id, ok := strings.CutSuffix(name, stateSuffix); ok {
				resp.StateIDs = append(resp.StateIDs, id)
			}
		}
		return err
	})
}

func (s *folderStore) DeleteState(ctx context.Context, req statestore.DeleteStateRequest,
	resp *statestore.DeleteStateResponse) {
	s.env.around(ctx, &resp.Diagnostics, "store-delete", req.StateID, func(d disk) error {
		return d.remove(s.file(req.StateID, stateSuffix))
	})
}

func (s *folderStore) Read(ctx context.Context, req statestore.ReadRequest, resp *statestore.ReadResponse) {
	s.env.around(ctx, &resp.Diagnostics, "store-read", req.StateID, func(d disk) (err error) {
		resp.StateBytes, err = os.ReadFile(d.path(s.file(req.StateID, stateSuffix)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func (s *folderStore) Write(ctx context.Context, req statestore.WriteRequest, resp *statestore.WriteResponse) {
	s.env.around(ctx, &resp.Diagnostics, "store-write", req.StateID, func(d disk) error {
		return d.write(s.file(req.StateID, stateSuffix), content{text: string(req.StateBytes), mode: "0600"})
	})
}

func (s *folderStore) Lock(ctx context.Context, req statestore.LockRequest, resp *statestore.LockResponse) {
	s.env.around(ctx, &resp.Diagnostics, "lock", req.StateID, func(d disk) error {
		info := statestore.NewLockInfo(req)
		text, err := json.Marshal(info)
		if err != nil {
			return err
		}
		resp.LockID = info.ID
		// The lock appears with its content.
		file := d.path(s.file(req.StateID, lockSuffix))
		own := file + "." + info.ID
		if err := os.WriteFile(own, text, 0o600); err != nil {
			return err
		}
		defer func() { _ = os.Remove(own) }()
		for {
			if err = os.Link(own, file); !errors.Is(err, fs.ErrExist) {
				return err
			}
			held, err := readLock(file)
			if err == nil {
				resp.Diagnostics.Append(statestore.WorkspaceAlreadyLockedDiagnostic(req, held))
			}
			if !errors.Is(err, fs.ErrNotExist) { // it was released in between
				return err
			}
		}
	})
}

func (s *folderStore) Unlock(ctx context.Context, req statestore.UnlockRequest, resp *statestore.UnlockResponse) {
	s.env.around(ctx, &resp.Diagnostics, "unlock", req.StateID, func(d disk) error {
		file := d.path(s.file(req.StateID, lockSuffix))
		held, err := readLock(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errors.New("the lock is gone")
		case err != nil:
			return err
		case held.ID != req.LockID:
			return fmt.Errorf("the lock has the ID %s", held.ID)
		}
		return os.Remove(file)
	})
}

func readLock(file string) (info statestore.LockInfo, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	return info, err
}
