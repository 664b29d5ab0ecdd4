// Package pull keeps a folder equal to the version that a trainer publishes, of which most are deltas against the one before.
//
// A trainer writes each version to weight_v%06d below one folder: either a whole checkpoint, or, for tensors that changed, what is to be done to their bytes.
// [Pull] brings a folder of the reader's own from the version that it holds to the one that is wanted: it begins at the newest whole version
// if that is newer than what is held, or at version 0, the checkpoint that the reader began with, and takes up one delta after the other. The folder is
// a checkpoint like any other throughout, and is loaded as such.
//
// Of each delta every tensor's new bytes are computed and held against their checksum before any is written. So a delta that is damaged, or was
// made against other bytes, is refused by the tensors' names and leaves the folder at the version before it. While bytes are being written no version is
// noted: who is killed then begins again at a whole version. A file lock keeps readers of one machine from each other, so all of them may be told to
// pull; the first does, the others find that it is done.
//
// Shapes: any; tensors are bytes here.
// Units: bytes; versions are numbers from 0.
// Errors: values that name the folder, and the tensors where there are any.
// Sources: docs/formats/wire-updates.md.
package pull
