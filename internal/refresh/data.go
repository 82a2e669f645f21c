package refresh

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// Data remembers what data sources returned when they were last read. It is safe for concurrent use.
// The zero value is empty and ready for use.
type Data struct {
	mu      sync.Mutex
	known   map[string]*knownData // by the address of the data source
	changed bool
}

// knownData holds what a data source returned, in the form of the file.
type knownData struct {
	// Question is a hash of what the provider was asked, by which provider configuration, and of the
	// stored objects on which the data source depends.
	Question string          `json:"question"`
	At       time.Time       `json:"at"`
	Type     json.RawMessage `json:"type"`
	Value    json.RawMessage `json:"value"`
}

// dataContent is the content of a file.
type dataContent struct {
	Lineage string                `json:"lineage,omitempty"`
	Data    map[string]*knownData `json:"data"`
}

// Load takes what another Data has encoded, unless that is about another state.
func (d *Data) Load(text []byte, lineage string) error {
	content := dataContent{}
	if err := json.Unmarshal(text, &content); err != nil {
		return err
	}
	if content.Lineage == "" || content.Lineage == lineage {
		d.known = content.Data
	}
	return nil
}

// Encode returns the content of a file.
func (d *Data) Encode(lineage string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return json.Marshal(dataContent{lineage, d.known})
}

// Changed reports whether data sources were read.
func (d *Data) Changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// recall returns what a data source returned when it was asked the same question, and when.
func (d *Data) recall(addr, question string) (value cty.Value, at time.Time, ok bool) {
	d.mu.Lock()
	k := d.known[addr]
	d.mu.Unlock()
	if k == nil || question == "" || k.Question != question {
		return cty.NilVal, time.Time{}, false
	}
	typ, err := ctyjson.UnmarshalType(k.Type)
	if err == nil {
		value, err = ctyjson.Unmarshal(k.Value, typ)
	}
	return value, k.At, err == nil
}

func (d *Data) remember(addr, question string, value cty.Value, now time.Time) {
	typ, err := ctyjson.MarshalType(value.Type())
	if err != nil {
		return
	}
	text, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]*knownData{}
	}
	d.known[addr], d.changed = &knownData{question, now.UTC().Truncate(time.Second), typ, text}, true
}

// keep forgets the data sources that a plan has not asked about.
func (d *Data) keep(asked map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for addr := range d.known {
		if !asked[addr] {
			delete(d.known, addr)
			d.changed = true
		}
	}
}

// dataReads decides which data sources the rounds of a plan read. It implements engine.DataMemory.
type dataReads struct {
	*rounds
	data  *Data
	prior *states.State

	mu       sync.Mutex
	settings map[addrs.ProviderInstance][]byte // nil if they are not known
	stored   map[addrs.ConfigResource][]byte   // hashes of the stored objects of resources
	asked    map[string]bool
}

func newDataReads(r *rounds, data *Data, prior *states.State) *dataReads {
	return &dataReads{rounds: r, data: data, prior: prior, settings: map[addrs.ProviderInstance][]byte{},
		asked: map[string]bool{}}
}

// Configured implements engine.DataMemory.
func (d *dataReads) Configured(p addrs.ProviderInstance, config cty.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settings[p] = nil
	if text, err := ctyjson.Marshal(config, cty.DynamicPseudoType); err == nil {
		d.settings[p] = text
	}
}

// Recall implements engine.DataMemory.
func (d *dataReads) Recall(q *engine.DataRead) (cty.Value, bool) {
	name := q.Addr.String()
	d.mu.Lock()
	d.asked[name] = true
	d.mu.Unlock()
	value, at, known := d.data.recall(name, d.question(q))
	c := engine.RefreshCandidate{Addr: q.Addr, Provider: q.Provider.Config.Provider}
	reads := d.decide(c, !known || !d.limited, func() (time.Duration, bool) { return d.run.Now.Sub(at), known })
	return value, !reads
}

// Remember implements engine.DataMemory.
func (d *dataReads) Remember(q *engine.DataRead, resp providers.ReadDataResponse) {
	question := d.question(q)
	if question == "" || len(resp.Diagnostics) > 0 || resp.Pending || resp.Deferred != "" || len(resp.Hidden) > 0 ||
		resp.State == cty.NilVal || resp.State.IsNull() || !resp.State.IsWhollyKnown() {
		return
	}
	d.data.remember(q.Addr.String(), question, resp.State, d.run.Now)
}

// question returns a hash of everything on which the answer to a read may depend. It returns "" if
// that is not known.
func (d *dataReads) question(q *engine.DataRead) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	settings := d.settings[q.Provider]
	config, err := ctyjson.Marshal(q.Request.Config, cty.DynamicPseudoType)
	if err != nil || settings == nil {
		return ""
	}
	meta := []byte("null")
	if q.Request.Meta != cty.NilVal {
		if meta, err = ctyjson.Marshal(q.Request.Meta, cty.DynamicPseudoType); err != nil {
			return ""
		}
	}
	parts := [][]byte{[]byte(q.Provider.String()), settings, config, meta}
	for dep := range q.Dependencies.All() {
		parts = append(parts, d.objects(dep))
	}
	return hex.EncodeToString(digest(parts))
}

// digest returns a hash of a list.
func digest(parts [][]byte) []byte {
	h := sha256.New()
	for _, part := range parts {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return h.Sum(nil)
}

// objects returns a hash of the stored objects of a resource. The hashes of all resources are computed
// together.
func (d *dataReads) objects(of addrs.ConfigResource) []byte {
	if d.stored == nil {
		list := map[addrs.ConfigResource][]instanceHash{}
		for o := range stored(d.prior) {
			var attrs bytes.Buffer
			obj := d.prior.Object(o.addr, o.deposed)
			if err := json.Compact(&attrs, obj.Attrs); err != nil {
				attrs.Write(obj.Attrs) // a flat object of an old state
			}
			list[o.addr.Config()] = append(list[o.addr.Config()],
				instanceHash{o.String(), digest([][]byte{[]byte(o.String()), attrs.Bytes(), obj.Private})})
		}
		d.stored = make(map[addrs.ConfigResource][]byte, len(list))
		for at, hashes := range list {
			slices.SortFunc(hashes, func(a, b instanceHash) int { return strings.Compare(a.name, b.name) })
			var all [][]byte
			for _, one := range hashes {
				all = append(all, one.hash)
			}
			d.stored[at] = digest(all)
		}
	}
	return d.stored[of]
}

type instanceHash struct {
	name string
	hash []byte
}
