"""Trains testdata/tiny/tokenizer.json on testdata/corpus.txt. Made with tokenizers 0.23.3.

Its special and added tokens are a few of DeepSeek's, with their flags, behind the ids of the merges.
"""

import json
import os

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
SPLITS = [
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]
SPECIAL = ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"]
NORMALIZED = ["<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", "｜DSML｜", "<｜latest_reminder｜>"]
RAW = ["<｜image｜>", "<｜image｜><｜tr｜>", "<｜tr｜>"]


def train():
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.Sequence([])
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(s), "isolated") for s in SPLITS]
        + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    tok.train([os.path.join(HERE, "corpus.txt")], trainers.BpeTrainer(
        vocab_size=700, min_frequency=2, show_progress=False, special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tok.add_tokens([AddedToken(s, normalized=True) for s in NORMALIZED])
    tok.add_tokens([AddedToken(s, normalized=False) for s in RAW])
    return tok


def write_config(name, value):
    with open(os.path.join(HERE, "tiny", name), "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, indent=1)
        f.write("\n")


if __name__ == "__main__":
    os.makedirs(os.path.join(HERE, "tiny"), exist_ok=True)
    tiny = train()
    tiny.save(os.path.join(HERE, "tiny", "tokenizer.json"), pretty=False)
    write_config("tokenizer_config.json", {"bos_token": SPECIAL[0], "eos_token": {"content": SPECIAL[1], "lstrip": False},
                                           "pad_token": SPECIAL[2], "add_bos_token": False, "model_max_length": 4096,
                                           "clean_up_tokenization_spaces": False})
    write_config("generation_config.json", {"bos_token_id": 0, "eos_token_id": [1, tiny.token_to_id("<｜User｜>")]})
