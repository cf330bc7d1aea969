// Package fusefs serves a tree of package views to the kernel as a read-only FUSE file system. It is a thin adapter: it
// decides how long the kernel may remember what it was told, how an open file is read, and which number an error gets.
//
// # What the kernel may remember
//
// A node that is Frozen never changes: its attributes, its page cache and, for a directory, its listing are handed to the
// kernel for a day. A name below a frozen directory is bound to its inode for as long. Everything else lives for
// Options.EntryTimeout; Server.Invalidate shortens that when something is known to have changed. A name that does not
// exist is never remembered.
//
// # Names and attributes
//
// A listing must not look at every file: find(1) wants names. But ls -l looks at each file that it has listed, which as a request for each
// takes many times as long as all of them with the names (READDIRPLUS). So who has looked up most files of the folder that it listed last
// gets the attributes with the names of the next ones. Folders are told with their names always: they cost nothing, and who lists them goes there.
//
// # How a file is read
//
//	frozen, one local file holds the bytes, kernel >= 6.9, CAP_SYS_ADMIN   passthrough: the kernel reads that file itself
//	frozen, otherwise                                                     page cache, kept from one open to the next
//	not frozen                                                            direct: the size may change from open to open
//
// The kernel refuses (EIO) to have an inode open in passthrough and in cached mode at once, so the first open decides
// for all that overlap with it; see handle.PassthroughFd.
package fusefs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hudifs/hudifs/views"
)

const (
	// FSType is the type of our mounts in /proc/self/mountinfo.
	FSType = "fuse." + subtype

	subtype        = "hudifs"
	frozenLifetime = 24 * time.Hour
	// maxRead is the greatest read that the kernel asks for. It is its limit unless an administrator raised it.
	maxRead = 1 << 20
	// maxBackground bounds the kernel's read-ahead requests; its default of 12 starves parallel scans.
	maxBackground = 64
)

// Options are the parameters of a mount. The zero value, and nil, give a mount that only its owner can use.
type Options struct {
	AllowOther bool
	// UID and GID own every node. Default: those of the process.
	UID, GID *uint32
	// FileMode and DirMode are permission bits. Default: 0444 and 0555.
	FileMode, DirMode uint32
	// EntryTimeout is how long the kernel may rely on what is not frozen. Default: 2 s.
	EntryTimeout time.Duration
	// NoPassthrough sends every read through this process, even where the kernel could read the local file by itself.
	NoPassthrough bool
	// Logger gets one line for each failed request. Default: slog.Default.
	Logger *slog.Logger
	// FsName names the tree in the list of mounts and in the log. Default: hudifs.
	FsName string
	// Debug logs every request and reply.
	Debug bool

	patience time.Duration // see defaultPatience
}

// withDefaults returns a copy without zero values.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.UID == nil {
		d.UID = new(uint32(os.Getuid()))
	}
	if d.GID == nil {
		d.GID = new(uint32(os.Getgid()))
	}
	if d.FileMode == 0 {
		d.FileMode = 0o444
	}
	if d.DirMode == 0 {
		d.DirMode = 0o555
	}
	if d.EntryTimeout == 0 {
		d.EntryTimeout = 2 * time.Second
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.patience == 0 {
		d.patience = defaultPatience
	}
	if d.FsName == "" {
		d.FsName = subtype
	}
	return d
}

// mount is what the nodes of one mount share.
type mount struct {
	name              string
	uid, gid          uint32
	fileBits, dirBits uint32
	lifetime          time.Duration
	log               *slog.Logger
	server            *fuse.Server
	noPassthrough     atomic.Bool
	patience          time.Duration
	left              chan struct{} // holds a token for each call that was left behind; see ask
	listers           listers
}

// Server is a mounted tree.
type Server struct {
	mountpoint string
	fuse       *fuse.Server
	root       *node
	changed    chan struct{}
	done       chan struct{}

	mu       sync.Mutex // guards detached and keeps unmounting to one goroutine
	detached bool
}

