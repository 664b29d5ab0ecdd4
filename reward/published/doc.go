// Package published gives the verdicts of graders that others have published, letter for letter, so that runs which were
// made with them can be made again.
//
// They are right about much and wrong about some: the value of this package is that it is wrong in the same places. What
// holds for each is told in docs/rewards.md. Where the original raises an exception the verdict is wrong and Raised is set;
// where the original would compute for a long time, here a budget of steps ends it, the verdict is wrong and Over is set.
//
// [Math] and [DeepScaler] take the last \boxed{} and apply two tests, of which one must pass: equality after a cleaning of
// texts, and equality by algebra after a second cleaning, with restrictions that keep the algebra short. [DAPO] compares the
// last "Answer:" line, cleaned, with a whole number. [MathVerify] finds an answer by patterns of several ranks, reads it as LaTeX
// and compares mathematical objects.
//
// Units: none.
// Errors: none; every text has a verdict. Time grows with the length of the text, within the budget of steps.
// Sources: the behaviour of the graders of DeepScaleR and DAPO, which several frameworks share, and of Math-Verify 0.8 with
// SymPy 1.14, as observed.
package published
