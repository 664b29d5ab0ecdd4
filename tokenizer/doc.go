// Package tokenizer turns text into token ids and back, and conversations into text.
//
// [Bytes] is the tokenizer of the small recipes: each byte of UTF-8 is a token, so that nothing has to be learnt or
// loaded and every text has exactly one spelling. Special tokens (begin, end, padding) are ids that no text encodes to:
// a response cannot forge its own end by writing it out. What decodes text while it is still being generated uses a
// [Stream], which holds back the bytes of an unfinished character.
//
// Shapes: one id per token; a text's ids stand in its order.
// Units: ids count from 0; [Tokenizer.Size] is the number of rows of the embedding, reserved ids included.
// Errors: encoding and decoding cannot fail; an id outside the vocabulary decodes to U+FFFD. Rendering a conversation can.
// Sources: ours; byte tokens with specials from 256 follow ByT5 (arXiv:2105.13626) in the idea, not in the numbering.
package tokenizer
