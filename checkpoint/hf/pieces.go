package hf

import "fmt"

// A Piece is a tensor of a checkpoint and the run of a parameter's elements that it holds.
type Piece struct {
	Name  string
	Shape []int
	Lo    int // the first element; the pieces of a parameter follow each other without a gap
}

// Pieces returns the tensors of a scheme that make up a parameter, in the order of its elements. The
// parameter's name is the memory scheme's. Only the fused experts are ever more than one tensor.
func Pieces(s Scheme, param string, shape []int) ([]Piece, error) {
	if s < Memory || s > Wire {
		return nil, fmt.Errorf("parameter %q: no names in %v", param, s)
	}
	if r, ok := globalRow[param]; ok {
		return []Piece{{r.in(s), shape, 0}}, nil
	}
	layer, leaf, ok := splitLayer(param)
	if !ok || param != layerPrefix(Memory, layer)+leaf {
		return nil, fmt.Errorf("parameter %q: is no name of DeepSeek-V4", param)
	}
	prefix := layerPrefix(s, layer)
	if parts, ok := fused[leaf]; ok {
		return expertPieces(s, param, prefix, parts, shape)
	}
	r, ok := layeredRow[leaf]
	if !ok {
		return nil, fmt.Errorf("parameter %q: a layer of DeepSeek-V4 has no %q", param, leaf)
	}
	return []Piece{{prefix + r.in(s), shape, 0}}, nil
}

// expertPieces splits [E, P*R, C] into E times P matrices [R, C].
func expertPieces(s Scheme, param, prefix string, parts []row, shape []int) ([]Piece, error) {
	if s == Memory {
		return []Piece{{param, shape, 0}}, nil
	}
	if len(shape) != 3 || shape[1]%len(parts) != 0 {
		return nil, fmt.Errorf("parameter %q: is %v, want [experts, %d * rows, columns]", param, shape, len(parts))
	}
	rows, cols := shape[1]/len(parts), shape[2]
	var list []Piece
	for e := range shape[0] {
		for _, part := range parts {
			name := prefix + fmt.Sprintf(part.in(s), e)
			list = append(list, Piece{name, []int{rows, cols}, len(list) * rows * cols})
		}
	}
	return list, nil
}
