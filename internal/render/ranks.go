package render

import "math/bits"

// ranks tells where numbers stand in a sorted list of them, from a bit for each number.
type ranks struct {
	bits   []uint64
	before []int32 // how many numbers come before each word of bits
}

// newRanks is for different numbers below n, in any order.
func newRanks(numbers []int32, n int32) ranks {
	r := ranks{make([]uint64, n/64+1), make([]int32, n/64+1)}
	for _, x := range numbers {
		r.bits[x/64] |= 1 << (x % 64)
	}
	rank := 0
	for i, b := range r.bits {
		r.before[i] = int32(rank)
		rank += bits.OnesCount64(b)
	}
	return r
}

// of is the place of a number that is in the list.
func (r ranks) of(x int32) int {
	return int(r.before[x/64]) + bits.OnesCount64(r.bits[x/64]&(1<<(x%64)-1))
}

// sorted is the list.
func (r ranks) sorted() []int32 {
	out := make([]int32, 0, int(r.before[len(r.before)-1])+64)
	for i, b := range r.bits {
		for ; b != 0; b &= b - 1 {
			out = append(out, int32(64*i+bits.TrailingZeros64(b)))
		}
	}
	return out
}
