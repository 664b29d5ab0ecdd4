"""Runs published graders over rows {"answer", "gold"} from standard input and adds their verdicts.

Usage: python measure.py FOLDER < rows.jsonl > verdicts.jsonl
FOLDER holds math_utils.py, math_dapo_utils.py and deepscaler.py of Miles, the last one importing from math_utils.
"""

import json
import re
import signal
import sys

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

sys.path.insert(0, sys.argv[1])
import deepscaler  # noqa: E402
import math_dapo_utils  # noqa: E402
import math_utils  # noqa: E402


def dapo(answer, gold):
    lines = re.findall(r"(?i)Answer\s*:\s*([^\n]+)", answer[-300:])
    said = math_dapo_utils.normalize_final_answer(lines[-1] if lines else "[INVALID]")
    want = int(float(math_dapo_utils.normalize_final_answer(gold)))  # raises for what is no number
    return said == str(want)


def math_verify(answer, gold):
    want = parse("\\boxed{" + gold + "}", [LatexExtractionConfig()], parsing_timeout=None)
    said = parse(answer, [ExprExtractionConfig(), LatexExtractionConfig()], parsing_timeout=None)
    return verify(want, said, timeout_seconds=None)


def mark(grader, answer, gold):
    signal.alarm(10)
    try:
        return str(int(bool(grader(answer, gold))))
    except Exception:
        return "E"
    finally:
        signal.alarm(0)


def deepscaler_after_thoughts(answer, gold):
    return deepscaler.get_deepscaler_rule_based_reward("</think>" + answer, gold)


def late(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, late)
graders = [math_utils.grade_answer_verl, deepscaler_after_thoughts, dapo, math_verify]
for line in sys.stdin:
    row = json.loads(line)
    row["verdicts"] = "".join(mark(g, row["answer"], row["gold"]) for g in graders)
    print(json.dumps(row, ensure_ascii=False))
