package views

import (
	"sync"

	"github.com/dgraph-io/ristretto/v2"
)

// memory keeps what was costly to find out, of all tables, within a budget. It may be asked after it was closed, and then
// knows nothing.
type memory struct {
	mu    sync.RWMutex
	cache *ristretto.Cache[string, any] // guarded by mu; nil once closed
}

func newMemory(budget int64) (*memory, error) {
	const counters = 100_000
	c, err := ristretto.NewCache(&ristretto.Config[string, any]{NumCounters: counters, MaxCost: budget, BufferItems: 64})
	if err != nil {
		return nil, err
	}
	return &memory{cache: c}, nil
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cache.Close()
	m.cache = nil
}

// memo is the part of the memory for one table.
type memo struct {
	*memory
	table string
}

func (m memo) Get(key string) (any, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.cache == nil {
		return nil, false
	}
	return m.cache.Get(m.table + "\x00" + key)
}

func (m memo) Put(key string, value any, cost int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.cache != nil {
		m.cache.Set(m.table+"\x00"+key, value, cost)
	}
}
