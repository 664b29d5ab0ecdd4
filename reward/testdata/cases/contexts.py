"""Responses for the published graders, without verdicts: (family, gold, response). measure.py adds what the originals say."""

import random

rows = []


def c(family, gold, *answers):
    rows.extend((family, gold, text) for text in answers)


# sentences
for g, w in (("42", "24"), ("3.5", "5.3"), (r"\frac{3}{8}", r"\frac{8}{3}"), ("-6", "6"), (r"2\sqrt{5}", r"5\sqrt{2}"), ("x+3", "x-3"), ("1500", "15000"), ("12.5", "125")):
    plain = g.replace(r"\frac{3}{8}", "3/8")
    for v in (g, w):
        c(
            "sentence",
            g,
            f"The final answer is ${v}$.",
            f"The final answer is ${v}$. I hope it is correct.",
            f"The answer is ${v}$",
            f"So the answer is {v}.",
            f"Therefore, the answer is: ${v}$.",
            f"We conclude that $y = {v}$.",
            f"Hence $y={v}$ and we are done.",
            f"**Final Answer**\n\n$${v}$$",
            f"**Answer: ${v}$**",
            f"Answer:\n${v}$",
            f"The value is \\({v}\\).",
            f"\\[{v}\\]",
            f"{v}",
            f"It is ${v}$, not $99$.",
            f"First $99$, finally ${v}$",
            f"Answer: the result is ${v}$",
            f"The final answer is: $\\boxed{{{v}}}$",
            f"final answer: {v}",
            f"The answer is \\textbf{{{v}}}.",
            f"answer = {v}",
            f"= {v}",
            f"x = {v}",
            f"thus {v} is it",
            f"<answer>{v}</answer>",
        )
c("several", "1,2", r"$1$ and $2$", r"$x=1$ or $x=2$", r"\boxed{1} and \boxed{2}", r"\boxed{1}, \boxed{2}", r"$2$, $1$", r"The answers are $1$ and $2$.", r"\boxed{1} \boxed{2}", r"\boxed{2}", r"1 and 2")
c("several", "3", r"$1+1+1$", r"\boxed{1}, so \boxed{3}", r"$2$ then $3$", r"$3$ then $2$", r"\boxed{3}\boxed{3}", r"\boxed{3} and \boxed{3}")
# numbers in text
for g in ("7", "70", "0.7", "7.5", "1,234", "1000000"):
    c(
        "in text",
        g,
        f"There are {g} apples.",
        f"He pays ${g} for it",
        f"It costs ${g}.",
        f"{g}%",
        f"about {g}",
        f"total: {g}",
        f"total={g}",
        f"1 + 2 = {g}",
        f"step 1: 3 step 2: {g}",
        f"{g} or more",
        f"({g})",
        f"[{g}]",
        f"n={g},",
        f"{g}.",
        f"{g}!",
        f"{g}?",
        f"is {g}\n",
        f"-{g}",
        f"{g}th",
        f"{g}km",
        f"{g} km",
        f"{g}/2",
        f"a {g} b {g} c",
        f"no. {g}, then 3",
    )
# dapo
for g in ("7", "-12", "1234", "0", "100", "3.0", "12.7", "1,000", "1e3", "007", "$5$", "x=9", r"\boxed{8}", "8 cm", " 6 ", "+4", "٣"):
    b = g.strip()
    c(
        "dapo label",
        g,
        f"Answer: {b}",
        f"Answer: ${b}$",
        f"Answer: \\boxed{{{b}}}",
        f"Answer: {b}.",
        f"answer:{b}",
        f"Answer: {b} units",
        f"Answer: 7",
        f"Answer: 12",
        f"Answer: 1000",
        f"Answer: 3",
        f"Answer: 9",
        f"Answer: 8",
        f"Answer: 4",
        f"Answer: 6",
    )
for g in ("7", "1234"):
    for f in (
        "Answer: % dollars",
        "Answer: \\$%",
        "Answer: %\\text{ cm}",
        "Answer: %^\\circ",
        "Answer: % degrees",
        "Answer: x = %",
        "Answer: a = b = %",
        "Answer: an %",
        "Answer: a %",
        "Answer: the %",
        "Answer: % % ",
        "Answer: %, or so",
        "Answer: {%}",
        "Answer: \\text{%}",
        "Answer: \\textbf{%}",
        "Answer: \\mathbf{%}",
        "Answer: \\overline{%}",
        "Answer: (%)",
        "Answer: [%]",
        "Answer: +%",
        "Answer: %.0",
        "Answer: 0%",
        "Answer: %,",
        "Answer: ,%",
        "Answer: $%$ is right",
        "Answer: so $%$.",
        "Answer: \\(%\\)",
        "Answer: \\[%\\]",
        "Answer: \\boxed{%}.",
        "Answer: $\\boxed{%}$.",
        'Answer: "%"',
        "Answer: %\\%",
        "Answer: %%",
        "Answer: % minutes",
        "Answer: % square feet",
        "Answer: % students",
        "Answer: %km",
        "Answer: %m",
        "Answer: %\\text{m}",
        "Answer: %\\text{s}",
        "Answer: %\\mathrm{th}",
        "Answer: %th",
        "Answer: %\\ldots",
        "Answer: %\\;",
        "Answer: %\\,",
        "Answer: %\\ ",
        "Answer: %\t",
        "Answer: % \r",
        "Answer:\n%",
        "Answer:\n\n%",
        "Answer :%",
        "Answer  :  %",
        "ANSWER: %",
        "answer: %",
        "The Answer: %",
        "Answer=%",
        "Answer %",
        "Answer - %",
        "answers: %",
        "Answer: 1\nAnswer: %",
        "Answer: %\nAnswer: 1",
        "Answer: %\nDone.",
        "Answer: %<|im_end|>",
        "Answer: %<|endoftext|>",
        "Answer: %</s>",
        "<think>Answer: 1</think>Answer: %",
        "<think>Answer: %</think>",
        "\\boxed{%}",
        "**Answer:** %",
        "**Answer**: %",
        "Answer: **%**",
        "Answer: %;",
        "Answer: %!",
        "Answer：%",
        "Answer: %。",
        "Answer: ４",
        "Answer: six",
        "Answer:",
        "Answer: Answer: %",
        "my answer: % and more",
        "Answer: %=%",
        "Answer: 3+4=%",
        "Answer: %\u00a0",
        "Answer:\u00a0%",
        "Answer: −%",
        "Answer: - %",
        "Answer: -%",
    ):
        c("dapo forms", g, f.replace("%%", "\x00").replace("%", g).replace("\x00", g + "%"))
    for n in (250, 280, 290, 294, 300, 310, 600):
        c("dapo window", g, f"Answer: {g}" + " " * 0 + "." * 0 + "\n" + "z" * n, "Answer: 5\n" + "z" * n + f"\nAnswer: {g}", "é" * n + f"\nAnswer: {g}")
