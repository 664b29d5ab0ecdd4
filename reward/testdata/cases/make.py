"""Writes furlong.jsonl, gsm8k.jsonl, countdown.jsonl and exact.jsonl from the families, and with math, dapo or math-verify as its argument
the rows for that grader, without verdicts, to standard output."""

import json
import sys

import contexts
import families
import others

BOXES = ["\\boxed{%}", "So the answer is $\\boxed{%}$.", "We get\n\n\\[\\boxed{%}\\]", "Thus \\(\\boxed{%}\\) holds."]
PLACES = ["\\boxed{%}", "So the answer is $\\boxed{%}$.", "We get\n\n\\[\\boxed{%}\\]", "Answer: \\boxed{%}", "Answer: $%$", "Answer: %"]


def for_furlong():
    """Each answer of a family in a box; every third right one on a line of its own too."""
    k = 0
    for name, gold, right, wrong in families.FAMILIES:
        for equal, answers in ((True, right), (False, wrong)):
            for text in answers:
                plain = "\n" not in text and "\f" not in text
                yield name, gold, (BOXES[k % 4] if "\n" not in text else BOXES[0]).replace("%", text), equal
                k += 1
                if k % 3 == 0 and plain and equal:
                    yield name + ", line", gold, "Answer: " + text, equal
    yield from families.RESPONSES


def for_published(mode, most=24):
    """At most so many rows of a family, each once. dapo has families of its own."""
    rows, k = [], 0
    for name, gold, right, wrong in families.FAMILIES:
        for text in right + wrong:
            rows.append((name, gold, PLACES[k % 6].replace("%", text)))
            k += 1
    rows += [(name, gold, text) for name, gold, text, _ in families.RESPONSES if gold is not None and not isinstance(gold, list)]
    rows += contexts.rows
    seen, count = set(), {}
    for name, gold, text in rows:
        key = (str(gold), text)
        own = name.startswith("dapo") if mode == "dapo" else name in ("signs", "structure", "once more")
        limit = 10**6 if own else most // 3 if mode == "dapo" else most
        if key in seen or count.get(name, 0) >= limit or name == "huge exponent":
            continue
        seen.add(key)
        count[name] = count.get(name, 0) + 1
        yield name, gold, text


def write(out, name, gold, text, **more):
    print(json.dumps({"gold": gold, "answer": text, **more, "family": name}, ensure_ascii=False), file=out)


if sys.argv[1:]:
    for name, gold, text in for_published(sys.argv[1]):
        write(sys.stdout, name, gold, text)
else:
    for mode, rows in (("furlong", for_furlong()), ("gsm8k", others.GSM8K), ("countdown", others.COUNTDOWN), ("exact", others.EXACT)):
        with open(mode + ".jsonl", "w") as out:
            for name, gold, text, equal in rows:
                write(out, name, gold, text, equal=equal)
