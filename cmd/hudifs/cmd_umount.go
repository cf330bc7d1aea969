package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/fusefs"
)

func newUmountCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "umount MOUNTPOINT",
		Short: "Unmount what hudifs mount has mounted",
		Long: `umount takes the mount at MOUNTPOINT away; its daemon ends by itself. Only mounts of
hudifs are touched. While a program has a file or folder of it open, or stands in one,
umount fails: end the program first, or send SIGTERM to the daemon, which serves what is
open for another while.`,
		Example: `  hudifs umount /mnt/trips`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			err := fusefs.Unmount(args[0], false)
			if errors.Is(err, syscall.EBUSY) {
				return fmt.Errorf("%w: a program uses it (fuser -vm %s tells which)", err, args[0])
			}
			return err
		},
	}
}