c(
    "dapo numbers",
    "1234",
    "Answer: 1,234",
    "Answer: 1{,}234",
    "Answer: 1\\,234",
    "Answer: 1,\\!234",
    "Answer: 12,34",
    "Answer: ,1,2,3,4",
    "Answer: 1234.0",
    "Answer: 1.234e3",
    "Answer: 1 234",
    "Answer: １２３４",
    "Answer: ١٢٣٤",
    "Answer: 12³4",
    "Answer: frac1234",
    "Answer: $1234",
    "Answer: 1234$",
    "Answer: $1$ $1234$",
    "Answer: $1234$ $1$",
    "Answer: 1234 dollarsquare",
)
c("dapo long", "123456789012345678901", "Answer: 123456789012345678901", "Answer: 123456789012345683968")
c("dapo long", "9007199254740993", "Answer: 9007199254740993", "Answer: 9007199254740992")
# random polynomials, fractions, and so on
rnd = random.Random(20261130)


def poly(cs, v):
    out = ""
    for i, k in enumerate(cs):
        p = len(cs) - 1 - i
        if k == 0:
            continue
        s = "+" if k > 0 else "-"
        m = "" if abs(k) == 1 and p else str(abs(k))
        out += (s if out or k < 0 else "") + m + (v if p == 1 else f"{v}^{p}" if p and rnd.random() < 0.5 else f"{v}^{{{p}}}" if p else "")
    return out or "0"


for k in range(60):
    a, b, d, e = [rnd.randint(-9, 9) or 2 for _ in range(4)]
    v = rnd.choice("xyntk")
    cs = [a * d, a * e + b * d, b * e]
    good = f"({poly([a,b],v)})({poly([d,e],v)})"
    bad = f"({poly([a,b],v)})({poly([d,-e],v)})"
    g = poly(cs, v)
    c("random polynomial", g, f"\\boxed{{{good}}}", f"$\\boxed{{{bad}}}$", f"\\boxed{{{poly(cs,v)}}}")
for k in range(60):
    p, q = rnd.randint(-60, 60), rnd.randint(2, 40)
    m = rnd.randint(2, 6)
    g = rnd.choice([f"\\frac{{{p}}}{{{q}}}", f"{p}/{q}", f"\\dfrac{{{p}}}{{{q}}}"])
    c("random fraction", g, f"\\boxed{{{p}/{q}}}", f"\\boxed{{\\frac{{{p*m}}}{{{q*m}}}}}", f"\\boxed{{{p/q}}}", f"\\boxed{{{round(p/q,3)}}}", f"\\boxed{{\\tfrac{{{p}}}{{{q}}}}}", f"\\boxed{{\\frac{{{p+1}}}{{{q}}}}}")
for k in range(40):
    a, b, n = rnd.randint(2, 9), rnd.randint(2, 9), rnd.choice([2, 3, 5, 6, 7])
    g = f"{a}\\sqrt{{{n}}}"
    c("random root", g, f"\\boxed{{\\sqrt{{{a*a*n}}}}}", f"$\\boxed{{\\sqrt{{{n}}}\\cdot {a}}}$", f"\\boxed{{{a}\\sqrt{{{n+1}}}}}", f"\\boxed{{\\frac{{{a*n}}}{{\\sqrt{{{n}}}}}}}", f"\\boxed{{{(a*a*n)**.5:.4f}}}")
for k in range(40):
    xs = [rnd.randint(-20, 20) for _ in range(rnd.randint(2, 4))]
    ys = xs[:]
    rnd.shuffle(ys)
    j = ",".join
    s = [str(x) for x in xs]
    t = [str(y) for y in ys]
    g = rnd.choice([f"({j(s)})", f"\\{{{j(s)}\\}}", j(s), f"[{j(s)}]"])
    c("random tuple", g, *[f"\\boxed{{{f}}}" for f in (f"({', '.join(s)})", f"\\left({j(s)}\\right)", f"\\{{{j(t)}\\}}", j(t), ", ".join(s), f"[{j(s)}]", f"({j(t)})", " and ".join(s), f"x={j(s)}")])
for k in range(25):
    a, b = sorted(rnd.sample(range(-15, 16), 2))
    l, r = rnd.choice("(["), rnd.choice(")]")
    g = f"{l}{a},{b}{r}"
    c(
        "random interval",
        g,
        *[
            f"\\boxed{{{f}}}"
            for f in (
                f"{l}{a}, {b}{r}",
                f"x\\in{l}{a},{b}{r}",
                f"{a}{'<' if l=='(' else chr(92)+'le '}x{'<' if r==')' else chr(92)+'le '}{b}",
                f"({a},{b}]",
                f"[{a},{b})",
                f"\\left{l}{a},{b}\\right{r}",
                f"{l}{a}.0,{b}{r}",
            )
        ],
    )
for k in range(25):
    a, b = rnd.randint(-12, 12) or 3, rnd.randint(-12, 12) or 5
    g = f"{a}{b:+}i"
    c("random complex", g, *[f"\\boxed{{{f}}}" for f in (f"{b}i{a:+}", f"{a} {'+' if b>0 else '-'} {abs(b)}i", f"{a}{-b:+}i", f"({a},{b})", f"{b}{a:+}i", f"i({b})+{a}")])
