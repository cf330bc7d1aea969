package timeline

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hudifs/hudifs/storage"
)

const (
	// MetaFolder is where a table keeps what it knows of itself.
	MetaFolder     = ".hoodie"
	propertiesFile = MetaFolder + "/hoodie.properties"
	backupFile     = MetaFolder + "/hoodie.properties.backup"
	timelineFolder = "timeline" // of layout 2, unless the table has another

	// The schema of a table of thousands of columns takes less than this.
	maxProperties = 16 << 20

	newestVersion = 9
)

// TableType says how a table takes updates. It must never be guessed from the files: a copy-on-write table may hold log
// files of change data.
type TableType string

// The two table types, as hoodie.properties spells them.
const (
	CopyOnWrite TableType = "COPY_ON_WRITE"
	MergeOnRead TableType = "MERGE_ON_READ"
)

// Config is what hoodie.properties says about a table, with the defaults of Hudi's own reader filled in (hudi-common:
// HoodieTableConfig). Keys of old releases are read under their old names.
type Config struct {
	Name     string
	Database string
	Version  int // 0 to 9
	Type     TableType
	Layout   int // of the timeline: 1 or 2

	// Folders, relative to the base path. HistoryPath is for layout 2, ArchivePath for layout 1; the other one is empty.
	TimelinePath string
	HistoryPath  string
	ArchivePath  string

	RecordKeys      []string // empty for tables without keys of their own
	PartitionFields []PartitionField
	KeyGenerator    KeyGenerator
	TimestampKeygen TimestampKeygen

	OrderingFields     []string
	MergeMode          string // "" before version 8: the payload class decides
	MergeStrategyID    string
	PayloadClass       string // com.uber.hoodie is rewritten to org.apache.hudi
	LegacyPayloadClass string // informative: never a merge instruction
	PartialUpdateMode  string
	MergeProperties    map[string]string // without the prefix hoodie.record.merge.property.

	PopulateMetaFields   bool
	DropPartitionColumns bool
	HiveStyle            bool
	URLEncode            bool

	BaseFileFormat      string
	LogFileFormat       string
	MultipleBaseFormats bool

	CreateSchema string // Avro JSON without meta fields, or ""
	Timezone     string // LOCAL or UTC: the zone in which instants were formatted
	TableFormat  string

	CDCEnabled bool
	CDCMode    string // OP_KEY_ONLY, DATA_BEFORE or DATA_BEFORE_AFTER

	MetadataPartitions         []string // those that are ready
	InflightMetadataPartitions []string
	IndexDefsPath              string

	BootstrapBasePath     string // "" for tables that were not bootstrapped
	BootstrapIndexEnabled bool
	BootstrapIndex        string // class or type of the index

	Properties map[string]string // everything, as it was read
}

// PartitionField is one column of the partition path.
type PartitionField struct {
	Name      string
	Timestamp bool // the path holds a formatted time, not the column's value
}

// LoadConfig reads the table configuration below the root of s, which must be the base path of a table. It waits a moment
// for a writer that is replacing the file.
//
// Errors: ErrNotTable without a configuration, ErrUnsupported for a table that this reader does not know (a version above
// 9, a base file format other than PARQUET, a foreign table format), ErrCorrupt for a checksum or a value that is wrong.
func LoadConfig(ctx context.Context, s storage.Store) (*Config, error) {
	return loadConfig(ctx, s, "PARQUET")
}

// LoadMetadataConfig is LoadConfig for a metadata table, whose base files are HFiles.
func LoadMetadataConfig(ctx context.Context, s storage.Store) (*Config, error) {
	return loadConfig(ctx, s, "HFILE")
}

func loadConfig(ctx context.Context, s storage.Store, baseFormat string) (*Config, error) {
	file, props, err := readProperties(ctx, s)
	if err != nil {
		return nil, err
	}
	c, err := newConfig(file, props)
	if err != nil {
		return nil, err
	}
	if c.BaseFileFormat != baseFormat {
		return nil, unsupportedf(file, "base file format %s, expected %s", c.BaseFileFormat, baseFormat)
	}
	return c, nil
}

