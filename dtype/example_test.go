package dtype_test

import (
	"fmt"

	"furlong/dtype"
)

// A block is quantised by choosing its scale, then rounding each number over that scale.
func Example() {
	scale := dtype.FromE8M0(dtype.ScaleE8M0(5.5, dtype.FloorE4M3, dtype.MaxE4M3))
	code := dtype.ToE4M3Sat(-3.9 / scale)
	fmt.Println(scale, code, dtype.FromE4M3(code)*scale)
	// Output: 0.015625 248 -4
}
