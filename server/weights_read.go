package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"furlong/api/sglang"
	"furlong/checkpoint/intake"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// shownRows is how many rows of a tensor are shown to who asks for no number.
const shownRows = 100

// weightsByName shows the first rows of a tensor as numbers, whatever they are held as.
func (s *Server) weightsByName(w http.ResponseWriter, r *http.Request) {
	var b sglang.WeightsByName
	if !s.readAny(w, r, &b) {
		return
	}
	if name := r.URL.Query().Get("name"); name != "" {
		b.Name = name
	}
	var raw []byte
	_, err := s.next(r.Context(), func(ctx context.Context) (_ string, err error) {
		raw, err = s.rows(ctx, b)
		return "", err
	})
	if err != nil {
		s.fail(w, r, bad("%w", err))
		return
	}
	writeRaw(w, http.StatusOK, raw)
}

func (s *Server) rows(ctx context.Context, b sglang.WeightsByName) (raw []byte, err error) {
	n := or(b.Truncate, shownRows)
	if n < 0 {
		return nil, fmt.Errorf("truncate_size is %d, want 0 or more", n)
	}
	f, err := s.parts.Weights.Model.Locate(b.Name)
	if err != nil {
		return nil, err
	}
	if len(f.Piece.Shape) > 2 {
		return nil, fmt.Errorf("tensor %.200q: holds the matrices of all experts, want the name of one", b.Name)
	}
	k, err := s.keeper()
	if err != nil {
		return nil, err
	}
	err = k.Look(ctx, func(params []*tensor.Param) {
		for _, p := range params {
			if p.Name == f.Param {
				raw = rowsOf(f, p.Value, n)
			}
		}
	})
	return raw, err
}

// rowsOf returns the first n rows of a tensor as JSON.
func rowsOf(f intake.Found, value *tensor.Tensor, n int) []byte {
	t := f.Piece.Of(value)
	if f.Scale {
		t = t.Scale
	}
	x := numbers(t)
	if len(t.Shape) < 2 {
		return appendRow(nil, x[:min(n, len(x))])
	}
	wide := t.Dim()
	out := []byte{'['}
	for i := range min(n, t.Rows()) {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendRow(out, x[i*wide:(i+1)*wide])
	}
	return append(out, ']')
}

func appendRow(out []byte, row []float64) []byte {
	out = append(out, '[')
	for i, v := range row {
		if i > 0 {
			out = append(out, ',')
		}
		if v-v != 0 {
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendFloat(out, v, 'g', -1, 32)
	}
	return append(out, ']')
}

// numbers returns what the elements of a tensor mean.
func numbers(t *tensor.Tensor) []float64 {
	out := make([]float64, t.Len())
	if t.Quantised() {
		x := tensor.New(dtype.F32, t.Shape...)
		quant.Unpack(x, t)
		t = x
	}
	for i := range out {
		switch t.Type {
		case dtype.F32:
			out[i] = float64(t.F32()[i])
		case dtype.BF16:
			out[i] = float64(dtype.FromBF16(t.BF16()[i]))
		case dtype.E8M0:
			out[i] = float64(dtype.FromE8M0(t.Mem[i]))
		case dtype.I32:
			out[i] = float64(t.I32()[i])
		case dtype.I64:
			out[i] = float64(t.I64()[i])
		default:
			out[i] = math.NaN() // no parameter is held so
		}
	}
	return out
}
