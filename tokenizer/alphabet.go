package tokenizer

// The files write bytes as printable characters: those of Latin-1 that are, as themselves; the other 68, in their
// order, as U+0100 and on. So a blank is Ġ (U+0120).

// byteRunes holds the character that stands for each byte.
var byteRunes = func() (runes [256]rune) {
	next := rune(0x100)
	for b := range runes {
		if b >= '!' && b <= '~' || b >= 0xa1 && b != 0xad {
			runes[b] = rune(b)
			continue
		}
		runes[b] = next
		next++
	}
	return runes
}()

// runeBytes is the way back; no character from U+0144 on stands for a byte, nor do those that are -1.
var runeBytes = func() (bytes [0x144]int16) {
	for r := range bytes {
		bytes[r] = -1
	}
	for b, r := range byteRunes {
		bytes[r] = int16(b)
	}
	return bytes
}()

// tokenBytes returns the bytes that a token of the file stands for. One with any other character than those of bytes
// is, as a whole, what it says; that is how special tokens are spelled.
func tokenBytes(name string) string {
	bytes := make([]byte, 0, len(name))
	for _, r := range name {
		if int(r) >= len(runeBytes) || runeBytes[r] < 0 {
			return name
		}
		bytes = append(bytes, byte(runeBytes[r]))
	}
	return string(bytes)
}
