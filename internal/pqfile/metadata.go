package pqfile

import (
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The structures of a footer, with the fields that matter here, after parquet-format's parquet.thrift. The format package
// has them too, but cannot tell a null_count of zero from none, and does not know is_max_value_exact: both decide whether a
// reader of the file we write gives right answers.

// FileMetaData is what a footer holds.
type FileMetaData struct {
	Version          int32                              `thrift:"1,required"`
	Schema           thrift.Slice[format.SchemaElement] `thrift:"2,required"`
	NumRows          int64                              `thrift:"3,required"`
	RowGroups        thrift.Slice[RowGroup]             `thrift:"4,required"`
	KeyValueMetadata thrift.Slice[format.KeyValue]      `thrift:"5,optional"`
	CreatedBy        string                             `thrift:"6,optional"`
	ColumnOrders     thrift.Slice[format.ColumnOrder]   `thrift:"7,optional"`
}

// RowGroup describes a row group.
type RowGroup struct {
	Columns             thrift.Slice[ColumnChunk] `thrift:"1,required"`
	TotalByteSize       int64                     `thrift:"2,required"`
	NumRows             int64                     `thrift:"3,required"`
	FileOffset          int64                     `thrift:"5,optional"`
	TotalCompressedSize int64                     `thrift:"6,optional"`
	Ordinal             int16                     `thrift:"7,optional,writezero"`
}

// ColumnChunk says where a column chunk lies.
type ColumnChunk struct {
	FilePath          string                      `thrift:"1,optional"`
	FileOffset        int64                       `thrift:"2,required"`
	MetaData          ColumnMetaData              `thrift:"3,optional"`
	OffsetIndexOffset int64                       `thrift:"4,optional"`
	OffsetIndexLength int32                       `thrift:"5,optional"`
	ColumnIndexOffset int64                       `thrift:"6,optional"`
	ColumnIndexLength int32                       `thrift:"7,optional"`
	CryptoMetadata    format.ColumnCryptoMetaData `thrift:"8,optional"`
}

// ColumnMetaData describes a column chunk.
type ColumnMetaData struct {
	Type                  format.Type                            `thrift:"1,required"`
	Encoding              thrift.Slice[format.Encoding]          `thrift:"2,required"`
	PathInSchema          thrift.Slice[string]                   `thrift:"3,required"`
	Codec                 format.CompressionCodec                `thrift:"4,required"`
	NumValues             int64                                  `thrift:"5,required"`
	TotalUncompressedSize int64                                  `thrift:"6,required"`
	TotalCompressedSize   int64                                  `thrift:"7,required"`
	DataPageOffset        int64                                  `thrift:"9,required"`
	DictionaryPageOffset  int64                                  `thrift:"11,optional"`
	Statistics            Statistics                             `thrift:"12,optional"`
	EncodingStats         thrift.Slice[format.PageEncodingStats] `thrift:"13,optional"`
	SizeStatistics        format.SizeStatistics                  `thrift:"16,optional"`
}

// Statistics say what values a column chunk may hold. Max and Min are the deprecated pair, which is in signed order whatever the type.
type Statistics struct {
	Max        []byte             `thrift:"1,optional"`
	Min        []byte             `thrift:"2,optional"`
	NullCount  thrift.Null[int64] `thrift:"3,optional"`
	MaxValue   []byte             `thrift:"5,optional"`
	MinValue   []byte             `thrift:"6,optional"`
	IsMaxExact thrift.Null[bool]  `thrift:"7,optional"`
	IsMinExact thrift.Null[bool]  `thrift:"8,optional"`
}
