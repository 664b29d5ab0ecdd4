"""Answers questions about the tokenizers library, one JSON value a line.

library.py dir NAME     prints the directory of a package that carries a tokenizer.json
library.py encode DIR   reads {"text": base64 of bytes} and prints {"special": ids, "plain": ids, "named": text, "unnamed": text}

"special" are the ids as the library gives them, "plain" those of the same file without its added tokens; the texts are
what the first decode to, with and without special tokens, in base64. Bytes are decoded with errors="replace".
"""

import base64
import importlib.util
import json
import os
import sys

import tokenizers


def directory(name):
    print(json.dumps({"dir": os.path.dirname(importlib.util.find_spec(name).origin), "version": tokenizers.__version__}))


def encode(path):
    with open(os.path.join(path, "tokenizer.json"), encoding="utf-8") as f:
        spec = json.load(f)
    special = tokenizers.Tokenizer.from_str(json.dumps(spec))
    spec["added_tokens"] = []
    plain = tokenizers.Tokenizer.from_str(json.dumps(spec))
    b64 = lambda s: base64.b64encode(s.encode("utf-8")).decode("ascii")
    for line in sys.stdin:
        text = base64.b64decode(json.loads(line)["text"]).decode("utf-8", errors="replace")
        ids = special.encode(text, add_special_tokens=False).ids
        print(json.dumps({
            "special": ids,
            "plain": plain.encode(text, add_special_tokens=False).ids,
            "named": b64(special.decode(ids, skip_special_tokens=False)),
            "unnamed": b64(special.decode(ids, skip_special_tokens=True)),
        }))


if __name__ == "__main__":
    {"dir": directory, "encode": encode}[sys.argv[1]](sys.argv[2])
