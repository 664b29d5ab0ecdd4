// Package reward has responses judged outside of this program: by a server over HTTP, or by a program that runs beside.
//
// The server ([Server], --rm-type remote_rm) gets one POST a sample with prompt, response and label, and answers with a reward.
// The program ([Program], --rm-type command) is started once for each sample that is judged at the same time; it reads a line of
// JSON for each sample and answers with a line, and is ended and started anew when it does not. An answer is a number, or an
// object with the number under a key; a list with one of these will do too.
//
// A reward of 1 and more is right, anything less is wrong; the reward itself is what trains. Whatever goes wrong (no answer in
// time, a status other than 2xx, no number, not a finite one) makes the sample invalid: it does not train, and it is counted.
//
// Processes of a program that wait are ended by Close, or when this program ends and their input with it.
//
// Shapes: one sample, one question.
// Units: deadlines are those of the context, which the pool of graders sets.
// Errors: name the address or the program and what was seen. Keys are not in them.
// Sources: the request is that of remote_rm in Miles and slime; the lines of a program are ours.
package reward