for k in range(25):
    e = rnd.randint(-8, 12)
    m = rnd.randint(11, 99) / 10
    g = f"{m}\\times 10^{{{e}}}"
    c("random scientific", g, *[f"\\boxed{{{f}}}" for f in (f"{m}\\cdot10^{{{e}}}", f"{m}e{e}", f"{m}\\times10^{{{e+1}}}", f"{m}E{e}", f"{m}\\times 10^{e}")])
# structures
S = [
    (r"\log_{2}8", ["3", r"\log_2 8", r"\log_2(8)", r"\frac{\ln 8}{\ln 2}"]),
    (r"\ln 2", [r"\log 2", r"\ln(2)", r"0.6931", r"\log_e 2"]),
    (r"\sin\frac{\pi}{6}", ["1/2", r"\frac12", "0.5", r"\sin 30^\circ", r"\sin(30^\circ)"]),
    (r"\tan^{-1}(1)", [r"\frac{\pi}{4}", r"\arctan 1", r"45^\circ"]),
    (r"5!", ["120", "5!", r"1\cdot2\cdot3\cdot4\cdot5"]),
    (r"\binom{6}{2}", ["15", r"{6 \choose 2}", r"C(6,2)", r"\frac{6!}{2!4!}"]),
    (r"\sum_{k=1}^{4}k", ["10", r"\sum_{i=1}^4 i"]),
    (r"\int_0^1 x dx", ["1/2"]),
    (r"|{-4}|", ["4", "|4|"]),
    (r"\lfloor 3.7\rfloor", ["3", r"\lfloor 3\rfloor", "3.7"]),
    (
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
        [
            r"\begin{bmatrix}1&2\\3&4\end{bmatrix}",
            r"\begin{pmatrix}1&2\\3&5\end{pmatrix}",
            r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}",
            r"\begin{matrix}1&2\\3&4\end{matrix}",
            r"\begin{array}{cc}1&2\\3&4\end{array}",
            r"(1,2,3,4)",
            r"\left(\begin{array}{cc}1&2\\3&4\end{array}\right)",
            r"\left[\begin{matrix}1&2\\3&4\end{matrix}\right]",
        ],
    ),
    (r"\begin{pmatrix}x\\2x\end{pmatrix}", [r"\begin{pmatrix}x\\x+x\end{pmatrix}", r"\begin{pmatrix}x\\2y\end{pmatrix}", r"(x,2x)"]),
    (r"y=3x-2", ["y=-2+3x", "3x-2", "3x-y=2", "3x-y-2=0", "y+2=3x", "x=(y+2)/3", "y=3x+2", "f(x)=3x-2", r"y = 3x - 2", "2y=6x-4", "y-3x=-2"]),
    (r"x^2+y^2=9", ["y^2+x^2=9", "x^2+y^2-9=0", "9=x^2+y^2", "x^2+y^2=3^2", "x^2+y^2=3", r"2x^2+2y^2=18"]),
    (r"x\ge 4", [r"x\geq4", "4\\le x", "[4,\\infty)", "x>4", r"x\in[4,\infty)", "x\\geqslant 4", "x=4", "4", r"2x\ge8"]),
    (r"-2<x<5", ["(-2,5)", r"x\in(-2,5)", "5>x>-2", r"-2\le x<5", r"x>-2 \text{ and } x<5", "-2<x"]),
    (r"x\ne 3", [r"x\neq 3", r"3\ne x", "x=3", r"(-\infty,3)\cup(3,\infty)"]),
    (r"(0,\infty)", ["x>0", "0<x", r"x\in(0,\infty)", r"(0,+\infty)", r"[0,\infty)", r"\mathbb{R}^+"]),
    (r"\{1,2\}\cup\{3\}", [r"\{1,2,3\}", r"\{3\}\cup\{1,2\}"]),
    (r"\mathbb{R}", [r"\mathbb R", r"(-\infty,\infty)", "R", "\\text{all real numbers}"]),
    (r"\emptyset", [r"\{\}", r"\varnothing", "0", r"\text{empty set}"]),
    (r"\text{north}", ["north", r"\text{North}", r"\text{ north }", "south", r"\mathrm{north}"]),
    (r"\text{B}", ["B", "(B)", "b", r"\textbf{B}", r"\text{(B)}", "C", r"\mathbf{B}", r"\text{B. }"]),
    ("A, C", ["A,C", "C, A", "AC", r"\text{A and C}", r"\text{A, C}"]),
    ("12:45", ["12:45", r"12{:}45", "12.75", "45:12", r"\text{12:45}"]),
    ("2:3", [r"2:3", r"\frac23", "4:6", "3:2", "2 : 3"]),
    (r"7\frac{1}{4}", ["29/4", "7.25", r"\frac{29}{4}", r"7+\frac14", r"7 1/4", r"7\tfrac14"]),
    (r"0.\overline{6}", ["2/3", r"\frac23", r"0.\overline{6}", "0.666667", r"0.6\ldots"]),
    (r"1.2\%", ["1.2", "0.012", "1.2%", r"1.2\text{ percent}", "120\\%"]),
    (r"\$3.50", ["3.5", "3.50", r"\$3.5", "$3.50", r"3.50 \text{ dollars}"]),
    ("100^\\circ", ["100", r"100^{\circ}", "100°", r"100\text{ degrees}", r"\frac{5\pi}{9}"]),
    ("8\\text{ cm}", ["8", "8 cm", r"8\,\text{cm}", r"8\text{ m}", r"8\mathrm{cm}"]),
    ("a^2b", ["ba^2", "a a b", "a^2 b", r"a^2\cdot b", "ab^2", "A^2B"]),
    ("a+b", ["b+a", "a-b", "A+B", "ab"]),
    (r"\frac{1}{1+x}", ["1/(1+x)", "1/1+x", r"\frac{1}{x+1}", r"(1+x)^{-1}"]),
    ("e^{x+1}", [r"e\cdot e^x", r"\exp(x+1)", "e^{1+x}", "e^x+1"]),
    ("2^x", ["4^{x/2}", "x^2", "2^{x}"]),
    (r"\sqrt{x}", ["x^{1/2}", r"x^{\frac12}", "x^{0.5}"]),
    (r"\sqrt{2}+\sqrt{3}", [r"\sqrt{3}+\sqrt{2}", r"\sqrt{5}", r"\sqrt{5+2\sqrt{6}}", "3.146"]),
    (r"\frac{3+\sqrt{5}}{2}", [r"\frac{\sqrt5+3}{2}", r"\frac32+\frac{\sqrt5}{2}", r"1.5+\frac{\sqrt5}{2}", "2.618", r"\left(\frac{1+\sqrt5}{2}\right)^2"]),
    ("n(n-1)", ["n^2-n", "n(n+1)", r"n\cdot(n-1)", "n*n-n"]),
    (r"\alpha+\beta", [r"\beta+\alpha", "a+b", r"α+β"]),
    (r"x_1", ["x_1", "x_{1}", "x1", "x_2"]),
    ("\\pi r^2", ["r^2\\pi", "πr^2", "\\pi R^2", "3.14r^2"]),
    ("-\\frac{b}{2a}", ["-b/(2a)", "-b/2a", r"\frac{-b}{2a}", r"\frac{b}{-2a}"]),
    ("1\\,000", ["1000", "1,000", r"1{,}000", "1 000"]),
    ("3,000,000", ["3000000", r"3\times10^6", "3 million", r"3{,}000{,}000"]),
    ("0.1", [".1", "1/10", "10^{-1}", "0.10", r"10\%"]),
    ("11_2", ["3", "11", "11_{2}"]),
    ("5:30 \\text{ p.m.}", ["5:30", r"5:30\text{ PM}", "17:30"]),
    ("True", ["true", "\\text{True}", "False"]),
    ("2\\text{ and }3", ["2,3", "3,2", r"2\text{ or }3", "2 and 3"]),
    ("x=4", ["4", "x=4", "y=4", r"x = 4.0", "4=x"]),
    ("x=1,2", ["1,2", "x=2,1", r"x=1\text{ or }x=2", "(1,2)"]),
    ("(x,y)=(1,2)", ["(1,2)", "x=1,y=2", "(x,y)=(1,2)", "(2,1)"]),
    ("\\pm 5", ["5,-5", "-5,5", r"\pm5", "5", r"\{5,-5\}"]),
    ("1+\\sqrt2, 1-\\sqrt2", [r"1\pm\sqrt2", r"1-\sqrt2,1+\sqrt2"]),
    ("\\frac{0}{5}", ["0", "0.0"]),
    ("\\frac{5}{0}", ["0", r"\infty", r"\text{undefined}"]),
    ("10^{12}", ["1000000000000", "1e12", r"1\,000\,000\,000\,000"]),
    ("2^{64}", ["18446744073709551616", "2^{64}", "4^{32}"]),
    ("7", ["7.0000001", "7.00000001", "7.000000001", "6.9999999"]),
    ("0.333333", ["1/3", "0.3333333", "0.33333", r"\frac13"]),
    ("1/3", ["0.333333", "0.33333333333333", "0.3"]),
    ("2.718282", ["e", "2.71828183"]),
    ("\\sqrt{2}", ["1.414214", "1.41421356"]),
    ("100", ["1e2", "10^2", "100.", "1.0e2", "1E2", r"\text{100}", "1OO"]),
]
forms = ["\\boxed{%}", "So $\\boxed{%}$.", "$%$", "Answer: $%$"]
k = 0
for g, aa in S:
    for a in aa:
        c("structure", g, forms[k % 4].replace("%", a))
        k += 1
        c("structure", g, "\\boxed{" + a + "}")

