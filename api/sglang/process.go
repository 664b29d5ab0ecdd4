package sglang

// ProcessHeader is the header of answers in which a server of ours names its process: a text that no other process has. Who has given a server weights sees by it at once that it was
// started anew, whatever the new one calls its weights. SGLang has no such header.
const ProcessHeader = "Furlong-Process"
