// Package schema has the schemas of a table as trees: Avro's, in which Hudi's commits and log blocks state them, and
// Parquet's, in which base files have them and every file of a view shows them.
//
// A view has one Parquet schema, its Target: the table's Avro schema, each column in the physical form of a reference base
// file where that form can hold the column's type, in a canonical form elsewhere. Project says how the leaf columns of
// another Parquet schema become those of a target: by name, recursively, whatever the list form, nullability, width or
// unit of either side. Rules of evolution: hudi-common: AvroSchemaUtils, HoodieAvroUtils.rewritePrimaryTypeWithDiffSchemaType.
package schema

import "errors"

// ErrInvalid is wrapped by every error about a schema that can't be understood, or that can't become another.
var ErrInvalid = errors.New("invalid schema")
