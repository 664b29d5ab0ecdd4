"""Families for gsm8k, countdown and exact, by hand from the rules of docs/rewards.md: (family, gold, answer, verdict)."""

import random

GSM8K, COUNTDOWN, EXACT = [], [], []


def add(rows, name, gold, right=(), wrong=(), null=()):
    for verdict, texts in ((True, right), (False, wrong), (None, null)):
        rows.extend((name, gold, text, verdict) for text in texts)


# gsm8k: as furlong, and behind ####. The label is a number, or a solution that ends with #### and a number.
for number, other in (("42", "24"), ("1234", "1243"), ("-5", "5"), ("0", "1"), ("7.5", "75"), ("1000000", "100000"), ("360", "306"), ("18", "81")):
    for gold in (number, f"Some steps, <<2*3=6>>6 of them.\n#### {number}", f"#### {number}", f" {number} "):
        add(
            GSM8K,
            "hashes",
            gold,
            [f"#### {number}", f"He has what he has.\n#### {number}", f"####{number}", f"#### {other}\n#### {number}", f"so it is\n\n#### {number}\n"],
            [f"#### {other}", f"#### {number}\n#### {other}", f"The answer is {number}", number, f"### {number}", "####", "#### ", "", f"#### {number} or {other}"],
        )
    add(
        GSM8K,
        "other forms",
        number,
        [
            f"\\boxed{{{number}}}",
            f"Answer: {number}",
            f"**Answer:** {number}",
            f"$\\boxed{{{number}}}$",
            f"<think>#### {other}</think>#### {number}",
            f"#### ${number}$",
            f"#### {number}.",
            f"#### **{number}**",
            f"#### \\boxed{{{number}}}",
        ],
        [
            f"\\boxed{{{other}}}",
            f"Answer: {other}",
            f"<think>#### {number}</think>",
            f"<think>#### {number}",
            f"\\boxed{{{number}",
            f"####: {other}",
            f"Final: {number}",
            f"\\boxed{{{other}}}\n#### {number}",
            f"Answer: {other}\n#### {number}",
        ],
    )
add(GSM8K, "thousands", "12,345", ["#### 12,345", "#### 12345", "#### 12345.00", "\\boxed{12{,}345}", "Answer: 12,345"], ["#### 12.345", "#### 12,354", "#### 12", "#### 1,2345"])
add(GSM8K, "thousands", "step\n#### 2,125", ["#### 2125", "#### 2,125", "#### $2,125", "\\boxed{2125}", "#### 2,125 dollars"], ["#### 2.125", "#### 2", "#### 2,215"])
add(GSM8K, "money", "18", ["#### $18", "#### $18.00", "#### \\$18", "#### 18 dollars", "#### 18.0", "Answer: $18", "\\boxed{\\$18}"], ["#### $81", "#### $1.8", "#### $180"])
add(GSM8K, "money", "#### 2.75", ["#### $2.75", "#### 2.75", "#### 11/4", "\\boxed{2.75}"], ["#### 275", "#### $2.57", "#### 2"])
add(
    GSM8K,
    "words behind the number",
    "42",
    ["#### 42 apples", "#### 42 marbles in all", "#### 42 km", "#### 42 hours", "#### 42%", "#### 42 students", "#### 42 is the answer", "#### 42, which is it"],
    ["#### 24 apples", "#### apples 42", "#### about 42", "#### forty-two", "#### no 42", "#### the answer is 42", "Answer: 42 apples", "\\boxed{42 apples}"],
)
add(GSM8K, "value", "0.5", ["#### 1/2", "#### 0.50", "#### .5", "#### 50%"], ["#### 0.05", "#### 5", "#### 2"])
add(
    GSM8K,
    "value",
    "12",
    ["#### 12.0", "#### 012", "#### +12", "#### 24/2", "#### x = 12", "#### 12\u3002", "#### (12)"],
    ["#### 3*4", "#### 10+2", "#### 12.5", "#### 120", "#### -12", "#### 21"],
)
add(GSM8K, "alternatives", ["33", "34"], ["#### 34", "#### 33", "\\boxed{34}"], ["#### 35"])
add(GSM8K, "numbers as gold", 34, ["#### 34", "\\boxed{34}", "#### 34.0"], ["#### 43"])
add(GSM8K, "numbers as gold", 0, ["#### 0", "\\boxed{0}"], ["#### 1"])
add(GSM8K, "numbers as gold", 2.5, ["#### 2.5", "#### 5/2"], ["#### 2"])
for gold in ("", None, "apples", "#### ", "no number #### here", "x+1", "(1,2)", []):
    add(GSM8K, "label is no number", gold, null=["#### 5", "\\boxed{5}"])