# Commands, signs, words and decimals, one by one.
SIGNS = r"""
x- 3 ;; \boxed{x−3}
x- 3 ;; \boxed{x–3}
x\times 3 ;; \boxed{x×3}
x\cdot 3 ;; \boxed{x·3}
x\cdot 3 ;; \boxed{x⋅3}
x* 3 ;; \boxed{x∗3}
x\div 3 ;; \boxed{x÷3}
x/ 3 ;; \boxed{x⁄3}
x/ 3 ;; \boxed{x∕3}
x\le 3y ;; \boxed{x≤3y}
x\le 3y ;; \boxed{x⩽3y}
x\ge 3y ;; \boxed{x≥3y}
x\ge 3y ;; \boxed{x⩾3y}
x= 3y ;; \boxed{x＝3y}
x\ne 3 ;; \boxed{x≠3}
x\in A ;; \boxed{x∈A}
(1,2)\cup(3,4) ;; \boxed{(1,2)∪(3,4)}
(1,2)\cap(1,4) ;; \boxed{(1,2)∩(1,4)}
A\setminus B ;; \boxed{A∖B}
x\pm 3 ;; \boxed{x±3}
\infty ;; \boxed{∞}
2\pi ;; \boxed{2π}
\sqrt{3} ;; \boxed{√3}
\sqrt{3} ;; \boxed{√{3}}
\emptyset ;; \boxed{∅}
30^\circ ;; \boxed{30°}
\mathbb{R} ;; \boxed{ℝ}
(3,4) ;; \boxed{（3,4）}
(3,4) ;; \boxed{(3，4)}
3:4 ;; \boxed{3：4}
3:4 ;; \boxed{3∶4}
3\% ;; \boxed{3％}
3+4 ;; \boxed{3＋4}
3-4 ;; \boxed{3－4}
\langle 3,4\rangle ;; \boxed{⟨3,4⟩}
\lfloor x\rfloor ;; \boxed{⌊x⌋}
x' ;; \boxed{x′}
x^2 ;; \boxed{x²}
x^3 ;; \boxed{x³}
x^{10} ;; \boxed{x¹⁰}
\frac{1}{2} ;; \boxed{½}
\theta ;; \boxed{θ}
\alpha ;; \boxed{α}
\beta ;; \boxed{β}
5 ;; \boxed{５}
\$5 ;; \boxed{€5}
5 ;; \boxed{£5}
5 ;; \boxed{¥5}
5 ;; \boxed{$5}
3 ;; \boxed{3 }
3 ;; \boxed{3​}
x ;; \boxed{х}
x+3 ;; \boxed{x+\big 3}
x+3 ;; \boxed{x+\Big 3}
x+3 ;; \boxed{x+\bigg 3}
x+3 ;; \boxed{x+\Bigg 3}
x+3 ;; \boxed{x+\bigl 3}
x+3 ;; \boxed{x+\bigr 3}
x+3 ;; \boxed{x+\Bigl 3}
x+3 ;; \boxed{x+\Bigr 3}
x+3 ;; \boxed{x+\biggl 3}
x+3 ;; \boxed{x+\middle 3}
x+3 ;; \boxed{x+\displaystyle 3}
x+3 ;; \boxed{x+\textstyle 3}
x+3 ;; \boxed{x+\scriptstyle 3}
x+3 ;; \boxed{x+\limits 3}
x+3 ;; \boxed{x+\quad 3}
x+3 ;; \boxed{x+\qquad 3}
x+3 ;; \boxed{x+\bf 3}
x+3 ;; \boxed{x+\rm 3}
x+3 ;; \boxed{x+\it 3}
x+3 ;; \boxed{x+\enspace 3}
x+3 ;; \boxed{x+\thinspace 3}
x+3 ;; \boxed{x+\,3}
x+3 ;; \boxed{x+\;3}
x+3 ;; \boxed{x+\:3}
x+3 ;; \boxed{x+\>3}
x+3 ;; \boxed{x+\!3}
x+3 ;; \boxed{x+\3}
x+3 ;; \boxed{x+\ 3}
3(x+1) ;; \boxed{3\bigl(x+1\bigr)}
3(x+1) ;; \boxed{3\big(x+1\big)}
3(x+1) ;; \boxed{3\Big(x+1\Big)}
3(x+1) ;; \boxed{3\biggl(x+1\biggr)}
(3,4) ;; \boxed{\big(3,4\big)}
3(x+1) ;; \boxed{3\left(x+1\right)}
x ;; \boxed{\text{x}}
34 ;; \boxed{\text{34}}
34 ;; \boxed{34\text{ cm}}
x ;; \boxed{\mbox{x}}
34 ;; \boxed{\mbox{34}}
34 ;; \boxed{34\mbox{ cm}}
x ;; \boxed{\hbox{x}}
34 ;; \boxed{\hbox{34}}
34 ;; \boxed{34\hbox{ cm}}
x ;; \boxed{\textbf{x}}
34 ;; \boxed{\textbf{34}}
34 ;; \boxed{34\textbf{ cm}}
x ;; \boxed{\textit{x}}
34 ;; \boxed{\textit{34}}
34 ;; \boxed{34\textit{ cm}}
x ;; \boxed{\textrm{x}}
34 ;; \boxed{\textrm{34}}
34 ;; \boxed{34\textrm{ cm}}
x ;; \boxed{\textsf{x}}
34 ;; \boxed{\textsf{34}}
34 ;; \boxed{34\textsf{ cm}}
x ;; \boxed{\texttt{x}}
34 ;; \boxed{\texttt{34}}
34 ;; \boxed{34\texttt{ cm}}
x ;; \boxed{\textnormal{x}}
34 ;; \boxed{\textnormal{34}}
34 ;; \boxed{34\textnormal{ cm}}
x ;; \boxed{\mathbf{x}}
34 ;; \boxed{\mathbf{34}}
34 ;; \boxed{34\mathbf{ cm}}
x ;; \boxed{\mathrm{x}}
34 ;; \boxed{\mathrm{34}}
34 ;; \boxed{34\mathrm{ cm}}
x ;; \boxed{\mathit{x}}
34 ;; \boxed{\mathit{34}}
34 ;; \boxed{34\mathit{ cm}}
x ;; \boxed{\mathsf{x}}
34 ;; \boxed{\mathsf{34}}
34 ;; \boxed{34\mathsf{ cm}}
x ;; \boxed{\mathtt{x}}
34 ;; \boxed{\mathtt{34}}
34 ;; \boxed{34\mathtt{ cm}}
x ;; \boxed{\boldsymbol{x}}
34 ;; \boxed{\boldsymbol{34}}
34 ;; \boxed{34\boldsymbol{ cm}}
x ;; \boxed{\bm{x}}
34 ;; \boxed{\bm{34}}
34 ;; \boxed{34\bm{ cm}}
x ;; \boxed{\operatorname{x}}
34 ;; \boxed{\operatorname{34}}
34 ;; \boxed{34\operatorname{ cm}}
x ;; \boxed{\underline{x}}
34 ;; \boxed{\underline{34}}
34 ;; \boxed{34\underline{ cm}}
x ;; \boxed{\mathcal{x}}
34 ;; \boxed{\mathcal{34}}
34 ;; \boxed{34\mathcal{ cm}}
x ;; \boxed{\emph{x}}
34 ;; \boxed{\emph{34}}
34 ;; \boxed{34\emph{ cm}}
\{3,4\} ;; \boxed{\lbrace 3,4\rbrace}
\{3,4\} ;; \boxed{\{3,4\}}
x*3 ;; \boxed{x\cdot 3}
x*3 ;; \boxed{x\times 3}
x*3 ;; \boxed{x\ast 3}
x/3 ;; \boxed{x\div 3}
x/3 ;; \boxed{x\slash 3}
x\le 3y ;; \boxed{x\leqslant 3y}
x\le 3y ;; \boxed{x\leq 3y}
x\le 3y ;; \boxed{x\le 3y}
x\le 3y ;; \boxed{x\leqq 3y}
x\ge 3y ;; \boxed{x\geqslant 3y}
x\ge 3y ;; \boxed{x\geqq 3y}
x< 3y ;; \boxed{x\lt 3y}
x> 3y ;; \boxed{x\gt 3y}
x\ne 3y ;; \boxed{x\neq 3y}
x\ne 3y ;; \boxed{x\ne 3y}
(1,2)\cup(3,4) ;; \boxed{(1,2)\bigcup(3,4)}
A\setminus B ;; \boxed{A\backslash B}
[3,4] ;; \boxed{\lbrack 3,4\rbrack}
(3,4) ;; \boxed{\lparen 3,4\rparen}
|x| ;; \boxed{\lvert x\rvert}
|x| ;; \boxed{\vert x\vert}
|x| ;; \boxed{\mid x\mid}
|x| ;; \boxed{\|x\|}
|x| ;; \boxed{\left|x\right|}
3:4 ;; \boxed{3\colon 4}
30^\circ ;; \boxed{30\degree}
30 ;; \boxed{30\degree}
30 ;; \boxed{30\circ}
x' ;; \boxed{x^\prime}
x=1,y=2 ;; \boxed{x=1\land y=2}
x=1,x=2 ;; \boxed{x=1\lor x=2}
x=1,x=2 ;; \boxed{x=1\wedge x=2}
x=1,x=2 ;; \boxed{x=1\vee x=2}
3\% ;; \boxed{3\percent}
\emptyset ;; \boxed{\varnothing}
\emptyset ;; \boxed{\{\}}
\binom{5}{2} ;; \boxed{\dbinom{5}{2}}
\binom{5}{2} ;; \boxed{\tbinom{5}{2}}
\binom{5}{2} ;; \boxed{10}
\frac{1}{2} ;; \boxed{\cfrac{1}{2}}
\phi ;; \boxed{\varphi}
\theta ;; \boxed{\vartheta}
\epsilon ;; \boxed{\varepsilon}
-\infty ;; \boxed{-\infty}
(-\infty,3] ;; \boxed{[-\infty,3]}
(-\infty,\infty) ;; \boxed{[-\infty,\infty]}
[3,\infty) ;; \boxed{[3,\infty]}
6.02\times10^{23} ;; \boxed{602000000000000000000000}
6.02\times10^{23} ;; \boxed{60.2\times10^{22}}
4.5\times10^4 ;; \boxed{45000}
45000 ;; \boxed{4.5\times10^4}
0.3 ;; \boxed{0.1+0.2}
0.3x ;; \boxed{0.1x+0.2x}
0.00032 ;; \boxed{3.2\times10^{-4}}
1.1\times 3 ;; \boxed{3.3}
3.3x ;; \boxed{1.1\times 3x}
1.1\times3 ;; \boxed{0.33\times10}
\sqrt{x} ;; \boxed{x^{0.5}}
x^{3/2} ;; \boxed{x^{1.5}}
x^{\frac14} ;; \boxed{x^{0.25}}
x^{\frac13} ;; \boxed{x^{0.33}}
\sqrt2 ;; \boxed{2^{0.5}}
\sqrt{0.75} ;; \boxed{\frac{\sqrt3}{2}}
0.5\sqrt3 ;; \boxed{\frac{\sqrt3}{2}}
\sqrt{0.5} ;; \boxed{\frac{1}{\sqrt2}}
\sqrt{0.2} ;; \boxed{\frac{1}{\sqrt5}}
x\sqrt{0.75} ;; \boxed{\frac{x\sqrt3}{2}}
1+\sqrt{0.75} ;; \boxed{1+\frac{\sqrt3}{2}}
\frac{x}{0.3} ;; \boxed{\frac{10x}{3}}
2^{0.3} ;; \boxed{2^{3/10}}
x^{0.3} ;; \boxed{x^{3/10}}
\text{east} ;; \boxed{east}
\text{abc} ;; \boxed{abc}
\text{cab} ;; \boxed{cab}
\text{yes} ;; \boxed{yes}
\text{Yes} ;; \boxed{yes}
\text{no} ;; \boxed{no}
\text{on} ;; \boxed{on}
\text{north} ;; \boxed{north}
\text{south} ;; \boxed{south}
\text{west} ;; \boxed{west}
\text{Mary} ;; \boxed{Mary}
\text{blue} ;; \boxed{blue}
\text{ab} ;; \boxed{ab}
\text{ba} ;; \boxed{ba}
\text{aa} ;; \boxed{aa}
\text{noon} ;; \boxed{noon}
\text{book} ;; \boxed{book}
east ;; \boxed{\text{east}}
north ;; \boxed{\text{north}}
noon ;; \boxed{\text{noon}}
\text{or} ;; \boxed{or}
\text{orange} ;; \boxed{orange}
\text{forty} ;; \boxed{forty}
\text{torn} ;; \boxed{torn}
\text{more} ;; \boxed{more}
\text{red} ;; \boxed{red}
\text{dog} ;; \boxed{dog}
\text{odd} ;; \boxed{odd}
\text{even} ;; \boxed{even}
\text{prime} ;; \boxed{prime}
\text{Alice} ;; \boxed{Alice}
\text{Tom} ;; \boxed{Tom}
x\vec a ;; \boxed{x\vec{a}}
x\overline a ;; \boxed{x\overline{a}}
x\mathcal A ;; \boxed{x\mathcal{A}}
x\hat a ;; \boxed{x\hat{a}}
x\bar a ;; \boxed{x\bar{a}}
x^{-1} ;; \boxed{x^-1}
x^{-1} ;; \boxed{\frac{1}{x}}
x^{2} ;; \boxed{x^+2}
2^{-x} ;; \boxed{2^-x}
x\ne 3 ;; \boxed{(-\infty,3)\cup(3,\infty)}
x\ne 3 ;; \boxed{\mathbb{R}\setminus\{3\}}
\mathbb{R} ;; \boxed{(-\infty,\infty)}
(-\infty,\infty) ;; \boxed{\mathbb{R}}
\mathbb{R} ;; \boxed{\mathbb{Z}}
\{1\}\cup\{2\} ;; \boxed{\{2,1\}}
\{1,2\} ;; \boxed{\{1\}\cup\{2\}}
(1,2)\cup(2,3) ;; \boxed{(1,3)}
(1,3) ;; \boxed{(1,2]\cup(2,3)}
(1,4) ;; \boxed{(1,3)\cup(2,4)}
(1,2)\cup(3,4) ;; \boxed{x\in(1,2)\cup(3,4)}
[1,2]\cup[2,3] ;; \boxed{[1,3]}
(1,3)\cap(2,4) ;; \boxed{(2,3)}
(-\infty,3)\cup(3,\infty) ;; \boxed{\mathbb{R}\setminus\{3\}}
\binom{6}{2} ;; \boxed{{6\choose2}}
\binom{n}{2} ;; \boxed{{n\choose 2}}
\binom{6}{2} ;; \boxed{6\choose 2}
\log_e 2 ;; \boxed{\log_{e}2}
\ln 2 ;; \boxed{\log_{e}2}
\ln 2 ;; \boxed{\log 2}
\log_{10} 2 ;; \boxed{\log 2}
\text{thorn} ;; \boxed{thorn}
\text{horn} ;; \boxed{horn}
\text{month} ;; \boxed{month}
\text{phone} ;; \boxed{phone}
\text{right} ;; \boxed{right}
\text{left} ;; \boxed{left}
\text{up} ;; \boxed{up}
\text{chair} ;; \boxed{chair}
\text{earth} ;; \boxed{earth}
\text{heart} ;; \boxed{heart}
\text{other} ;; \boxed{other}
\text{triangle} ;; \boxed{triangle}
\text{circle} ;; \boxed{circle}
\text{parabola} ;; \boxed{parabola}
\text{ellipse} ;; \boxed{ellipse}
\text{hyperbola} ;; \boxed{hyperbola}
\text{never} ;; \boxed{never}
\text{always} ;; \boxed{always}
\text{infinite} ;; \boxed{infinite}
\text{inf} ;; \boxed{inf}
"""
for line in SIGNS.strip().split("\n"):
    gold, answer = line.split(" ;; ")
    c("signs", gold, answer)

