package cache

import (
	"context"
	"errors"
	"os"
)

// Partial is a file that is read while it is being made, part by part, in an order that its readers decide.
type Partial struct {
	*Writer
	d   *Disk
	tmp *tempFile
}

// Find returns the file of a key if it is there, and nil if it is not. Where it is being rendered, Find waits for it.
func (d *Disk) Find(ctx context.Context, key Key, size int64) (*Entry, error) {
	if d == nil {
		return nil, nil
	}
	e, err := d.Do(ctx, key, size, nil)
	if errors.Is(err, errMissing) {
		return nil, nil
	}
	return e, err
}

// errMissing is how a search ends that finds nothing.
var errMissing = errors.New("not in the cache")

// Begin begins a file of so many bytes, all of them a hole. It must be closed. The disk must be usable: nil without an error says that it is not,
// and that the file is better made at once, by Do. What is written counts among the budget; ctx ends it.
func (d *Disk) Begin(ctx context.Context, size int64) (*Partial, error) {
	if d == nil || !d.diskUsable() {
		return nil, nil
	}
	tmp, err := d.folder.create()
	if err != nil {
		d.diskFailed(err)
		return nil, nil
	}
	p := &Partial{Writer: newWriter(ctx, tmp.File, size, d.reserveDisk, d.folder.fault).withSums(), d: d, tmp: tmp}
	if err := p.start(); err != nil {
		d.diskFailed(err)
		return nil, p.Close()
	}
	return p, nil
}

// File is the file, to be read at offsets until Close.
func (p *Partial) File() *os.File { return p.tmp.File }

// Publish makes the file, which must be complete, the file of a key. Nothing may be written any more. Where another one of the key is in use
// already, this one is only found when that is gone.
func (p *Partial) Publish(ctx context.Context, key Key) error {
	p.close()
	if p.failed != nil {
		return p.failed
	}
	it, err := p.d.seal(ctx, p.tmp, p.Writer, key)
	if err != nil {
		if errors.As(err, new(*diskError)) {
			p.d.diskFailed(err)
		}
		return err
	}
	p.d.mu.Lock()
	if p.d.flights[key] == nil && (p.d.items[key] == nil || p.d.items[key].refs == 0) {
		p.d.settle(it, p.Writer)
		p.d.unseen += it.alloc
	}
	file := it.file
	if p.d.items[key] == it {
		file = p.d.unref(it)
	}
	p.d.mu.Unlock()
	return file.Close()
}

// Close gives the file up, unless it was published.
func (p *Partial) Close() error {
	p.close()
	p.d.unreserve(&p.d.disk, p.Writer)
	p.tmp.discard()
	return nil
}