# countdown: an expression of + - * / and brackets in which each number stands exactly once and which is the target.
D = random.Random(41)


def gold(nums, target):
    return {"nums": nums, "target": target}


G = gold([2, 5, 8], 50)  # (8+2)*5
add(
    COUNTDOWN,
    "forms",
    G,
    [
        "<answer>(8+2)*5</answer>",
        "<answer> 5 * (2 + 8) </answer>",
        "\\boxed{(8+2)*5}",
        "Answer: (8+2)*5",
        "(8+2)*5",
        "<think>8*5</think><answer>5*(8+2)</answer>",
        "<answer>8*5</answer> no: <answer>(2+8)*5</answer>",
        "<answer>(8+2)\u00d75</answer>",
        "<answer>(8+2)\u00b75</answer>",
        "\\boxed{(8+2)\\times 5}",
        "\\boxed{(8+2)\\cdot5}",
        "\\boxed{\\left(8+2\\right)\\cdot 5}",
        "$\\boxed{5\\times(8+2)}$",
        "<answer>\n(8+2)*5\n</answer>",
        "<answer>((8+2))*5</answer>",
        "<answer>((8)+(2))*(5)</answer>",
        "<answer>(8+2)\n*5</answer>",
        "<answer>[8+2]*5</answer>",
        "<answer>$(8+2)*5$</answer>",
        "The answer:\n<answer>(8 + 2) * 5</answer>\nDone.",
        "**Answer:** (8+2)*5",
        "<answer>(2+8)*5</answer>",
    ],
    [
        "<answer>8*5+2</answer>",
        "<answer>8*5</answer>",
        "<answer>(8+2)*5*1</answer>",
        "<answer>8*5+5*2</answer>",
        "<answer>50</answer>",
        "<answer>5*10</answer>",
        "<answer>(8+2)*5=50</answer>",
        "<answer>50=(8+2)*5</answer>",
        "<answer>(8+2*5</answer>",
        "<answer>8+2)*5</answer>",
        "<answer></answer>",
        "<answer> </answer>",
        "",
        "no idea",
        "<answer>(8+2)5</answer>",
        "<answer>(8+2)^5</answer>",
        "<answer>(8+2)**5</answer>",
        "<answer>(8+2)//5</answer>",
        "<answer>82*5</answer>",
        "<answer>x*5</answer>",
        "<answer>(8+2)*5, or 5*(8+2)</answer>",
        "<answer>(8+2)*5</answer><answer>8+2+5</answer>",
        "<think><answer>(8+2)*5</answer></think>",
        "<answer>(8+2)*5",
        "<answer>eight plus two</answer>",
        "<answer>(8,2)*5</answer>",
        "<answer>(8+2)*5 is 50</answer>",
        "<answer>8 2 5</answer>",
        "<answer>(8+-+2)*/5</answer>",
        "<answer>(8+2)%5</answer>",
        "<answer>\\frac{8}{2}*5</answer>",
        "<answer>sqrt(8+2)*5</answer>",
        "<answer>(8+2)*5!</answer>",
        "<answer>import os</answer>",
    ],
)
add(
    COUNTDOWN,
    "division",
    gold([3, 8, 8, 3], 24),
    ["<answer>8/(3-8/3)</answer>", "<answer>8\u00f7(3-8\u00f73)</answer>", "\\boxed{8\\div(3-8\\div3)}"],
    ["<answer>8/3-8/3</answer>", "<answer>8*3+8/3</answer>", "<answer>8*3*(8-8)</answer>", "<answer>8/(3-3)*8</answer>", "<answer>8/(3-8/3)+0</answer>"],
)
add(
    COUNTDOWN,
    "division",
    gold([1, 3, 6], 2),
    ["<answer>1/3*6</answer>", "<answer>6/3*1</answer>", "<answer>6/(3*1)</answer>", "<answer>6/3/1</answer>"],
    ["<answer>6/3</answer>", "<answer>6-3-1+0</answer>", "<answer>6//3*1</answer>", "<answer>3/6*1</answer>"],
)
add(COUNTDOWN, "division", gold([7, 2], 3.5), ["<answer>7/2</answer>"], ["<answer>7//2</answer>", "<answer>2/7</answer>"])
add(COUNTDOWN, "division", gold([7, 2], 3), [], ["<answer>7/2</answer>", "<answer>7//2</answer>"])
add(
    COUNTDOWN,
    "division by zero",
    gold([0, 5, 5], 1),
    ["<answer>5/5+0</answer>", "<answer>(0+5)/5</answer>"],
    ["<answer>5/0+5</answer>", "<answer>5/(0*5)</answer>", "<answer>0/(5-5)</answer>"],
)
add(
    COUNTDOWN,
    "signs",
    gold([4, 9], 5),
    ["<answer>9-4</answer>", "<answer>-4+9</answer>", "<answer>-(4-9)</answer>", "<answer>9 \u2212 4</answer>", "<answer>+9-4</answer>", "<answer>9+(-4)</answer>"],
    ["<answer>4-9</answer>", "<answer>9--4</answer>", "<answer>9+4</answer>"],
)
add(COUNTDOWN, "signs", gold([4, 9], -5), ["<answer>4-9</answer>", "<answer>-9+4</answer>", "<answer>-(9-4)</answer>"], ["<answer>9-4</answer>", "<answer>-5</answer>"])
add(
    COUNTDOWN,
    "numbers twice",
    gold([6, 6, 3], 39),
    ["<answer>6*6+3</answer>", "<answer>3+6*6</answer>"],
    ["<answer>6*6+3+6-6</answer>", "<answer>6+33</answer>", "<answer>36+3</answer>", "<answer>6*6.5</answer>"],
)
add(COUNTDOWN, "numbers twice", gold([6, 3], 39), [], ["<answer>6*6+3</answer>", "<answer>36+3</answer>", "<answer>6*3</answer>"])
add(COUNTDOWN, "joined digits", gold([1, 2, 3], 36), [], ["<answer>12*3</answer>", "<answer>3*12</answer>", "<answer>(1.2)*30</answer>"])
add(
    COUNTDOWN,
    "large",
    gold([100, 75, 50, 25, 6, 3], 952),
    ["<answer>((100+6)*3*75-50)/25</answer>", "<answer>(75*3*(100+6)-50)/25</answer>"],
    ["<answer>(100+6)*9-2</answer>", "<answer>((100+6)*3*75-50)/25+1</answer>", "<answer>952</answer>", "<answer>(100+6)*3*75/25-50</answer>"],
)
add(COUNTDOWN, "forms of gold", {"nums": ["4", "6"], "target": "24"}, ["<answer>4*6</answer>"], ["<answer>4+6</answer>"])
add(COUNTDOWN, "forms of gold", {"nums": [0.5, 8], "target": 4}, ["<answer>0.5*8</answer>", "<answer>.5*8</answer>"], ["<answer>1/2*8</answer>", "<answer>5*8</answer>"])
for bad in (
    24,
    "24",
    "x",
    "",
    {"target": 9},
    {"nums": [], "target": 9},
    {"nums": ["a"], "target": 9},
    {"nums": [1, 2]},
    {"nums": "1,2", "target": 3},
    {"nums": [1, None], "target": 1},
    None,
):
    add(COUNTDOWN, "label is no countdown", bad, null=["<answer>4*6</answer>"])
