// Package doctor looks for what is wrong with files of prompts before a run trains on them.
//
// It goes through the files once and says what it found: rows that no run would take, problems that stand there more than
// once, labels that no grader can read, backslashes that a program ate, problems that are also in the sets a run is
// evaluated on. Each kind of finding is either harm, because a run would be refused, go wrong or report a wrong number, or
// a note. [Fix] writes a copy without the rows that harm, in their order, and says of each row left out why.
//
// Two prompts are the same problem if they are the same text once white space is one blank and the instruction around the
// problem is taken off. An instruction is not guessed: it is a first or last paragraph that most of a file's different
// prompts share. Two prompts are nearly the same if they contain the same numbers, their labels do not differ, and an
// estimated 70 % of their pairs of neighbouring words are the same: so problems made from one template with other numbers
// are not taken for each other, and neither are questions that only end differently. The estimate is MinHash: 32 least
// hashes, of which 4 must agree in one of 8 places for two prompts to be compared at all. It misses about one in ten pairs
// at 75 % and one in a hundred above 85 %; it is the same on every machine.
//
// Memory: about 250 bytes for each different problem, and 60 for each id; nothing for a repetition. Beyond
// Options.MostNear problems, near ones are no longer looked for, and the report says so.
//
// Shapes: findings stand in a fixed order, their examples in the order of the files. Units: lengths in tokens, or bytes
// where there is no tokenizer. Errors: only what keeps a file from being read; what is wrong in it is a finding.
// Sources: MinHash is Broder 1997; banding is chapter 3 of Leskovec, Rajaraman and Ullman, Mining of Massive Datasets.
package doctor
