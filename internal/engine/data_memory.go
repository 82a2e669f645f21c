package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// A DataMemory knows what data sources returned when they were last read. It must be safe for
// concurrent use.
type DataMemory interface {
	// Configured is called with the configuration of a provider, without ephemeral values.
	Configured(p addrs.ProviderInstance, config cty.Value)
	// Recall returns what an earlier read has returned. It reports false if the data source must be
	// read; Remember is then told what the read returns.
	Recall(q *DataRead) (cty.Value, bool)
	Remember(q *DataRead, resp providers.ReadDataResponse)
}

// DataRead is a read of a data source.
type DataRead struct {
	Addr     addrs.AbsInstance
	Provider addrs.ProviderInstance
	Request  providers.ReadDataRequest
	// Dependencies are the resources on which the data source depends.
	Dependencies *states.Dependencies
}

// remembered returns what a data source returned earlier. The data sources of check blocks are always
// read, and so are those of the built-in provider, which reads other states.
func (p dataPlan) remembered(q *DataRead) (cty.Value, bool) {
	memory := p.w.op.data
	if memory == nil || p.r.Config.Check != nil || q.Provider.Config.Provider.IsBuiltin() {
		return cty.NilVal, false
	}
	known, ok := memory.Recall(q)
	return known, ok && len(known.Type().TestConformance(p.r.Schema.Block.ImpliedType())) == 0
}