for _ in range(70):  # random expressions, whose value is worked out by Python's fractions
    from fractions import Fraction

    n = D.randint(2, 5)
    nums = [D.randint(1, 30) for _ in range(n)]
    parts = [(str(x), Fraction(x)) for x in nums]
    while len(parts) > 1:
        (a, x), (b, y) = (parts.pop(D.randrange(len(parts))) for _ in range(2))
        op = D.choice("+-*/")
        parts.append((f"({a}{op}{b})", x + y if op == "+" else x - y if op == "-" else x * y if op == "*" or y == 0 else x / y))
        if op == "/" and y == 0:
            parts[-1] = (f"({a}*{b})", x * y)
    text, value = parts[0]
    if value.denominator != 1 or abs(value) > 10**9:
        continue
    form = D.choice(["<answer>%</answer>", "\\boxed{%}", "Answer: %", "So <answer> % </answer>."])
    g = gold(nums, int(value))
    add(COUNTDOWN, "random", g, [form.replace("%", text), form.replace("%", text[1:-1]), form.replace("%", text.replace("*", "\u00d7").replace("-", " \u2212 "))])
    add(COUNTDOWN, "random, another target", gold(nums, int(value) + 1), wrong=[form.replace("%", text)])
    add(COUNTDOWN, "random, a number too many", gold(nums + [D.randint(1, 30)], int(value)), wrong=[form.replace("%", text)])
    if n > 2:
        add(COUNTDOWN, "random, a number too few", gold(nums[1:], int(value)), wrong=[form.replace("%", text)])

