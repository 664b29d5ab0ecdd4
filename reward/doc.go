// Package reward judges responses against gold answers.
//
// A grader is found by name ([New], the values of --rm-type) and gives one of three verdicts: right, wrong, or invalid.
// Invalid is not wrong: the label cannot be graded, or the grader broke or ran out of time; such a sample must not train
// and must not count in an evaluation. Each verdict comes with what the grader saw, in words. A [Pool] lets several
// workers grade, each sample under a deadline, and counts the verdicts.
//
// How an answer is found: the text after the last </think> is searched for the last complete \boxed{...}, and only where
// there is none for the last line with "Answer:". The reward never pays for a stray number. A response that was cut off by
// the token limit, or whose prompt opened a thought, and that never closed one has no answer. What is found must be one
// number as a whole (a sign, thousands as 1,234, decimals, a fraction, a mixed number, a percentage, a unit of the list)
// and is compared exactly as a rational; what is no number is compared as text, after spaces and markup are taken away.
// An expression that would have to be worked out is no number, so the model cannot box the question.
//
// Not supported yet, and wrong unless spelled like the label: radicals, pi, e, powers and other closed forms; expressions
// with variables; lists and sets in another order; intervals and relations in another form; "5 or 7" for "5,7"; ratios as
// fractions; "million"; a label that has to be worked out (2^3); several gold answers. Matrices and tuples are compared as
// text. The verdicts of the published graders math, dapo and deepscaler, letter for letter, are not here yet either: the
// names math, dapo and gsm8k stand for the rules above with other demands on the label.
//
// Shapes: one verdict a sample, in place.
// Units: rewards are 1 for right and 0 otherwise; deadlines are wall time.
// Errors: a grader that breaks returns an error and leaves the sample invalid; names that are not known are errors with
// the nearest name. An answer of any length is judged in time proportional to it.
// Sources: the rules and their test pairs are ours, made by comparing the graders of DeepScaleR, DAPO and Math-Verify.
package reward
