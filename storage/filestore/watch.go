package filestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hudifs/hudifs/storage"
)

// watched are the changes of a folder that count.
const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// watch is an inotify instance. A folder is put under watch by its descriptor, so that no link is followed here either, and a folder that was
// made anew in the place of another one is told from it.
type watch struct {
	s      *Store
	events *os.File
	ended  chan struct{} // closed when nothing is heard any more
	err    error         // why, when ended is closed

	mu      sync.Mutex
	dirs    map[int32]string // guarded by mu; by watch descriptor
	changed map[string]bool  // guarded by mu; not yet told
	news    chan struct{}    // holds a token while something is in changed
}

var _ storage.Watcher = (*Store)(nil)

// Watch implements storage.Watcher.
func (s *Store) Watch() (storage.Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.dir, err)
	}
	w := &watch{
		s: s, events: os.NewFile(uintptr(fd), "inotify"), ended: make(chan struct{}),
		dirs: map[int32]string{}, changed: map[string]bool{}, news: make(chan struct{}, 1),
	}
	go w.listen()
	return w, nil
}

func (w *watch) Follow(ctx context.Context, dirs []string) error {
	followed := map[int32]bool{}
	var errs []error
	for _, dir := range dirs {
		wd, err := w.follow(ctx, dir)
		switch {
		case errors.Is(err, storage.ErrNotExist):
		case err != nil:
			errs = append(errs, fmt.Errorf("watch %s: %w", nameOrRoot(dir), err))
		default:
			followed[wd] = true
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for wd := range w.dirs {
		if followed[wd] {
			continue
		}
		delete(w.dirs, wd)
		_ = withFD(w.events, func(fd int) error {
			_, err := unix.InotifyRmWatch(fd, uint32(wd)) // EINVAL where the folder is gone
			return err
		})
	}
	return errors.Join(errs...)
}

func (w *watch) follow(ctx context.Context, dir string) (int32, error) {
	folder, err := w.s.resolve(ctx, dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(folder) }()
	wd := -1
	w.mu.Lock() // so that no event comes before its folder is known
	defer w.mu.Unlock()
	err = withFD(w.events, func(fd int) (err error) {
		wd, err = unix.InotifyAddWatch(fd, fmt.Sprintf("/proc/self/fd/%d", folder), watched|unix.IN_ONLYDIR)
		return err
	})
	if err == nil {
		w.dirs[int32(wd)] = dir
	}
	return int32(wd), err
}

// listen reads events until the watch is closed:
//
//	int32 watch descriptor | uint32 mask | uint32 cookie | uint32 length of name | name
func (w *watch) listen() {
	defer close(w.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.events.Read(buf)
		if err != nil {
			w.err = fmt.Errorf("watch %s: %w", w.s.dir, err)
			return
		}
		w.mu.Lock()
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			b = b[unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:])):]
			if mask&unix.IN_Q_OVERFLOW != 0 { // something was lost
				for _, dir := range w.dirs {
					w.changed[dir] = true
				}
			} else if dir, ok := w.dirs[wd]; ok && mask&unix.IN_IGNORED == 0 {
				w.changed[dir] = true
			}
		}
		heard := len(w.changed) > 0
		w.mu.Unlock()
		if heard {
			select {
			case w.news <- struct{}{}:
			default: // one is there already
			}
		}
	}
}

func (w *watch) Next(ctx context.Context) ([]string, error) {
	select {
	case <-w.news:
	case <-w.ended:
		return nil, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	dirs := slices.Collect(maps.Keys(w.changed))
	clear(w.changed)
	return dirs, nil
}

func (w *watch) Close() error {
	err := w.events.Close()
	<-w.ended
	return err
}
