package main

import (
	"errors"
	"strings"
	"testing"
)

func TestHelperArgs(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"/sbin/mount.hudifs /data/trips /mnt/trips -o rw", "hudifs mount -- /data/trips /mnt/trips"},
		{"mount.hudifs -n -v t m -t hudifs", "hudifs mount -- t m"},
		{
			"mount.hudifs t m -o rw,noauto,nofail,_netdev,x-systemd.automount,x-systemd.requires=a.mount,nosuid,nodev,noexec,user,comment=c",
			"hudifs mount -- t m",
		},
		{"mount.hudifs t m -o allow_other,uid=1000 -o cache-dir=/a=b,grace=2h", "hudifs mount --allow-other=true --uid=1000 --cache-dir=/a=b --grace=2h -- t m"},
		{"mount.hudifs t m -o allow_other=false,no_passthrough", "hudifs mount --allow-other=false --no-passthrough=true -- t m"},
		{"mount.hudifs -s t m -o remount,what=ever", "hudifs mount -- t m"},
		{"mount.hudifs -f t m -o allow_other", ""},
	} {
		got, err := helperArgs(strings.Fields(c.args))
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%s\ngives  %q, %v\nwant   %s", c.args, got, err, c.want)
		}
	}
	for args, want := range map[string]string{
		"mount.hudifs t":                     "usage",
		"mount.hudifs t m more":              "usage",
		"mount.hudifs t m -o remount":        "remount",
		"mount.hudifs t m -o alow_other":     "alow_other",
		"mount.hudifs t m -o foreground":     "foreground",
		"mount.hudifs t m -o allow_other,-o": "-o",
		"mount.hudifs t m --what":            "what",
	} {
		got, err := helperArgs(strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) || helperStatus(err) != helperUsage {
			t.Errorf("%s: %q, %v, want an error that names %q", args, got, err, want)
		}
	}
}

func TestHelperStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{{nil, 0}, {usageError{errors.New("x")}, 1}, {daemonError{exitUsage}, 1}, {daemonError{exitRefused}, 32}, {errors.New("x"), 32}} {
		if got := helperStatus(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
	if !isHelper([]string{"/sbin/mount.hudifs"}) || isHelper([]string{"/usr/bin/hudifs"}) {
		t.Error("the name does not tell the helper")
	}
}