// Mount mounts the tree on an existing directory and serves it until it is unmounted. A dead hudifs mount that an earlier
// process left there is taken away first.
func Mount(root views.Dir, mountpoint string, o *Options) (*Server, error) {
	opts := o.withDefaults()
	if opts.AllowOther && os.Geteuid() != 0 {
		if err := mayAllowOther(); err != nil {
			return nil, err
		}
	}
	mountpoint, err := clearDead(mountpoint)
	if err != nil {
		return nil, err
	}
	attr, err := root.Attr(context.Background())
	if err != nil {
		return nil, fmt.Errorf("root of the tree: %w", err)
	}
	m := &mount{
		name: opts.FsName, uid: *opts.UID, gid: *opts.GID, lifetime: opts.EntryTimeout, log: opts.Logger,
		fileBits: opts.FileMode & 0o7777, dirBits: opts.DirMode & 0o7777, patience: opts.patience, left: make(chan struct{}, maxLeft),
	}
	m.noPassthrough.Store(opts.NoPassthrough)
	top := &node{m: m}
	top.now.Store(&meaning{root, attr})

	fsOpts := m.goFuseOptions(&opts, inode(attr))
	server, err := fuse.NewServer(readOnly{fs.NewNodeFS(top, fsOpts)}, mountpoint, &fsOpts.MountOptions)
	if err != nil {
		return nil, explain(err)
	}
	m.server = server
	if server.KernelSettings().Flags64()&fuse.CAP_PASSTHROUGH == 0 {
		m.noPassthrough.Store(true)
	}
	s := &Server{mountpoint: mountpoint, fuse: server, root: top, changed: make(chan struct{}, 1), done: make(chan struct{})}
	go s.serve()
	if err := server.WaitMount(); err != nil {
		return nil, errors.Join(fmt.Errorf("the new mount does not answer: %w", err), s.Unmount())
	}
	return s, nil
}

// goFuseOptions puts our decisions into the library's terms.
func (m *mount) goFuseOptions(o *Options, rootInode uint64) *fs.Options {
	level := slog.LevelWarn
	if o.Debug {
		level = slog.LevelDebug
	}
	logger := slog.NewLogLogger(m.log.Handler(), level)
	opts := &fs.Options{
		MountOptions: fuse.MountOptions{
			AllowOther:    o.AllowOther,
			FsName:        o.FsName,
			Name:          subtype,
			Options:       []string{"default_permissions"},
			MaxWrite:      maxRead,
			MaxBackground: maxBackground,
			Debug:         o.Debug,
			Logger:        logger,
			PanicHandler: func(cause any) fuse.Status {
				m.log.Error("panic in a request", "fs", m.name, "panic", cause, "stack", string(debug.Stack()))
				return fuse.EIO
			},
		},
		NullPermissions: true,
		RootStableAttr:  &fs.StableAttr{Ino: rootInode},
		Logger:          logger,
	}
	if os.Geteuid() == 0 {
		// Without fusermount, and with the kernel's own error where it fails.
		opts.DirectMountStrict = true
		opts.DirectMountFlags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_RDONLY
	} else {
		opts.Options = append(opts.Options, "ro")
	}
	return opts
}

// explain adds what a user can do about a mount that failed.
func explain(err error) error {
	dev, openErr := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case errors.Is(openErr, os.ErrPermission):
		return fmt.Errorf("%w: its usual mode is 0666", openErr)
	case openErr != nil:
		return fmt.Errorf("FUSE is not available here (%w): load the fuse module, or give the container /dev/fuse", openErr)
	}
	_ = dev.Close()
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("mounting was denied (%w): it needs CAP_SYS_ADMIN, or an ordinary user with fusermount3", err)
	}
	return fmt.Errorf("mounting failed: %s", strings.TrimSpace(err.Error()))
}

// serve runs until the kernel lets go of the mount.
func (s *Server) serve() {
	var notifier sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	notifier.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.changed:
				s.root.forgetChanged(ctx)
			}
		}
	})
	s.fuse.Serve()
	stop()
	notifier.Wait()
	close(s.done)
}

// Wait returns when the mount is gone and the last open file is closed.
func (s *Server) Wait() { <-s.done }

// Done is closed when Wait would return.
func (s *Server) Done() <-chan struct{} { return s.done }

// Invalidate tells the kernel in the background that names and attributes which are not frozen may have changed. It never
// blocks, and may be called from anywhere, a request included.
func (s *Server) Invalidate() {
	select {
	case s.changed <- struct{}{}:
	default: // a look at the tree is due already
	}
}

// Unmount takes the mount away. Where it is in use it leaves the directory tree at once, and what is open stays readable as long
// as the process lives: Wait tells when the last user is gone.
func (s *Server) Unmount() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return nil
	default:
	}
	if s.detached {
		return nil
	}
	err := s.fuse.Unmount()
	if err == nil {
		<-s.done
		return nil
	}
	if err := detach(s.mountpoint); err != nil {
		return err
	}
	s.detached = true
	return nil
}
