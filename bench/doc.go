// Package bench measures both engines, and says how far they are from what the machine can do.
//
// A figure in tokens per second says little without its machine. So every run first measures two rates of the machine it is on, with all
// its threads: how fast it multiplies matrices and how fast it copies memory. From these and from the model's shape follows a floor: the
// least time that a work can take. What a work reaches is printed as tokens per second and as a share of the floor.
//
// The works. Weights are random (normal, as wide as the configuration's initializer_range; routing tables of distinct experts), so are token
// ids, and no token ends a response.
//
//   - generate: B prompts of P tokens are answered with N tokens each. Counted are the B*N new tokens, over the whole time, prompts included.
//     A step is one pass of the engine.
//   - decode: the same prompts once more. All but the last token of each is found in the prefix cache, so this is B*N tokens in N
//     steps and nothing else.
//   - score: logprobs and entropies of B sequences of L tokens under the trainer.
//   - train: one optimizer step on B sequences of L tokens: forward, loss, backward, clipping, AdamW, derived layouts. Routers are
//     trained too.
//   - growth: time a token in prompts, decoding and training of one sequence, against its length. The fitted power of the whole time says how near to
//     linear it is: 1 is linear.
//   - memory: cycles of update, generation and training, with the memory held after each.
//
// Each work is run once to warm up and then at least five times; median, least and most are given. Peak memory is the process's largest
// resident set during the work, where the system tells (Linux), and else what the Go runtime holds.
//
// The floors. Let A be the parameters that work on a token: all but the embedding, of the routed experts only the chosen ones. The arithmetic of a
// token that reads n positions is
//
//	2*A + sum over layers of 4*heads*head_dim*rows(n) + 2*index_heads*index_dim*entries(n) where there is an indexer
//
// where rows(n) counts the rows that attention reads: min(n, window), and of the n/rate closed windows all, or those that the
// indexer chooses; entries(n) is what it chooses from. The head counts only where logits are wanted.
//
//   - score and prompts: the arithmetic, over the matrix rate.
//   - train: three times that of score.
//   - decode: of each step the longer of its arithmetic over the matrix rate and its bytes over the copy rate. Bytes are those of every weight
//     that the batch touches, once, and of the rows of state that each sequence reads. A batch of B touches all weights but the
//     embedding, of which it reads B rows, and E*(1-(1-k/E)^B) of E experts, k chosen a token: what random choices touch on average.
//   - generate: prompts plus decode.
//
// The copy rate counts a byte read and written as two, the matrix rate a multiply-add as two. They are measured
// before each work and after the last, and a floor takes the best of those before and after its own: so that a busy moment does not pass for a slow machine, nor
// a quiet one for what a machine can do that others use as well, minutes later.
//
// Where others come and go within seconds that still holds the median run against a machine that it did not have. So the matrix rate is also measured between
// the runs of score and train, and "of floor then" is the median share of a floor by the better of the two rates right before and right after a run. What its
// matrices take at first is not counted as the work's memory. Generation is left alone: short runs would begin with cold caches.
//
// Shapes: B sequences by L tokens are written BxL.
// Units: seconds, bytes, tokens per second, floating-point operations; JSON names carry the unit.
// Errors: values; a step that the trainer skips, or a response that ends early, ends the benchmark.
// Sources: ours; peers and targets are in docs/performance.md.
package bench
