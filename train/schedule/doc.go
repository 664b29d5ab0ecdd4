// Package schedule plans the micro-batches of a step for data parallel ranks: which samples run together, and on which rank.
//
// A pass costs what its tokens cost, ranks wait for the slowest, and they meet after each micro-batch, so every rank gets the same number of them. Samples are packed
// under a budget of tokens, the longest first, each into the first micro-batch that has room (first-fit decreasing). A sample longer than the budget gets
// one of its own. Then the fullest micro-batches of several samples are parted until ranks divide their number, and dealt to the ranks: in turn, or balanced, so
// that ranks have alike sums of tokens: by largest differencing, after which samples change places between ranks until the fullest has a hundredth more
// than the mean, no change helps, or very many were tried.
//
// A plan depends on lengths alone, ties go by the order of samples, and equal arguments give equal plans. It is for ranks that add up their own sums: one process
// keeps the order of its samples, on which the bits of its gradients depend (package train).
//
// Shapes: lengths has one entry a sample; a [Plan] one list a rank, all equally long.
// Units: lengths and budgets are tokens.
// Errors: no rank may be without a sample; lengths, budgets and ranks are positive. Errors name the sample and what was wanted.
// Sources: first-fit decreasing needs at most 11/9 of the fewest micro-batches plus 6/9 (Dósa 2007); differencing is Karmarkar and Karp's of 1982, in the form
// of Yakir and of Michiels et al. that gives each part the same number of items.
package schedule
