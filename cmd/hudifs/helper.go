package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// mount(8), and through it fstab and systemd, runs a program mount.TYPE for types that the kernel does not know:
//
//	mount.hudifs TABLE MOUNTPOINT [-sfnv] [-o OPTION,...]
//
// A link of that name to this program stands for hudifs mount. Its options are the flags of that, with = before a value, and
// with _ for - where somebody likes that better.

// helperName is the program's name as a helper of mount(8).
const helperName = "mount.hudifs"

// The exit statuses that mount(8) gives on.
const (
	helperUsage  = 1
	helperFailed = 32
)

// forMount are options that mount(8), fstab or systemd take care of, or that a read-only mount without devices fulfils.
var forMount = []string{
	"defaults", "auto", "noauto", "nofail", "_netdev", "user", "nouser", "users", "owner", "group", "rw", "ro", "suid", "nosuid", "dev", "nodev",
	"exec", "noexec", "async", "sync", "dirsync", "atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime",
	"nostrictatime", "lazytime", "nolazytime", "iversion", "noiversion", "mand", "nomand", "silent", "loud", "default_permissions",
}

func isHelper(args []string) bool { return len(args) > 0 && filepath.Base(args[0]) == helperName }

// helperArgs turns the command line of a mount helper into that of hudifs mount. It is nil where nothing is to be done.
func helperArgs(args []string) ([]string, error) {
	f := pflag.NewFlagSet(helperName, pflag.ContinueOnError)
	f.Usage = func() {}
	options := f.StringArrayP("options", "o", nil, "")
	sloppy, fake := f.BoolP("sloppy", "s", false, ""), f.BoolP("fake", "f", false, "")
	f.BoolP("no-mtab", "n", false, "")
	f.BoolP("verbose", "v", false, "")
	f.StringP("type", "t", "", "")
	f.StringP("namespace", "N", "", "")
	if err := f.Parse(args[1:]); err != nil {
		return nil, usageError{err}
	}
	if f.NArg() != 2 {
		return nil, usageError{fmt.Errorf("usage: %s TABLE MOUNTPOINT [-o OPTION,...]", helperName)}
	}
	var known pflag.FlagSet
	addTableFlags(&known)
	addMountFlags(&known)
	out := []string{"hudifs", "mount"}
	for option := range strings.SplitSeq(strings.Join(*options, ","), ",") {
		name, value, valued := strings.Cut(option, "=")
		flag := known.Lookup(strings.ReplaceAll(name, "_", "-"))
		switch {
		case flag != nil && flag.Name != "foreground":
			if !valued {
				value = flag.NoOptDefVal
			}
			out = append(out, "--"+flag.Name+"="+value)
		case option == "" || *sloppy || strings.HasPrefix(name, "x-") || name == "comment" || slices.Contains(forMount, option):
		default:
			return nil, usageError{fmt.Errorf("unknown option %s", option)}
		}
	}
	if *fake {
		return nil, nil
	}
	return append(out, "--", f.Arg(0), f.Arg(1)), nil
}

// helperStatus is the exit status of a helper after an error.
func helperStatus(err error) int {
	switch exitStatus(err) {
	case 0:
		return 0
	case exitUsage:
		return helperUsage
	default:
		return helperFailed
	}
}

// helper is main for the helper. It gives the exit status.
func helper() int {
	args, err := helperArgs(os.Args)
	if err == nil && args != nil {
		os.Args = args // for the daemon too, which is started with them
		err = run()
	}
	tell(err)
	return helperStatus(err)
}
