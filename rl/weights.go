package rl

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
)

// Weights is one version of a policy on its way to an engine. One goroutine reads it. The policy must stay as it is until the update has ended.
type Weights interface {
	Version() Version
	// Manifest says what the version consists of, in the form of package weightsync, which also checks it.
	Manifest(ctx context.Context) ([]byte, error)
	// Buckets yields every byte of every tensor that affects an output, buffers and tables included, in chunks of any size and in any order.
	// A bucket and what it holds is valid until the next one is asked for.
	Buckets(ctx context.Context) iter.Seq2[[]Chunk, error]
}

// A Chunk is a piece of a tensor, which says itself what it is and where it belongs.
type Chunk struct {
	Version Version
	Name    string // as Hugging Face names the weight in memory; of block scales with _scale_inv behind it
	Type    string // as safetensors spells it: F32, BF16, F8_E4M3, I64
	Shape   []int  // of the whole tensor
	Offset  int    // of Data in the tensor, in bytes
	Data    []byte // little-endian, row-major
	Digest  Digest // of Data
}

// A Tensor is a whole tensor.
type Tensor struct {
	Name  string
	Type  string // as safetensors spells it: F32, BF16, I32
	Shape []int
	Data  []byte
}

// A Digest is the XXH3-128 of something, in the order of bytes in which it is printed. It finds accidents; it does not keep out an enemy.
type Digest [16]byte

// String returns 32 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText returns 32 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return fmt.Errorf("digest is %.64q, want %d hexadecimal digits", text, 2*len(d))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return fmt.Errorf("digest is %q: %w", text, err)
	}
	return nil
}

// An Attestation says what an engine serves since an update, and what it has checked before it did.
type Attestation struct {
	Version   Version
	State     Digest    // of the weights as they came: the same at trainer, checkpoint and engine
	Effective Digest    // of all that passes read: weights, scales, and the layouts derived from them; the same in engines of one backend
	Canary    []float32 // logprobs of fixed tokens, nats
	Tensors   int
	Bytes     int  // that came, each counted once
	Cold      bool // the layouts were compared with those of a second, fresh derivation
}

// An Attester is a rollout engine that can say what it serves. The zero Attestation means that nothing was attested yet.
type Attester interface {
	Attestation() Attestation
}
