package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/cache"
)

// cacheFiles is where the files lie in a cache folder, beside the logs.
func cacheFiles(cacheDir string) string { return filepath.Join(cacheDir, "files") }

func newCacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look after the cache of merged files",
		Long: `cache looks after the folder in which merged files are kept. Mounts may be using it
meanwhile: what they have open stays.`,
		Example: `  hudifs cache stat
  hudifs cache verify --cache-dir /ssd/hudifs`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newCacheFolderCommand("stat", "Tell how much the cache holds", cacheStat),
		newCacheFolderCommand("verify", "Read every file of the cache, and remove those that are damaged", cacheVerify),
		newCacheFolderCommand("clear", "Remove every file of the cache that no mount has open", cacheClear),
	)
	return cmd
}

// newCacheFolderCommand makes a command that does something with the cache folder.
func newCacheFolderCommand(name, short string, do func(cmd *cobra.Command, dir string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name + " [flags]",
		Short:   short,
		Example: "  hudifs cache " + name + " --cache-dir /ssd/hudifs",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			dir := c.CacheDir
			if dir == "" {
				dir, err = c.cacheFolder()
			} else {
				_, err = os.Stat(dir)
			}
			if err != nil {
				return err
			}
			return do(cmd, cacheFiles(dir))
		},
	}
	cmd.Flags().String("config", "", configHelp)
	cmd.Flags().String("cache-dir", "", cacheDirHelp)
	return cmd
}

func cacheStat(cmd *cobra.Command, dir string) error {
	u, err := cache.Inspect(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", dir, describeUsage(u))
	return nil
}

func cacheVerify(cmd *cobra.Command, dir string) error {
	out := cmd.OutOrStdout()
	damaged := 0
	u, err := cache.Verify(cmd.Context(), dir, func(path string, err error) {
		damaged++
		fmt.Fprintf(out, "%s: damaged, removed: %v\n", path, err)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s, as they should be\n", dir, describeUsage(u))
	if damaged > 0 {
		return fmt.Errorf("%d damaged files removed", damaged)
	}
	return nil
}

func cacheClear(cmd *cobra.Command, dir string) error {
	removed, left, err := cache.Clear(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s removed", dir, describeUsage(removed))
	if left.Entries > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "; in use: %s", describeUsage(left))
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return nil
}

func describeUsage(u cache.Usage) string {
	text := fmt.Sprintf("%d files, %s on disk", u.Entries, humanize.IBytes(uint64(u.Bytes)))
	if u.Entries > 0 {
		text += ", the oldest last used " + u.Oldest.UTC().Format(time.RFC3339)
	}
	return text
}
