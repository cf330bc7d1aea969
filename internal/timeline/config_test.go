package timeline

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestConfigDefaults(t *testing.T) {
	c, err := LoadConfig(t.Context(), mem(files{propertiesFile: propertiesText("hoodie.table.version=6")}))
	if err != nil {
		t.Fatal(err)
	}
	c.Properties = nil
	want := &Config{
		Name: "t", Version: 6, Type: CopyOnWrite, Layout: 1, TimelinePath: ".hoodie", ArchivePath: ".hoodie/archived",
		TimestampKeygen: TimestampKeygen{ScalarUnit: "SECONDS", InputDelimiter: ",", InputTimezone: "UTC", OutputTimezone: "UTC"},
		MergeProperties: map[string]string{}, PopulateMetaFields: true, BaseFileFormat: "PARQUET", LogFileFormat: "HOODIE_LOG",
		Timezone: "LOCAL", TableFormat: "native", CDCMode: "DATA_BEFORE_AFTER", BootstrapIndexEnabled: true, BootstrapIndex: "HFILE",
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestConfigKeys(t *testing.T) {
	for _, c := range []struct {
		lines string // separated by blanks
		get   func(*Config) any
		want  any
	}{
		{
			"hoodie.table.version=9", func(c *Config) any { return []any{c.Layout, c.TimelinePath, c.HistoryPath, c.ArchivePath} },
			[]any{2, ".hoodie/timeline", ".hoodie/timeline/history", ""},
		},
		{
			"hoodie.table.version=8 hoodie.timeline.path=tl hoodie.timeline.history.path=h/h", func(c *Config) any { return []any{c.TimelinePath, c.HistoryPath} },
			[]any{".hoodie/tl", ".hoodie/tl/h/h"},
		},
		{
			"hoodie.table.version=0 hoodie.timeline.layout.version=1 hoodie.archivelog.folder=old", func(c *Config) any { return []any{c.Version, c.Layout, c.ArchivePath} },
			[]any{0, 1, ".hoodie/old"},
		},
		{"hoodie.table.type=MERGE_ON_READ", func(c *Config) any { return c.Type }, MergeOnRead},
		{"hoodie.table.recordkey.fields=a,,b.c", func(c *Config) any { return c.RecordKeys }, []string{"a", "b.c"}},
		{
			"hoodie.table.partition.fields=region:SIMPLE,,evt:Timestamp,plain", func(c *Config) any { return c.PartitionFields },
			[]PartitionField{{"region", false}, {"evt", true}, {"plain", false}},
		},
		{
			"hoodie.table.partition.fields=a hoodie.table.keygenerator.type=TIMESTAMP_AVRO", func(c *Config) any { return []any{c.KeyGenerator, c.PartitionFields} },
			[]any{KeyTimestamp, []PartitionField{{"a", true}}},
		},
		{"hoodie.table.partition.fields=", func(c *Config) any { return c.PartitionFields }, []PartitionField(nil)},
		{
			"hoodie.deltastreamer.keygen.timebased.timestamp.type=unix_timestamp hoodie.keygen.timebased.timezone=GMT+8 hoodie.keygen.timebased.input.timezone=CET",
			func(c *Config) any { return c.TimestampKeygen },
			TimestampKeygen{Type: "UNIX_TIMESTAMP", ScalarUnit: "SECONDS", InputDelimiter: ",", InputTimezone: "CET", OutputTimezone: "GMT+8"},
		},
		{"hoodie.table.precombine.field=a,b", func(c *Config) any { return c.OrderingFields }, []string{"a", "b"}},
		{"hoodie.table.precombine.field=a hoodie.table.ordering.fields=b", func(c *Config) any { return c.OrderingFields }, []string{"b"}},
		{"hoodie.compaction.record.merger.strategy=x", func(c *Config) any { return c.MergeStrategyID }, "x"},
		{"hoodie.compaction.record.merger.strategy=x hoodie.record.merge.strategy.id=y", func(c *Config) any { return c.MergeStrategyID }, "y"},
		{"hoodie.compaction.payload.class=com.uber.hoodie.common.model.P", func(c *Config) any { return c.PayloadClass }, "org.apache.hudi.common.model.P"},
		{
			"hoodie.record.merge.property.hoodie.payload.delete.field=new hoodie.payload.delete.field=old hoodie.payload.ordering.field=o",
			func(c *Config) any { return c.MergeProperties },
			map[string]string{"hoodie.payload.delete.field": "new", "hoodie.payload.ordering.field": "o"},
		},
		{"hoodie.populate.meta.fields=False", func(c *Config) any { return c.PopulateMetaFields }, false},
		{"hoodie.table.ro.file.format=PARQUET", func(c *Config) any { return c.BaseFileFormat }, "PARQUET"},
		{"hoodie.table.cdc.supplemental.logging.mode=op_key", func(c *Config) any { return c.CDCMode }, "OP_KEY_ONLY"},
		{"hoodie.table.cdc.supplemental.logging.mode=cdc_data_before", func(c *Config) any { return c.CDCMode }, "DATA_BEFORE"},
		{
			"hoodie.table.metadata.partitions=files,column_stats", func(c *Config) any { return []any{c.MetadataPartitions, c.HasMetadataFiles()} },
			[]any{[]string{"files", "column_stats"}, true},
		},
		{"hoodie.table.metadata.partitions=", func(c *Config) any { return c.HasMetadataFiles() }, false},
		{
			"hoodie.bootstrap.base.path=/src hoodie.bootstrap.index.type=NO_OP", func(c *Config) any { return []any{c.BootstrapBasePath, c.BootstrapIndexEnabled} },
			[]any{"/src", false},
		},
		{"hoodie.table.timeline.timezone=UTC", func(c *Config) any { return c.Location(time.FixedZone("x", 60)) }, time.UTC},
	} {
		t.Run(c.lines, func(t *testing.T) {
			m := mem(files{propertiesFile: propertiesText(append([]string{"hoodie.table.version=6"}, strings.Fields(c.lines)...)...)})
			config, err := LoadConfig(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.get(config); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestKeyGenerator(t *testing.T) {
	for _, c := range []struct {
		kind, class string
		want        KeyGenerator
	}{
		{"", "", ""},
		{"SIMPLE", "x.ComplexKeyGenerator", KeySimple},
		{"COMPLEX_AVRO", "", KeyComplex},
		{"", "org.apache.hudi.keygen.SimpleAvroKeyGenerator", KeySimple},
		{"", "org.apache.hudi.keygen.TimestampBasedKeyGenerator", KeyTimestamp},
		{"", "org.apache.hudi.keygen.GlobalAvroDeleteKeyGenerator", KeyGlobalDelete},
		{"", "com.uber.hoodie.NonpartitionedKeyGenerator", KeyNonPartition},
		{"", "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator", KeyMetadata},
		{"", "com.example.MyKeys", KeyUserProvided},
	} {
		if got := keyGenerator(c.kind, c.class); got != c.want {
			t.Errorf("keyGenerator(%q, %q) = %q, want %q", c.kind, c.class, got, c.want)
		}
	}
}

func TestConfigRefusals(t *testing.T) {
	v6 := "hoodie.table.version=6"
	for _, c := range []struct {
		name  string
		files files
		is    error
		says  string
	}{
		{"nothing", files{}, ErrNotTable, "hoodie.properties"},
		{"an empty folder", files{".hoodie/x": ""}, ErrNotTable, "hoodie.properties"},
		{"version", files{propertiesFile: propertiesText("hoodie.table.version=10")}, ErrUnsupported, "table version 10"},
		{"negative version", files{propertiesFile: propertiesText("hoodie.table.version=-1")}, ErrUnsupported, "table version -1"},
		{"no number", files{propertiesFile: propertiesText("hoodie.table.version=six")}, ErrCorrupt, `found "six"`},
		{"layout 0", files{propertiesFile: propertiesText()}, ErrUnsupported, "timeline layout 0"},
		{"type", files{propertiesFile: propertiesText(v6, "hoodie.table.type=FOO")}, ErrUnsupported, "table type FOO"},
		{"ORC", files{propertiesFile: propertiesText(v6, "hoodie.table.base.file.format=ORC")}, ErrUnsupported, "base file format ORC"},
		{"HFILE", files{propertiesFile: propertiesText(v6, "hoodie.table.base.file.format=HFILE")}, ErrUnsupported, "base file format HFILE"},
		{"format", files{propertiesFile: propertiesText(v6, "hoodie.table.format=iceberg")}, ErrUnsupported, "table format iceberg"},
		{"log format", files{propertiesFile: propertiesText(v6, "hoodie.table.log.file.format=LANCE")}, ErrUnsupported, "log file format LANCE"},
		{"folder", files{propertiesFile: propertiesText("hoodie.table.version=9", "hoodie.timeline.path=../x")}, ErrCorrupt, `found "../x"`},
		{"checksum", files{propertiesFile: "hoodie.table.name=t\nhoodie.table.checksum=17\n"}, ErrCorrupt, "expected hoodie.table.checksum 498511606, found 17"},
		{"torn", files{propertiesFile: "hoodie.table.type=MERGE"}, ErrCorrupt, "hoodie.table.name"},
		{"empty", files{propertiesFile: ""}, ErrCorrupt, "hoodie.table.name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := LoadConfig(t.Context(), mem(c.files))
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %v with %q in one line", err, c.is, c.says)
			}
		})
	}
	if _, err := LoadMetadataConfig(t.Context(), mem(files{propertiesFile: propertiesText(v6, "hoodie.table.base.file.format=HFILE")})); err != nil {
		t.Error(err)
	}
}

func TestConfigBackup(t *testing.T) {
	good := propertiesText("hoodie.table.version=6")
	for name, f := range map[string]files{
		"main missing": {backupFile: good},
		"main damaged": {propertiesFile: "hoodie.table.name=t\nhoodie.table.checksum=1", backupFile: good},
		"both":         {propertiesFile: good, backupFile: "garbage"},
	} {
		if c, err := LoadConfig(t.Context(), mem(f)); err != nil || c.Name != "t" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A writer may be between the removal of the old file and the writing of the new one.
func TestConfigWaitsForWriter(t *testing.T) {
	m := mem(files{".hoodie/x": ""})
	time.AfterFunc(60*time.Millisecond, func() { m.Put(propertiesFile, []byte(propertiesText("hoodie.table.version=6"))) })
	if _, err := LoadConfig(t.Context(), m); err != nil {
		t.Error(err)
	}
}