// readProperties does what hudi-common's ConfigUtils.fetchConfigs does: an updater deletes the file while a backup of it
// exists, so a missing or half written file is looked at again, here and in the backup, before it counts.
func readProperties(ctx context.Context, s storage.Store) (file string, props map[string]string, err error) {
	const firstWait, lastWait = 50 * time.Millisecond, 200 * time.Millisecond
	for wait := firstWait; ; wait *= 2 {
		file, props, err = readEitherProperties(ctx, s)
		switch {
		case err == nil || wait > lastWait:
			return file, props, err
		case errors.Is(err, ErrNotTable):
			if _, noFolder := s.List(ctx, MetaFolder); noFolder != nil {
				return file, props, err
			}
		case !errors.Is(err, ErrCorrupt):
			return file, props, err
		}
		select {
		case <-ctx.Done():
			return "", nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func readEitherProperties(ctx context.Context, s storage.Store) (string, map[string]string, error) {
	props, err := readOneProperties(ctx, s, propertiesFile)
	if err == nil {
		return propertiesFile, props, nil
	}
	props, backupErr := readOneProperties(ctx, s, backupFile)
	switch {
	case backupErr == nil:
		return backupFile, props, nil
	case !errors.Is(err, storage.ErrNotExist):
		return "", nil, err
	case !errors.Is(backupErr, storage.ErrNotExist):
		return "", nil, backupErr
	}
	return "", nil, fmt.Errorf("%w: it has no %s", ErrNotTable, propertiesFile)
}

func readOneProperties(ctx context.Context, s storage.Store, file string) (map[string]string, error) {
	data, err := storage.ReadFile(ctx, s, file, maxProperties)
	if err != nil {
		return nil, err
	}
	props, err := parseProperties(file, data)
	if err != nil {
		return nil, err
	}
	name, ok := props["hoodie.table.name"]
	if !ok {
		return nil, corruptf(file, int64(len(data)), "expected the key hoodie.table.name")
	}
	if found, ok := props["hoodie.table.checksum"]; ok {
		// The formula of hudi-common's HoodieTableConfig.generateChecksum: it proves only that both names were read.
		want := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(props["hoodie.database.name"]+"."+name))), 10)
		if found != want {
			return nil, corruptf(file, -1, "expected hoodie.table.checksum %s, found %s", want, found)
		}
	}
	return props, nil
}

// properties reads single values and remembers the first that is wrong.
type properties struct {
	file string
	m    map[string]string
	err  error
}

// get returns the value of the first key that has one that is not empty.
func (p *properties) get(fallback string, keys ...string) string {
	for _, key := range keys {
		if v := strings.TrimSpace(p.m[key]); v != "" {
			return v
		}
	}
	return fallback
}

func (p *properties) bool(fallback bool, key string) bool {
	v := p.get("", key)
	if v == "" {
		return fallback
	}
	return strings.EqualFold(v, "true")
}