# Answers once more, of every kind.
THIRD = [
    ("f(x)=x^2+1", ["x^2+1", "y=x^2+1", "f(x)=1+x^2"]),
    ("a=3,b=4", ["b=4,a=3", "(3,4)", "3,4", "a=3, b=4"]),
    ("(a,b)=(3,4)", ["(3,4)", "a=3,b=4", "(4,3)"]),
    ("x=2 \\text{ or } x=-3", ["2,-3", "-3,2", "x=-3,2", "x=-3\\text{ or }2", "x=2,x=-3"]),
    ("3\\text{ hours}", ["3", "3\\text{ hrs}", "180\\text{ minutes}", "3\\ \\text{hours}"]),
    ("15\\text{ m/s}", ["15", "15 m/s", "15\\,\\mathrm{m/s}"]),
    ("20\\text{ cm}^3", ["20", "20\\text{ cm}^2", "20 cm^3", "20\\mathrm{cm}^3"]),
    ("\\$1{,}200", ["1200", "1,200", "\\$1200", "\\$1,200.00"]),
    ("8:00", ["8:00", "8", "8{:}00"]),
    ("\\frac{7}{2}", ["3.5", "3\\frac{1}{2}", "3 1/2", "7/2", "\\frac{14}{4}", "7:2", "3,5"]),
    ("\\frac{a}{b}", ["a/b", "\\frac{2a}{2b}", "ab^{-1}"]),
    ("\\frac{\\pi}{4}", ["\\pi/4", "0.25\\pi", "45^\\circ", "0.785398", "\\arctan 1"]),
    ("\\sqrt{12}", ["2\\sqrt{3}", "3.4641016", "\\sqrt{4}\\sqrt{3}", "12^{1/2}"]),
    ("2+3i", ["3i+2", "2 + 3 i", "2-3i", "(2,3)"]),
    ("|z|=1", ["|z|=1", "1"]),
    ("\\ln 3", ["\\log 3", "\\ln{3}", "1.0986"]),
    ("e", ["2.71828", "\\exp(1)", "e^1"]),
    ("\\infty", ["\\infty", "+\\infty", "-\\infty", "\\text{infinity}", "inf"]),
    ("\\text{Yes}", ["yes", "\\text{yes}", "Yes.", "no"]),
    ("\\text{odd}", ["odd", "\\text{Odd}", "even"]),
    ("D", ["\\text{D}", "(D)", "\\text{(D)}", "D.", "\\mathrm{D}", "d", "\\text{D) 12}"]),
    ("\\text{(C)}", ["C", "(C)", "\\text{C}", "c"]),
    ("A", ["\\text{Option A}", "A)", "[A]", "\\textbf{A}"]),
    ("[2,5]", ["[2, 5]", "2\\le x\\le5", "[2,5)", "x\\in[2,5]"]),
    ("(2,5)\\cup(5,9)", ["(5,9)\\cup(2,5)", "(2,9)\\setminus\\{5\\}", "(2,5) \\cup (5,9)", "(2,5),(5,9)"]),
    ("\\{x\\mid x>2\\}", ["x>2", "(2,\\infty)", "\\{x:x>2\\}", "\\{x | x > 2\\}"]),
    ("x>2,y<3", ["y<3,x>2", "x>2, y<3"]),
    ("\\{2\\}", ["2", "\\{2\\}", "x=2"]),
    ("1,2,3", ["1, 2, 3", "3,2,1", "\\{1,2,3\\}", "1;2;3", "1 2 3"]),
    ("(1,2,3)", ["1,2,3", "(1, 2, 3)", "[1,2,3]", "\\langle1,2,3\\rangle"]),
    ("\\begin{bmatrix}1\\\\0\\end{bmatrix}", ["\\begin{pmatrix}1\\\\0\\end{pmatrix}", "(1,0)", "\\begin{pmatrix}1&0\\end{pmatrix}", "\\begin{bmatrix} 1 \\\\ 0 \\end{bmatrix}", "[1,0]^T"]),
    ("\\begin{pmatrix}\\frac12&0\\\\0&1\\end{pmatrix}", ["\\begin{pmatrix}0.5&0\\\\0&1\\end{pmatrix}", "\\begin{pmatrix}1/2&0\\\\0&1\\end{pmatrix}"]),
    (
        "10",
        [
            "10.0",
            "10.",
            "+10",
            "010",
            "1\\times10",
            "5\\cdot2",
            "10^1",
            "\\frac{20}{2}",
            "\\sqrt{100}",
            "10\\%",
            "1e1",
            "ten",
            "10!",
            "10\\text{ cm}",
            "10^\\circ",
            "x=10",
            "10=x",
            "y=10",
            "10,",
            "{10}",
            "(10)",
            "[10]",
            "\\{10\\}",
            "10\\pm0",
        ],
    ),
    ("0.25", ["1/4", "25\\%", ".25", "0.250", "\\frac14", "0.24999999", "2.5\\times10^{-1}", "0.2500001"]),
    ("1/3", ["0.333", "0.3333333", "33.3\\%", "\\frac{1}{3}", "0.\\overline{3}", "2/6"]),
    ("-1/2", ["-0.5", "\\frac{-1}{2}", "\\frac{1}{-2}", "-\\frac12", "0.5"]),
    ("1000000", ["10^6", "1,000,000", "1{,}000{,}000", "1\\,000\\,000", "1 million", "1e6"]),
    ("2x+3y=6", ["3y+2x=6", "2x+3y-6=0", "y=2-\\frac{2x}{3}", "4x+6y=12", "2x+3y=7"]),
    ("y=\\frac{1}{2}x+3", ["y=0.5x+3", "y=\\frac{x}{2}+3", "2y=x+6", "x-2y+6=0"]),
    ("(x-1)^2+(y+2)^2=9", ["(y+2)^2+(x-1)^2=9", "(x-1)^2+(y+2)^2=3^2", "x^2-2x+y^2+4y-4=0"]),
    ("x^3-6x^2+11x-6", ["(x-1)(x-2)(x-3)", "x^3-6x^2+11x+6", "(x-3)(x^2-3x+2)"]),
    ("\\frac{x^2-4}{x-2}", ["x+2", "\\frac{(x-2)(x+2)}{x-2}"]),
    ("\\sqrt{a^2+b^2}", ["(a^2+b^2)^{1/2}", "\\sqrt{b^2+a^2}", "a+b"]),
    ("\\log_3 7", ["\\frac{\\log 7}{\\log 3}", "\\log_{3}7", "1.7712"]),
    ("n^2+n", ["n(n+1)", "n^2+n+0", "n(n-1)"]),
    ("2^n-1", ["2^{n}-1", "-1+2^n", "2^{n-1}"]),
    ("\\binom{n}{3}", ["\\frac{n(n-1)(n-2)}{6}", "\\binom{n}{n-3}"]),
    ("n!", ["n(n-1)!", "n!", "n"]),
    ("\\alpha^2", ["\\alpha\\cdot\\alpha", "\\alpha^{2}", "a^2"]),
    ("x_0", ["x_{0}", "x0", "x_o"]),
    ("\\vec{v}", ["v", "\\mathbf{v}", "\\vec v"]),
    ("\\triangle ABC", ["ABC", "\\triangle{ABC}", "\\triangle BCA"]),
    ("60^\\circ", ["60", "60°", "\\frac{\\pi}{3}", "60\\text{ degrees}", "60^{\\circ}"]),
    ("\\tan 20^\\circ", ["\\tan(20^\\circ)", "0.36397", "\\tan 20"]),
    ("3\\times4", ["12", "4\\times3", "3\\times 4"]),
    ("2^5\\cdot3", ["96", "3\\cdot 2^5", "2^5*3", "2^5 \\times 3"]),
    ("100!", ["100!", "99!\\cdot100"]),
    ("7.5\\times10^{-3}", ["0.0075", "7.5e-3", "75\\times10^{-4}"]),
    ("\\text{Tuesday}", ["Tuesday", "tuesday", "\\text{tuesday}"]),
    ("March 3", ["\\text{March 3}", "march 3", "3 March"]),
    ("3\\frac{3}{4}\\text{ inches}", ["3.75", "3\\frac34", "\\frac{15}{4}\\text{ in}"]),
    ("1:2:3", ["1:2:3", "2:4:6", "1 : 2 : 3", "1,2,3"]),
    ("\\overline{AB}", ["AB", "\\overline{AB}", "\\overline{BA}"]),
    ("0.\\overline{12}", ["\\frac{4}{33}", "0.\\overline{12}", "0.121212"]),
    ("1.5\\text{ million}", ["1500000", "1.5 million", "1{,}500{,}000"]),
    ("x^2", ["x\\cdot x", "x^{2}", "x**2", "x2", "X^2"]),
    ("xy", ["yx", "x y", "x\\cdot y", "x*y", "XY"]),
    ("\\cos\\theta", ["\\cos(\\theta)", "\\cos \\theta", "cos θ"]),
    ("\\sin x", ["sin x", "\\sin(x)", "sin(x)", "\\sin{x}"]),
    ("5\\sqrt{2}\\text{ cm}", ["5\\sqrt{2}", "5\\sqrt2\\text{ cm}", "\\sqrt{50}"]),
    ("-\\infty<x<3", ["(-\\infty,3)", "x<3"]),
    ("p\\geq 0", ["p\\ge0", "0\\le p", "[0,\\infty)"]),
    ("k=1,2,3", ["1,2,3", "k\\in\\{1,2,3\\}", "3,2,1"]),
    ("a\\in(0,1]", ["(0,1]", "0<a\\le1", "a\\in (0,1]"]),
    ("m\\ne0", ["m\\neq 0", "m\\not=0"]),
    ("\\frac{3}{4}\\pi", ["\\frac{3\\pi}{4}", "0.75\\pi", "3\\pi/4", "135^\\circ"]),
    ("4\\pi\\text{ cm}^2", ["4\\pi", "4\\pi\\text{ cm}^2", "12.566"]),
    ("11\\text{th}", ["11", "11th"]),
    ("\\pm\\sqrt{3}", ["\\sqrt3,-\\sqrt3", "\\pm \\sqrt 3", "-\\sqrt{3},\\sqrt{3}"]),
    ("i", ["\\sqrt{-1}", "i", "\\mathrm{i}", "-i"]),
    ("\\frac{1+i}{2}", ["\\frac12+\\frac12i", "0.5+0.5i", "\\frac{i+1}{2}"]),
]
PLACES = ["\\boxed{%}", "The answer is $\\boxed{%}$.", "$$\\boxed{%}$$", "Answer: $%$", "so $%$", "The final answer is $%$."]
k = 0
for g, answers in THIRD:
    for a in answers:
        c("once more", g, "\\boxed{" + a + "}", PLACES[k % 6].replace("%", a))
        k += 1
