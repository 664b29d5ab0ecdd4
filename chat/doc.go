// Package chat renders conversations into prompts and takes answers apart.
//
// A model of the chat kind has read, for each turn, a mark of whose turn it is and then the text; what it writes after
// the assistant's mark is the answer. A [Template] lays messages, tools and options out that way. The marks are tokens
// of their own, and a [Prompt] keeps them apart from text: whoever writes <｜Assistant｜> or ｜DSML｜ in a message has
// written these letters, and no turn ends. So prompts are encoded from pieces, never from one string. The answer is the
// ids that were sampled; nothing here turns text of an answer into ids.
//
// [DeepSeek] is the format of DeepSeek-V4, [Plain] that of models that know none. A [Parser] parts an answer into
// thoughts, content and tool calls while it comes, given the [Start] that rendering left it at. Where text is not
// certain yet, as the beginning of a mark may be, it is held back. Calls come whole, so that no client sees half of one;
// what looks like calls and can't be read ends up in the content, with an error beside it.
//
// Of DeepSeek-V4's format, this is certain: the marks; that the system text comes first and unmarked; <think> after the
// assistant's mark when it thinks and </think> when it doesn't; that thoughts before the last question go unless there
// are tools; that what tools give joins the user's turn in the order of the calls; one element a call and one an
// argument. The following is our reading, and a test against the encoder of a checkpoint would settle it:
//   - the tag tool_calls around calls (function_calls is read too), two line ends before it and one between its parts;
//     a call without arguments has an empty line;
//   - two line ends between parts of one turn, and before the text about tools, which follows the first system message,
//     or stands alone where there is none;
//   - a developer's turn is marked as a user's and joins no other;
//   - every turn of the assistant has its mark, wherever it stands;
//   - schemas and arguments are written with a blank after colons and commas, keys in the order given, numbers verbatim;
//   - a turn that is to be continued and has only thoughts goes on thinking;
//   - a forced call is the opening of its block in the prompt, without thinking;
//   - the efforts low, medium and high add nothing;
//   - the names under which the texts about tools and about effort stand in a checkpoint's encoder.
//
// The six task tokens are not supported.
//
// Shapes: pieces, turns and calls stand in the order of the conversation.
// Units: none.
// Errors: values that name the message, tool or option, what it is and what is wanted. Options that would have no
// effect are errors. A parser never fails; it says what it could not read.
// Sources: the chat format published with DeepSeek-V4; the shapes of messages and tools are those of OpenAI's interface.
package chat
