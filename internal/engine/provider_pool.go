package engine

import (
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/providers"
)

// providerPool holds the providers that a walk has started. A wholly mocked provider configuration
// is in the pool as nil.
type providerPool struct {
	mu      sync.Mutex
	running map[*reads.Provider]map[addrs.InstanceKey]providers.Interface
	last    map[addrs.ProviderInstance]*startedLast // see startLast
}

// startedLast is the start of a provider instance that the configuration no longer has.
type startedLast struct {
	done chan struct{} // closed after the start
	err  error         // set before done is closed
}

// once calls start for the first caller, and lets all others wait until it has returned.
func (p *providerPool) once(at addrs.ProviderInstance, start func() error) error {
	p.mu.Lock()
	s := p.last[at]
	first := s == nil
	if first {
		s = &startedLast{done: make(chan struct{})}
		if p.last == nil {
			p.last = map[addrs.ProviderInstance]*startedLast{}
		}
		p.last[at] = s
	}
	p.mu.Unlock()
	if first {
		defer close(s.done)
		s.err = start()
		return s.err
	}
	<-s.done
	return s.err
}

func (p *providerPool) add(cfg *reads.Provider, key addrs.InstanceKey, impl providers.Interface) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = map[*reads.Provider]map[addrs.InstanceKey]providers.Interface{}
	}
	if p.running[cfg] == nil {
		p.running[cfg] = map[addrs.InstanceKey]providers.Interface{}
	}
	p.running[cfg][key] = impl
}

// get returns an instance of a provider configuration, and reports whether it is in the pool.
func (p *providerPool) get(cfg *reads.Provider, key addrs.InstanceKey) (providers.Interface, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	impl, ok := p.running[cfg][key]
	return impl, ok
}

// each calls f for every provider in the pool that is not mocked.
func (p *providerPool) each(f func(providers.Interface)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, instances := range p.running {
		for _, impl := range instances {
			if impl != nil {
				f(impl)
			}
		}
	}
}

// close ends the processes of all instances of a provider configuration.
func (p *providerPool) close(cfg *reads.Provider) {
	p.mu.Lock()
	instances := p.running[cfg]
	delete(p.running, cfg)
	p.mu.Unlock()
	for _, impl := range instances {
		if impl != nil {
			_ = impl.Close()
		}
	}
}
