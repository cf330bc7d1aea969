package timeline

import "strings"

// KeyGenerator names the rule that made record keys and partition paths, as hudi-common's KeyGeneratorType spells it. It is
// "" where the table does not say.
type KeyGenerator string

// The key generators that a reader must tell apart. Classes that are none of Hudi's own are KeyUserProvided.
const (
	KeySimple       KeyGenerator = "SIMPLE"
	KeyComplex      KeyGenerator = "COMPLEX"
	KeyTimestamp    KeyGenerator = "TIMESTAMP"
	KeyCustom       KeyGenerator = "CUSTOM"
	KeyNonPartition KeyGenerator = "NON_PARTITION"
	KeyGlobalDelete KeyGenerator = "GLOBAL_DELETE"
	KeyAutoRecord   KeyGenerator = "AUTO_RECORD"
	KeyMetadata     KeyGenerator = "HOODIE_TABLE_METADATA"
	KeySQL          KeyGenerator = "SPARK_SQL"
	KeySQLUUID      KeyGenerator = "SPARK_SQL_UUID"
	KeySQLMergeInto KeyGenerator = "SPARK_SQL_MERGE_INTO"
	KeyUserProvided KeyGenerator = "USER_PROVIDED"
)

// TimestampKeygen is how a timestamp key generator turns a column into a folder name. Patterns are Joda's. All is as the
// table says it, with Hudi's defaults for unit, delimiter and zones.
type TimestampKeygen struct {
	Type           string // UNIX_TIMESTAMP, DATE_STRING, MIXED, EPOCHMILLISECONDS, EPOCHMICROSECONDS, SCALAR, or ""
	ScalarUnit     string
	InputFormats   string // patterns, joined by InputDelimiter
	InputDelimiter string // a regular expression
	OutputFormat   string
	InputTimezone  string
	OutputTimezone string
}

func (c *Config) readKeys(p *properties) {
	c.KeyGenerator = keyGenerator(p.get("", "hoodie.table.keygenerator.type"), p.get("", "hoodie.table.keygenerator.class"))
	for _, item := range p.list("hoodie.table.partition.fields") {
		name, kind, _ := strings.Cut(item, ":")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		timestamp := c.KeyGenerator == KeyTimestamp || strings.EqualFold(strings.TrimSpace(kind), "timestamp")
		c.PartitionFields = append(c.PartitionFields, PartitionField{Name: name, Timestamp: timestamp})
	}
	c.TimestampKeygen = TimestampKeygen{
		Type:           strings.ToUpper(p.timebased("", "timestamp.type")),
		ScalarUnit:     strings.ToUpper(p.timebased("SECONDS", "timestamp.scalar.time.unit")),
		InputFormats:   p.timebased("", "input.dateformat"),
		InputDelimiter: p.timebased(",", "input.dateformat.list.delimiter.regex"),
		OutputFormat:   p.timebased("", "output.dateformat"),
		InputTimezone:  p.timebased("UTC", "input.timezone", "timezone"),
		OutputTimezone: p.timebased("UTC", "output.timezone", "timezone"),
	}
}

// timebased reads keys that exist under the name of the delta streamer too.
func (p *properties) timebased(fallback string, names ...string) string {
	var keys []string
	for _, name := range names {
		keys = append(keys, "hoodie.keygen.timebased."+name, "hoodie.deltastreamer.keygen.timebased."+name)
	}
	return p.get(fallback, keys...)
}

// class reads a Java class name; the packages of the time before Apache hold the same classes.
func (p *properties) class(key string) string {
	name := p.get("", key)
	if rest, ok := strings.CutPrefix(name, "com.uber.hoodie."); ok {
		return "org.apache.hudi." + rest
	}
	return name
}

var keyGeneratorClasses = map[string]KeyGenerator{
	"SimpleKeyGenerator":               KeySimple,
	"ComplexKeyGenerator":              KeyComplex,
	"TimestampBasedKeyGenerator":       KeyTimestamp,
	"CustomKeyGenerator":               KeyCustom,
	"NonpartitionedKeyGenerator":       KeyNonPartition,
	"GlobalDeleteKeyGenerator":         KeyGlobalDelete,
	"AutoRecordGenWrapperKeyGenerator": KeyAutoRecord,
	"HoodieTableMetadataKeyGenerator":  KeyMetadata,
	"SqlKeyGenerator":                  KeySQL,
	"UuidKeyGenerator":                 KeySQLUUID,
	"MergeIntoKeyGenerator":            KeySQLMergeInto,
}

// keyGenerator takes the type of version 8 and later before the class of earlier ones. The Avro twins of the generators
// (SIMPLE_AVRO, SimpleAvroKeyGenerator) make the same keys and paths.
func keyGenerator(kind, class string) KeyGenerator {
	if kind != "" {
		return KeyGenerator(strings.TrimSuffix(strings.ToUpper(kind), "_AVRO"))
	}
	if class == "" {
		return ""
	}
	simple := class[strings.LastIndexByte(class, '.')+1:]
	if known, ok := keyGeneratorClasses[strings.Replace(simple, "Avro", "", 1)]; ok {
		return known
	}
	return KeyUserProvided
}
