// Package eval measures a policy on held-out problems: pass@k without bias, with intervals, and what could not be judged.
//
// For each problem n samples are drawn and c of them are right. The chance that at least one of k draws without
// replacement from these n is right, 1 - C(n-c,k)/C(n,k), estimates pass@k without bias; the mean over problems is the
// figure. Problems are known by their ids. An interval comes from drawing the problems again with replacement; a difference
// of two evaluations from drawing pairs, which takes the problems' own difficulty out. A sample whose verdict is invalid
// counts in no n and no c, but it is counted; so are responses that the token limit cut off.
//
// Shapes: one [Problem] for each id, sorted by it wherever the order could matter.
// Units: pass@k from 0 to 1; lengths in tokens; intervals hold 95 % of 10,000 resamples.
// Errors: k beyond n, other problems on the two sides of a difference, an engine that fails or loses a sample, and a run
// of which nothing could be judged.
// Sources: the estimator is that of arXiv:2107.03374, section 2.1; the intervals are Efron's percentile bootstrap.
package eval
