"""Adds the verdict of a published grader to rows {"gold", "answer", "family"} from standard input. An exception is a wrong answer.

Usage: python measure.py math|dapo|math-verify FOLDER < rows.jsonl > MODE.jsonl
FOLDER holds math_utils.py and math_dapo_utils.py of Miles.
"""

import json
import signal
import sys

mode, folder = sys.argv[1:]
sys.path.insert(0, folder)
if mode == "math-verify":
    import logging

    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    logging.disable(logging.CRITICAL)

    def right(answer, gold):
        want = parse("\\boxed{" + str(gold) + "}", [LatexExtractionConfig()], parsing_timeout=None)
        said = parse(answer, [ExprExtractionConfig(), LatexExtractionConfig()], parsing_timeout=None)
        return verify(want, said, timeout_seconds=None)

elif mode == "math":
    from math_utils import grade_answer_verl as right
else:
    import math_dapo_utils

    def right(answer, gold):
        return math_dapo_utils.compute_score(answer, gold)["acc"]


def late(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, late)
for line in sys.stdin:
    row = json.loads(line)
    signal.alarm(6)
    try:
        equal = bool(right(row["answer"], row["gold"]))
    except TimeoutError:
        continue
    except Exception:
        equal = False
    finally:
        signal.alarm(0)
    print(json.dumps({"gold": row["gold"], "answer": row["answer"], "equal": equal, "family": row["family"]}, ensure_ascii=False), flush=True)