# exact: what the response says behind its thoughts is the label, blanks around both and end tokens aside.
for label in (
    "34",
    "Paris",
    "x^2+1",
    "\\frac{1}{2}",
    "a b  c",
    "True",
    "\u5317\u4eac",
    "line one\nline two",
    "\\boxed{7}",
    "#### 5",
    "[1, 2]",
    "{}",
    "0",
    "-0",
    "3.10",
    "Answer: 4",
    "<b>x</b>",
    "\u00e9t\u00e9",
    "$5",
    '"quoted"',
    "1,000",
    "\\text{no}",
    "tab\there",
    "C",
    "null",
    "a" * 500,
    "\\",
    "{",
    "</answer>",
    "#",
):
    others = [
        label + "x",
        "x" + label,
        label[:-1],
        "So " + label,
        label + ".",
        f"\\boxed{{{label}}}",
        f"Answer: {label}",
        f"<think>{label}</think>",
        f"<think>{label}",
        label + "\n" + label,
        "",
    ]
    if label.swapcase() != label:
        others.append(label.swapcase())
    add(
        EXACT,
        "exact",
        label,
        [
            label,
            f" {label} ",
            f"{label}\n",
            f"\n\n{label}",
            f"<think>hm</think>{label}",
            f"</think>\n{label}\n",
            label + "<|im_end|>",
            label + "</s>",
            label + "<\uff5cend\u2581of\u2581sentence\uff5c>",
        ],
        others,
    )
add(EXACT, "alternatives", ["5", "five"], ["5", "five", "<think>6</think>five"], ["Five", "5, five", "6"])
add(EXACT, "numbers as gold", 34, ["34", " 34"], ["34.0", "034", "+34", "\uff13\uff14"])
add(EXACT, "numbers as gold", 2.50, ["2.5"], ["2.50", "5/2"])
add(EXACT, "numbers as gold", 0, ["0"], ["-0", "0.0", "00"])
add(EXACT, "no rules of mathematics", "1/2", ["1/2"], ["0.5", "\\frac12", "2/4", "1 / 2"])
add(EXACT, "no rules of mathematics", "x+1", ["x+1"], ["1+x", "x + 1", "X+1"])
for empty in ("", "  ", "\n", None, []):
    add(EXACT, "label is empty", empty, null=["34", ""])
