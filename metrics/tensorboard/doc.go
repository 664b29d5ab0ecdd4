// Package tensorboard writes scalars in the event files that TensorBoard reads.
//
// An event file is a row of records. A record is the length of its data, a masked checksum of that length, the data, and a masked checksum of the
// data; the data is one Event message, of which scalars need a handful of fields, so the messages are put together by hand. Each start of a run
// begins a file of its own in the same folder. A start that goes back to an earlier cycle says so in its file, and
// TensorBoard then forgets what the broken-off start wrote from that cycle on, instead of drawing a zigzag.
//
// Shapes: one value a tag and step.
// Units: steps are cycles; times are seconds since 1970; values are stored as float32.
// Errors: values that name the file.
// Sources: the record format of TensorFlow's TFRecord (length and CRC-32C, masked) and the fields of its event.proto and summary.proto.
package tensorboard
