// Package reward judges responses against gold answers.
//
// A grader is found by name ([New], the values of --rm-type) and gives one of three verdicts: right, wrong, or invalid.
// Invalid is not wrong: the label cannot be graded, or the grader broke or ran out of time; such a sample must not train
// and must not count in an evaluation. Each verdict comes with what the grader saw, in words. A [Pool] lets several
// workers grade, each sample under a deadline, and counts the verdicts.
//
// How furlong finds an answer: the text after the last </think> is searched for the last complete \boxed{...}, and only where
// there is none for the last line with "Answer:". The reward never pays for a stray number. A response that was cut off by
// the token limit, or whose prompt opened a thought, and that never closed one has no answer. What is found must be one
// mathematical object as a whole, with or without a unit, and is compared as one ([furlong/reward/mathexpr]): numbers exactly
// as rationals, expressions by normal form or at fixed points with bounds. Where the label is a numeric literal the answer
// must be one too, so the model cannot box the question.
//
// The names math, deepscaler and dapo give the verdicts of published graders, letter for letter
// ([furlong/reward/published]); gsm8k is furlong for numbers; countdown works out an expression of given numbers; exact wants
// the label itself. docs/rewards.md tells the rules.
//
// Shapes: one verdict a sample, in place.
// Units: rewards are 1 for right and 0 otherwise; deadlines are wall time.
// Errors: a grader that breaks returns an error and leaves the sample invalid; names that are not known are errors with
// the nearest name. Graders count steps, not time: what would take too long is wrong and counted, and braces beyond counting
// make a sample invalid.
// Sources: the rules and their test pairs are ours, made by comparing the graders of DeepScaleR, DAPO and Math-Verify.
package reward
