package pqfile

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/xitongsys/parquet-go-source/buffer"
	"github.com/xitongsys/parquet-go/reader"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/schema"
)

// readXitongsys reads a file with xitongsys/parquet-go, which does not separate row groups.
func readXitongsys(data []byte, m *schema.Message, entries []int64) (out table, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("xitongsys panicked: %v", p)
		}
	}()
	r, err := reader.NewParquetColumnReader(buffer.NewBufferFileFromBytes(data), 1)
	if err != nil {
		return nil, err
	}
	defer r.ReadStop()
	var group []*column.Vector
	for i, l := range m.Leaves {
		v := column.New(l.Leaf)
		// It counts rows, where it says values.
		values, rep, def, err := r.ReadColumnByIndex(int64(i), r.GetNumRows())
		if err != nil {
			return nil, err
		}
		if int64(len(values)) != entries[i] {
			return nil, fmt.Errorf("xitongsys: %d entries, expected %d", len(values), entries[i])
		}
		for j, x := range values {
			v.AppendLevels(uint8(rep[j]), uint8(def[j]))
			if uint8(def[j]) == l.Leaf.MaxDef {
				v.AppendValue(goBytes(x))
			}
		}
		group = append(group, v)
	}
	return table{group}, nil
}

func goBytes(x any) []byte {
	switch x := x.(type) {
	case bool:
		if x {
			return []byte{1}
		}
		return []byte{0}
	case int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(x))
	case int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(x))
	case float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))
	case float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case string:
		return []byte(x)
	}
	panic(fmt.Sprintf("value of type %T", x))
}
