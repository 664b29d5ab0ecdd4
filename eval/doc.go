// Package eval measures a policy on held-out problems: pass@k without bias, with intervals, and what could not be judged.
//
// For each problem n samples are drawn and c of them are right. The chance that at least one of k draws without
// replacement from these n is right, 1 - C(n-c,k)/C(n,k), estimates pass@k without bias; the mean over problems is the
// figure. maj@k is the chance that the most frequent answer among k such draws is right. Problems are known by their ids.
// A sample whose verdict is invalid counts in no n and no c, but it is counted; so are responses that the token limit cut
// off. A problem that has fewer than k judged samples is left out of the figures for k, and one that has none is named.
//
// Each figure has two intervals. The wide one draws the problems again with replacement: what other problems of the kind
// would have given. The narrow one keeps the problems and draws their answers again: what another seed would have given
// ([Range]). A difference of two evaluations is one of pairs, which takes the problems' own difficulty out; [Compare] also
// tests whether it could be chance.
//
// Results come from an engine ([Run]), from rows that others wrote ([ReadRows]), or from a file of this package
// ([ReadReport]).
//
// Shapes: one [Problem] for each id, sorted by it wherever the order could matter.
// Units: pass@k and maj@k from 0 to 1; lengths in tokens; intervals hold 95 % of 10,000 resamples.
// Errors: k beyond n, other problems or settings on the two sides of a comparison, rows that are none (with file and line),
// an engine that fails or loses a sample, and a run of which nothing could be judged.
// Sources: the estimator is that of arXiv:2107.03374, section 2.1; the intervals are Efron's percentile bootstrap; the test
// is Fisher's, by random signs of the pairs' differences.
package eval
