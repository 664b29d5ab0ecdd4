package arithmetic

// exactly returns x sign y.
func exactly(sign byte, x, y int) int {
	switch sign {
	case '+':
		return x + y
	case '-':
		return x - y
	}
	return x * y
}

// inColumns returns x sign y as worked out column by column from the right, y of one digit where the sign is *. For each
// carry or borrow into the next column it calls forget and leaves it out on yes. The last column is written in full, so
// nothing is carried out of it. A running value that is or would become negative has no columns and is done exactly.
func inColumns(sign byte, x, y int, forget func() bool) int {
	switch {
	case x < 0 || sign == '-' && x < y:
		return exactly(sign, x, y)
	case sign == '+':
		return add(x, y, forget)
	case sign == '-':
		return subtract(x, y, forget)
	}
	return multiply(x, y, forget)
}

// add sums the digits of each column with what the column to its right carried.
func add(x, y int, forget func() bool) int {
	result, place, carry := 0, 1, 0
	for ; x >= 10 || y >= 10; x, y = x/10, y/10 {
		sum := x%10 + y%10 + carry
		result += sum % 10 * place
		place *= 10
		if carry = sum / 10; carry > 0 && forget() {
			carry = 0
		}
	}
	return result + (x+y+carry)*place
}

// subtract needs x >= y, so that the last column cannot go below zero: a forgotten borrow only makes it larger.
func subtract(x, y int, forget func() bool) int {
	result, place, borrow := 0, 1, 0
	for ; x >= 10; x, y = x/10, y/10 {
		digit := x%10 - y%10 - borrow
		borrow = 0
		if digit < 0 {
			digit += 10
			borrow = 1
			if forget() {
				borrow = 0
			}
		}
		result += digit * place
		place *= 10
	}
	return result + (x-y-borrow)*place
}

// multiply takes the digits of x times the digit y; the carry is what is added to the next digit's product.
func multiply(x, y int, forget func() bool) int {
	result, place, carry := 0, 1, 0
	for ; x >= 10; x /= 10 {
		product := x%10*y + carry
		result += product % 10 * place
		place *= 10
		if carry = product / 10; carry > 0 && forget() {
			carry = 0
		}
	}
	return result + (x*y+carry)*place
}