func (p *properties) list(keys ...string) []string {
	var items []string
	for item := range strings.SplitSeq(p.get("", keys...), ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (p *properties) int(fallback int, key string) int {
	v := p.get("", key)
	if v == "" {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil && p.err == nil {
		p.err = corruptf(p.file, -1, "expected a number as %s, found %q", key, v)
	}
	return n
}

// folder reads a path below dir.
func (p *properties) folder(dir, fallback, key string) string {
	v := strings.Trim(p.get(fallback, key), "/")
	if !fs.ValidPath(v) && p.err == nil {
		p.err = corruptf(p.file, -1, "expected a relative folder as %s, found %q", key, v)
	}
	return path.Join(dir, v)
}

func newConfig(file string, m map[string]string) (*Config, error) {
	p := &properties{file: file, m: m}
	c := &Config{
		Name:         m["hoodie.table.name"],
		Database:     m["hoodie.database.name"],
		Version:      p.int(0, "hoodie.table.version"),
		Type:         TableType(p.get(string(CopyOnWrite), "hoodie.table.type")),
		TableFormat:  p.get("native", "hoodie.table.format"),
		TimelinePath: MetaFolder,

		RecordKeys:         p.list("hoodie.table.recordkey.fields"),
		OrderingFields:     p.list("hoodie.table.ordering.fields", "hoodie.table.precombine.field"),
		MergeMode:          strings.ToUpper(p.get("", "hoodie.record.merge.mode")),
		MergeStrategyID:    p.get("", "hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy"),
		PayloadClass:       p.class("hoodie.compaction.payload.class"),
		LegacyPayloadClass: p.class("hoodie.table.legacy.payload.class"),
		PartialUpdateMode:  strings.ToUpper(p.get("", "hoodie.table.partial.update.mode")),
		MergeProperties:    mergeProperties(m),

		PopulateMetaFields:   p.bool(true, "hoodie.populate.meta.fields"),
		DropPartitionColumns: p.bool(false, "hoodie.datasource.write.drop.partition.columns"),
		HiveStyle:            p.bool(false, "hoodie.datasource.write.hive_style_partitioning"),
		URLEncode:            p.bool(false, "hoodie.datasource.write.partitionpath.urlencode"),

		BaseFileFormat:      strings.ToUpper(p.get("PARQUET", "hoodie.table.base.file.format", "hoodie.table.ro.file.format")),
		LogFileFormat:       strings.ToUpper(p.get("HOODIE_LOG", "hoodie.table.log.file.format", "hoodie.table.rt.file.format")),
		MultipleBaseFormats: p.bool(false, "hoodie.table.multiple.base.file.formats.enable"),

		CreateSchema: p.get("", "hoodie.table.create.schema"),
		Timezone:     strings.ToUpper(p.get("LOCAL", "hoodie.table.timeline.timezone")),

		CDCEnabled: p.bool(false, "hoodie.table.cdc.enabled"),
		CDCMode:    cdcMode(p.get("DATA_BEFORE_AFTER", "hoodie.table.cdc.supplemental.logging.mode")),

		MetadataPartitions:         p.list("hoodie.table.metadata.partitions"),
		InflightMetadataPartitions: p.list("hoodie.table.metadata.partitions.inflight"),
		IndexDefsPath:              p.get("", "hoodie.table.index.defs.path"),

		BootstrapBasePath: p.get("", "hoodie.bootstrap.base.path"),
		BootstrapIndex:    p.get("HFILE", "hoodie.bootstrap.index.type", "hoodie.bootstrap.index.class"),

		Properties: m,
	}
	c.BootstrapIndexEnabled = p.bool(true, "hoodie.bootstrap.index.enable") && c.BootstrapIndex != "NO_OP"
	c.readKeys(p)
	c.readLayout(p)
	if p.err != nil {
		return nil, p.err
	}
	return c, c.check(file)
}

func (c *Config) readLayout(p *properties) {
	byVersion := 1
	switch {
	case c.Version == 0:
		byVersion = 0
	case c.Version >= 8:
		byVersion = 2
	}
	c.Layout = p.int(byVersion, "hoodie.timeline.layout.version")
	if c.Layout == 2 {
		c.TimelinePath = p.folder(MetaFolder, timelineFolder, "hoodie.timeline.path")
		c.HistoryPath = p.folder(c.TimelinePath, "history", "hoodie.timeline.history.path")
	} else {
		c.ArchivePath = p.folder(MetaFolder, "archived", "hoodie.archivelog.folder")
	}
}

func (c *Config) check(file string) error {
	switch {
	case c.Version < 0 || c.Version > newestVersion:
		return unsupportedf(file, "table version %d, expected 0 to %d", c.Version, newestVersion)
	case c.Layout != 1 && c.Layout != 2:
		return unsupportedf(file, "timeline layout %d (table version %d), expected 1 or 2", c.Layout, c.Version)
	case c.Type != CopyOnWrite && c.Type != MergeOnRead:
		return unsupportedf(file, "table type %s, expected %s or %s", c.Type, CopyOnWrite, MergeOnRead)
	case !strings.EqualFold(c.TableFormat, "native"):
		return unsupportedf(file, "table format %s, expected native", c.TableFormat)
	case c.LogFileFormat != "HOODIE_LOG":
		return unsupportedf(file, "log file format %s, expected HOODIE_LOG", c.LogFileFormat)
	}
	return nil
}

// HasMetadataFiles says whether the metadata table may be used instead of listing folders. Its folder existing proves
// nothing.
func (c *Config) HasMetadataFiles() bool { return slices.Contains(c.MetadataPartitions, "files") }

// Location is the zone in which the table's instants were formatted, where local stands for the writer's own.
func (c *Config) Location(local *time.Location) *time.Location {
	if c.Timezone == "UTC" {
		return time.UTC
	}
	return local
}

func mergeProperties(m map[string]string) map[string]string {
	merge := map[string]string{}
	for key, value := range m {
		if strings.HasPrefix(key, "hoodie.payload.") {
			merge[key] = value
		}
	}
	for key, value := range m {
		if name, ok := strings.CutPrefix(key, "hoodie.record.merge.property."); ok {
			merge[name] = value
		}
	}
	return merge
}

// cdcMode maps the spellings of release 0.13 onto those of today.
func cdcMode(text string) string {
	mode := strings.TrimPrefix(strings.ToUpper(text), "CDC_")
	if mode == "OP_KEY" {
		return "OP_KEY_ONLY"
	}
	return mode
}
