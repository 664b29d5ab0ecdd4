"""Families of gold answers with right and wrong answers, written by hand from the rules of docs/rewards.md.

FAMILIES has one entry (family, gold, right, wrong): answers as they stand in a box. RESPONSES has whole responses
(family, gold, response, verdict). Both are read by make.py. Nothing here knows the graders' code or output.
"""

FAMILIES = []
RESPONSES = []


def family(name, gold, right=(), wrong=()):
    FAMILIES.append((name, gold, list(right), list(wrong)))


def respond(name, gold, right=(), wrong=(), null=()):
    for text in right:
        RESPONSES.append((name, gold, text, True))
    for text in wrong:
        RESPONSES.append((name, gold, text, False))
    for text in null:
        RESPONSES.append((name, gold, text, None))


# Numbers.
family(
    "fraction",
    r"\frac{5}{8}",
    [r"5/8", r"\dfrac{5}{8}", r"\tfrac58", r"\frac58", "0.625", ".625", "10/16", r"\frac{-5}{-8}", r"{5}/{8}", r"\frac{5}{8}.", r"\left(\frac{5}{8}\right)", r"62.5\%"],
    ["8/5", "0.63", "0.624999", r"\frac{5}{9}", "5", "-5/8", r"\frac{5}{8}\pi", "58", "5,8", r"\frac{5}{}"],
)
family("negative fraction", r"-\frac{3}{7}", [r"\frac{-3}{7}", r"\frac{3}{-7}", "-3/7", r"-\dfrac{3}{7}", "\u22123/7", r"-\frac{6}{14}"], ["3/7", "-7/3", "-0.428571", "-3", r"\frac{-3}{-7}"])
family("fraction", "22/7", [r"\frac{22}{7}", r"3\frac17", r"3 \frac{1}{7}", "3 1/7", r"\frac{44}{14}"], ["3.142857", r"\pi", "3.14", r"3\cdot\frac17", "7/22"])
family("mixed number", r"\frac{17}{5}", [r"3\frac{2}{5}", r"3\tfrac25", "3 2/5", "3.4", r"3\dfrac{4}{10}", "17/5", r"3 \frac{2}{5}"], ["32/5", r"3\frac{5}{2}", r"-3\frac25", r"3\frac{2}{5}\%5"])
family("mixed number", r"-2\frac{1}{3}", [r"-\frac{7}{3}", "-7/3", "-2 1/3", r"-2\tfrac13"], [r"-\frac53", "-2.333", r"2\frac13", r"\frac73"])
family("unicode fraction", "3/4", ["\u00be", "0.75", r"\frac34"], ["\u00bd", "\u00bc"])
family("unicode fraction", r"\frac{5}{2}", ["2\u00bd", "2.5", r"2\frac12"], ["2\u00bc", "25"])
family("unicode fraction", r"\frac{11}{3}", ["3\u2154"], ["3\u2153"])
family("decimal", "0.045", [".045", "0.0450", "4.5e-2", "4.5E-2", "9/200", r"\frac{45}{1000}", r"4.5\%"], ["0.45", "0.0455", "45", "4.5", "0,045"])
family("decimal", "-12.75", ["-12.750", r"-12\frac34", r"-\frac{51}{4}", "\u221212.75", "-51/4"], ["12.75", "-12.57", "-12"])
family("decimal", "7.0", ["7", "7.", "7.00", "14/2", r"\frac{7}{1}"], ["70", "7.01", r"7\cdot1"])
family("repeating decimal", r"\frac{1}{6}", [r"0.1\overline{6}", r"0.1\bar{6}", "1/6"], [r"0.\overline{16}", "0.1667", "0.16"])
family("repeating decimal", r"\frac{5}{11}", [r"0.\overline{45}", r".\overline{45}"], ["0.45", r"0.4\overline{5}"])
family("repeating decimal", r"0.\overline{142857}", ["1/7", r"\frac17"], ["0.142857"])
family(
    "integer",
    "391",
    [
        "391",
        "+391",
        "0391",
        "391.0",
        "391.00",
        "{391}",
        "$391$",
        r"\mathbf{391}",
        r"\text{391}",
        r"\mathrm{391}",
        r"\textbf{391}",
        r"\displaystyle 391",
        r"\,391\,",
        "391.",
        r"\left(391\right)",
        r"391\quad",
        r"\;391",
        " 391 ",
        r"\ 391",
        "\n391\n",
        r"3.91e2",
        r"391\!",
        r"\(391\)",
    ],
    [
        "390",
        "392",
        "-391",
        "39 1",
        "3 91",
        "391x",
        "391, 391",
        "(391, 391)",
        r"17\cdot 23",
        "400-9",
        r"17 \times 23",
        r"391^2",
        r"\{391",
        "391a",
        "three hundred ninety-one",
        r"\sqrt{152881}",
        "?",
        r"\frac{391}{0}",
        r"391!",
        "391 or 392",
        "3.91",
    ],
)
family("negative", "-18", ["-18", "\u221218", "-18.0", "-18.", "(-18)", r"\left(-18\right)", r"-\frac{36}{2}", "$-18$", "{-18}"], ["18", "--18", "+18", "18-", r"\pm 18", "-1.8"])
family("zero", "0", ["-0", "0.0", "+0", "00", "-0.00", r"\frac{0}{5}", "0/7", r"0^\circ", r"0\%", "{0}", "$0$", "x=0"], ["1", "0.0001", r"\emptyset", r"\{\}", "1/0", r"\frac{0}{0}", "O", "5-5", r"\text{none}"])
family("thousands", "12345", ["12,345", "12{,}345", r"12\,345", r"12,\!345", "12,345.0", "12345.00", r"12\;345", r"\text{12,345}", "$12,345$"], ["12.345", "1,2345", "123,45", "12,34", "12, 345", "12,3456", "1.2345"])
family("thousands", "1,234,567", ["1234567", r"1{,}234{,}567", r"1\,234\,567", "1,234,567.00"], ["1,234", "1234.567", "1,234,568", "1,234567"])
family("thousands", "-45,000.5", ["-45000.5", r"-45{,}000.50", r"-\frac{90001}{2}"], ["45000.5", "-45,000"])
family("long number", "9" * 40, ["9" * 40, ",".join(["9"] + ["999"] * 13), "9" * 40 + ".0"], ["9" * 39, "9" * 39 + "8", "1" + "0" * 40, "10^{40}-1"])
family("long number", "3" * 300, ["3" * 300], ["3" * 299 + "4", "3" * 301])
family("long number", "0." + "1" * 60, ["." + "1" * 60, "0." + "1" * 60 + "0"], ["0." + "1" * 61, "0." + "1" * 59, "1/9"])

# Percent, money, units.
family("percent", r"35\%", [r"35\%", "35%", "0.35", "35", "7/20", r"35\text{ percent}", "35 percent", r"35 \%", r"\frac{7}{20}", r"35.0\%"], ["3.5", "0.0035", r"0.35\%", r"350\%", r"53\%"])
family("percent", "0.08", [r"8\%", "8%", r"8.0\%", "8 percent", r"0.08\%"], [r"80\%", "8"])
family("percent", r"0.5\%", ["0.005", "0.5", r"\frac12\%", "1/200", r"\frac{1}{2}\%"], ["50", "0.05", r"5\%"])
family("percent", "120", [r"120\%", "120 percent"], ["1.2", r"12\%"])
family("percent", r"66\frac23\%", [r"66\frac{2}{3}\%", r"\frac23", r"66\frac23", r"\frac{200}{3}\%"], [r"66\%", "0.67", r"66.67\%"])
family("money", "12.5", [r"\$12.50", "$12.50", r"\$12.5", "12.50 dollars", r"12.50\text{ dollars}", r"\text{\$12.50}", r"\$ 12.50", r"12\frac12"], [r"\$12.05", r"\$125", r"\$-12.50", "12 dollars 50"])
family("money", r"\$1,250.75", ["1250.75", r"\$1250.75", "1,250.75", r"1250.75\text{ dollars}", r"\$1{,}250.75"], ["1250.57", r"\$1,250", "1250.75 cents", "\u20ac1,250.75"])
family("money", "\u00a35", ["5", "\u00a35.00", "\u00a3 5"], ["\u00a36", r"\$5"])
family("money", "-40", [r"-\$40"], [r"\$40"])
family("scale", "2500000", [r"2.5\text{ million}", "2.5 million", r"2{,}500{,}000"], [r"2.5\text{ billion}", "2.5", "25 million"])
family(
    "units",
    "34",
    [
        r"34\text{ cm}",
        r"34\,\text{cm}",
        r"34 \text{ kg}",
        r"34\ \mathrm{kg}",
        r"34\,\mathrm{m/s}",
        "34 km",
        r"34\text{ square units}",
        r"34\text{ cm}^2",
        r"34\text{ cm}^{3}",
        r"34\ \text{hours}",
        r"34 \text{ minutes}",
        r"34~\text{m}",
        r"34\mathrm{~km}",
        r"34\text{ feet}",
        r"34\text{ miles per hour}",
        r"34\text{ units}",
    ],
    [r"34\text{ elephants}", r"34 \text{ or so}", r"43\text{ cm}", r"34\text{ is wrong}"],
)
family("units", r"5\text{ m}", ["5", r"5\,\text{m}", r"5\text{ meters}", r"5\ \mathrm{m}", "5 m", "5.0 meters", "5 metres"], [r"5\text{ cm}", r"5\text{ s}", "6", r"5\text{ m}^2", "50 cm"])
family("units", r"12\text{ cm}^2", ["12", r"12\,\text{cm}^2", r"12\mathrm{cm}^2", r"12\text{ square centimeters}"], [r"12\text{ cm}", r"12\text{ m}^2", "144"])
family("units", r"2.5\text{ hours}", ["2.5", r"\frac52", r"2\frac12\text{ hours}", "2.5 hours", r"5/2\text{ hours}"], [r"2.5\text{ minutes}", "25"])
family("units", r"3\sqrt{2}\text{ cm}", [r"3\sqrt{2}", r"\sqrt{18}\text{ cm}", r"3\sqrt2\,\text{cm}"], [r"3\sqrt{2}\text{ m}", r"3\sqrt{3}\text{ cm}"])
family("degrees", "45", [r"45^\circ", r"45^{\circ}", "45\u00b0", r"45\degree", r"45\text{ degrees}", "45 degrees", r"45^{\circ}."], [r"54^\circ", r"4.5^\circ"])
family("degrees", r"72^\circ", ["72", "72\u00b0", r"72\text{ degrees}", r"72.0^\circ"], ["27", r"72\text{ cm}", r"\frac{72}{2}^\circ"])
family("degrees", r"22.5^\circ", ["22.5", r"\frac{45}{2}^\circ", r"22\frac12^\circ"], ["22"])

# Roots, powers, constants.
family(
    "root",
    r"3\sqrt{2}",
    [
        r"\sqrt{18}",
        r"\sqrt{2}\cdot3",
        r"3 \sqrt 2",
        r"3\sqrt2",
        r"\frac{6}{\sqrt2}",
        r"\frac{6}{\sqrt{2}}",
        r"3\cdot2^{1/2}",
        "3\u221a2",
        "sqrt(18)",
        "3*sqrt(2)",
        r"3\times\sqrt{2}",
        r"\sqrt{2}+\sqrt{8}",
        r"\frac{3\sqrt{8}}{2}",
    ],
    ["4.2426", r"3\sqrt{3}", r"\sqrt{6}", "4.242640687119285", r"\sqrt{3}\cdot 2", r"-3\sqrt2", "18", r"3+\sqrt2", r"\sqrt[3]{18}"],
)
family("root", r"\sqrt[3]{16}", [r"2\sqrt[3]{2}", "2^{4/3}", "16^{1/3}", r"16^{\frac13}", r"2 \cdot \sqrt[3]{2}"], [r"4", r"\sqrt{16}", r"2\sqrt{2}", r"3\sqrt{16}"])
family("root", r"\sqrt{7+4\sqrt{3}}", [r"2+\sqrt3", r"\sqrt{3}+2"], [r"2-\sqrt3", "3.732"])
family(
    "root",
    r"\frac{\sqrt{5}-1}{2}",
    [r"\frac{-1+\sqrt5}{2}", r"\frac{2}{1+\sqrt5}", r"\frac{\sqrt5}{2}-\frac12", r"(\sqrt{5}-1)/2", r"0.5(\sqrt5-1)"],
    [r"\frac{\sqrt5+1}{2}", "0.618", r"\frac{1-\sqrt5}{2}", r"\sqrt5-\frac12"],
)
family("root", r"5", [], [r"\sqrt{25}", r"25^{1/2}", r"\sqrt5^2", "sqrt(25)"])
family("power", "2^{10}", ["1024", "4^5", "2^{10}", "32^2", "1,024"], ["1023", "2^9", "20", "2^{11}", "10^2"])
family("power", "1024", [], ["2^{10}", "4^5", "32^2", r"2^{10}\text{ units}"])
family("power", "2^{100}", ["1267650600228229401496703205376", "4^{50}", "1024^{10}"], ["2^{99}", "1267650600228229401496703205375"])
family("power", "3^{200}", ["9^{100}", "81^{50}"], ["3^{201}", "9^{99}"])
family("power", "10^{100}", ["1" + "0" * 100, "100^{50}"], ["10^{99}", "1" + "0" * 99])
family("power", "2^{-3}", ["1/8", "0.125", r"\frac18", "8^{-1}"], ["8", "-8", "-1/8"])
family("huge exponent", "10", [], ["10^{10^{10}}", "1e1000000000", "10^{-10^{10}}", "2^{2^{2^{2^{2^{2}}}}}", "10^{1000000}", "1e400", "((((10!)!)!)!)"])
family(
    "scientific",
    r"6.02\times10^{23}",
    ["6.02e23", "602" + "0" * 21, r"6.02\cdot 10^{23}", r"60.2\times 10^{22}", r"6.020 \times 10^{23}", r"6.02 \times {10}^{23}", "6.02*10^23", "6.02\u00d710^{23}"],
    [r"6.02\times10^{22}", "6.02", r"6.20\times10^{23}", r"6.02\times10^{-23}"],
)
family("scientific", "0.00032", [r"3.2e-4", r"3.2\times10^{-4}", r"3.2\cdot10^{-4}", "3.2E-04"], [r"3.2\times10^{4}", r"3.2e-5", r"2.3\times10^{-4}"])
family("scientific", "45000", ["4.5e4", r"4.5\times10^4", r"4.5 \times 10^{4}", "4.50E+4"], [r"4.5\times 10^5", r"5.4\times10^4"])
family(
    "pi",
    r"2\pi",
    [r"\pi\cdot2", r"2 \pi", "2\u03c0", r"\pi+\pi", r"\frac{4\pi}{2}", "2pi", "2*pi", r"2\cdot\pi", r"2\times\pi", r"2\,\pi"],
    ["6.2832", "6.283185307179586", r"\pi^2", "2", r"\frac{44}{7}", r"\pi", r"2\pi r"],
)
family("pi", r"\frac{\pi}{6}", [r"\pi/6", r"\frac16\pi", r"\frac{1}{6}\pi", r"\frac{2\pi}{12}", r"\dfrac{\pi}{6}", "pi/6"], [r"\frac{6}{\pi}", "0.5236", r"\frac{\pi}{3}", r"-\frac{\pi}{6}"])
family("pi", r"4-\pi", [r"-\pi+4", r"-(\pi-4)"], [r"\pi-4", "0.8584", r"4+\pi"])
family("e", r"e^2", [r"e\cdot e", r"e^{2}", r"\exp(2)", r"(e^{1})^2"], ["7.389", "2e", "e", "e^3"])
family("logarithm", r"\ln 8", [r"3\ln 2", r"\ln(8)", r"\ln{8}", r"\ln 2+\ln 4", r"3\ln(2)"], ["2.079", r"8\ln", r"\ln 9", r"\log 8"])
family("logarithm", r"\log_2 3", [r"\frac{\ln 3}{\ln 2}", r"\log_{2}(3)", r"\log_{2}{3}", r"\frac{\log 3}{\log 2}", r"\frac{1}{\log_3 2}"], [r"\log_3 2", "1.585", r"\log 3"])
family("factorial", "5!", ["120", "5!", r"5\cdot4!", "120.0"], ["5", "24", "6!", "4!"])
family("factorial", "120", [], ["5!", r"\frac{6!}{6}"])
family("binomial", r"\binom{10}{3}", ["120", r"\dbinom{10}{3}", r"\frac{10!}{3!7!}", r"\binom{10}{7}"], [r"\binom{10}{4}", "30", "720"])
family(
    "trigonometry",
    r"\frac{\sqrt3}{2}",
    [r"\sin 60^\circ", r"\cos\frac{\pi}{6}", r"\sin\frac{\pi}{3}", r"\frac{1}{2}\sqrt{3}", r"\sqrt{\frac34}", r"\sqrt{0.75}"],
    [r"\sin 30^\circ", "0.866", r"\frac{\sqrt2}{3}", r"\sin 60"],
)
family("trigonometry", r"\arctan 2", [r"\tan^{-1}(2)", r"\tan^{-1} 2", r"\arctan(2)", r"\frac{\pi}{2}-\arctan\frac12"], ["1.107", r"\tan 2", r"\arctan\frac12"])

# Infinity, plus-minus, complex numbers.
family("infinity", r"\infty", [r"+\infty", r"\infty", "\u221e", "infinity", r"\text{infinity}"], [r"-\infty", "10^{100}", "0", r"\pm\infty"])
family("infinity", r"-\infty", [r"-\infty", "-\u221e"], [r"\infty", "-1"])
family("plus-minus", r"\pm 3", ["3, -3", "-3,3", r"\{-3,3\}", r"x=\pm3", r"3 \text{ or } -3", "\u00b13", r"\{3,-3\}", r"3\text{ and }-3", r"x=3 \text{ or } x=-3"], ["3", "-3", r"\pm 4", "(3,-3)", "3,3"])
family("plus-minus", r"2\pm\sqrt{3}", [r"2+\sqrt3, 2-\sqrt3", r"2-\sqrt{3},2+\sqrt{3}", r"\{2\pm\sqrt3\}", r"\frac{4\pm\sqrt{12}}{2}", r"2\mp\sqrt3"], [r"2+\sqrt3", r"3\pm\sqrt2", r"-2\pm\sqrt3", r"2\pm 3"])
family("complex", "3-4i", ["-4i+3", "3 - 4i", "3-4 i", r"3-4\cdot i", r"\frac{6-8i}{2}", r"3-4\mathrm{i}"], ["3+4i", "4-3i", "(3,-4)", "5", "3-4", "-3+4i", "3-4k"])
family("complex", "-i", [r"\frac{1}{i}", "i^3", "-1i", r"-1\cdot i", "0-i"], ["i", "-1", "1"])
family("complex", r"\frac{3-4i}{5}", [r"\frac35-\frac45 i", r"0.6-0.8i", r"\frac{3}{5}-\frac{4i}{5}", r"\frac{1}{5}(3-4i)"], [r"\frac{3+4i}{5}", r"\frac{3}{5}"])
family("complex", r"1+i\sqrt{3}", [r"2e^{i\pi/3}", r"1+\sqrt{3}i", r"2\left(\cos\frac{\pi}{3}+i\sin\frac{\pi}{3}\right)"], [r"1-i\sqrt3", r"\sqrt{3}+i", "2"])

# Tuples, intervals, sets, lists.
family(
    "tuple",
    "(3,-4)",
    ["(3, -4)", r"\left(3,-4\right)", r"( 3 , -4 )", "(3,\u22124)", r"(3.0,-4)", r"\left(3,\,-4\right)", r"\left(\frac{6}{2},-4\right)", "(3,-4).", r"\bigl(3,-4\bigr)"],
    ["(-4,3)", "(3,4)", "3,-4", "[3,-4]", "(3,-4,0)", "(3)", r"\{3,-4\}", r"\langle 3,-4\rangle", "(3,-4"],
)
family("tuple", r"\left(\frac{1}{2},\sqrt{3},\pi\right)", [r"(0.5,\sqrt3,\pi)", r"(1/2, \sqrt{3}, \pi)"], [r"(\sqrt3,\frac12,\pi)", r"(0.5,1.732,3.14)", r"(\frac12,\sqrt3)"])
family("tuple", "(2,5,7)", ["(2, 5, 7)", "x=2,y=5,z=7", r"x=2, y=5, z=7", "(x,y,z)=(2,5,7)"], ["(2,7,5)", "x=2,y=7,z=5", "257", "(2,5)", "2,5,7"])
family(
    "interval",
    r"(-\infty,3]",
    [r"(-\infty, 3]", r"\left(-\infty,3\right]", r"x\le 3", r"x \leq 3", r"3\ge x", "(-\u221e,3]", r"x\in(-\infty,3]", r"x\leqslant 3"],
    [r"(-\infty,3)", r"[-\infty,3]", r"x<3", r"[3,\infty)", r"(3,-\infty]", r"(\infty,3]"],
)
family("interval", "[0,1)", [r"\left[0,1\right)", "[0, 1)", r"0\le x<1", r"x\in[0,1)", r"[0,1.0)", r"1>x\ge0"], ["(0,1]", "[0,1]", "(0,1)", r"0<x<1", "[1,0)"])
family(
    "interval",
    r"(1,2)\cup(3,\infty)",
    [r"(3,\infty)\cup(1,2)", r"(1,2) \cup (3,+\infty)", r"x\in(1,2)\cup(3,\infty)", "(1,2)\u222a(3,\u221e)"],
    [r"(1,2)\cap(3,\infty)", r"(1,2)\cup[3,\infty)", r"(1,2)", r"(1,3)\cup(3,\infty)"],
)
family("interval", r"1<x<5", ["(1,5)", r"5>x>1", r"x\in(1,5)", r"1 < x < 5"], [r"1\le x<5", r"1<x<6", r"x<5", "[1,5]"])
family("inequality", "x>7", ["7<x", "x > 7", r"(7,\infty)", r"x\gt 7", "x>7.0", r"x>\frac{14}{2}"], [r"x\ge7", "x<7", "7>x", "7", "x=7"])
family("inequality", r"a\geq-2", [r"a\ge -2", r"-2\le a", r"[-2,\infty)", "a\u2265-2", "a>=-2"], ["a>-2", r"a\le-2", r"a\geq2"])
family("set", r"\{1,2,3\}", [r"\{3,2,1\}", "1,2,3", r"\left\{1,2,3\right\}", r"\{ 1, 3, 2 \}", "3, 1, 2", r"\lbrace 1,2,3\rbrace", r"\{1,2,3,3\}"], [r"\{1,2\}", "(1,2,3)", r"\{1,2,3,4\}", r"\{1,2,4\}", "[1,2,3]", "123"])
family("set", r"\{-\frac12,\sqrt2\}", [r"\{\sqrt2,-0.5\}", r"\sqrt{2},-\frac{1}{2}", r"x=\sqrt2, x=-\frac12"], [r"\{\frac12,\sqrt2\}", r"\{-0.5,1.414\}"])
family("set", r"\emptyset", [r"\varnothing", r"\{\}", r"\emptyset", "\u2205"], ["0", r"\{0\}", r"\{\emptyset\}"])
family("set", "4", [r"\{4\}", r"\left\{4\right\}", "x=4", r"x\in\{4\}"], [r"\{4,5\}", r"\{\}"])
family(
    "list",
    "2,3,7",
    ["7, 3, 2", r"2,3\text{ and }7", "2, 3, and 7", r"2, 3\text{, and }7", "2;3;7", "x=2,3,7", r"x=2\text{ or }x=3\text{ or }x=7", r"2\text{ or }3\text{ or }7"],
    ["2,3", "2,3,7,8", "237", "2,3,8", "2,3,3,7", "(2,3,7)"],
)
family("list", r"-1, \frac{2}{3}", [r"\frac23,-1", r"x=-1\text{ or }x=\frac23", r"x = \frac{2}{3}, x = -1", r"\frac{2}{3}\text{ and }-1"], [r"1,\frac23", r"-1,\frac32", "-1"])
family(
    "matrix",
    r"\begin{pmatrix} 1 & -2 \\ 0 & \frac12 \end{pmatrix}",
    [
        r"\begin{bmatrix}1&-2\\0&0.5\end{bmatrix}",
        r"\begin{pmatrix}1&-2\\0&1/2\end{pmatrix}",
        r"\left(\begin{matrix}1&-2\\0&\frac{1}{2}\end{matrix}\right)",
        r"\begin{pmatrix} 1 & -2 \\ 0 & \frac12 \\ \end{pmatrix}",
        r"\left(\begin{array}{cc}1&-2\\0&\frac12\end{array}\right)",
    ],
    [
        r"\begin{pmatrix}1&2\\0&0.5\end{pmatrix}",
        r"\begin{pmatrix}1&0\\-2&0.5\end{pmatrix}",
        r"\begin{pmatrix}1&-2&0&0.5\end{pmatrix}",
        r"\begin{vmatrix}1&-2\\0&0.5\end{vmatrix}",
        r"\begin{pmatrix}1&-2\\0\end{pmatrix}",
        "1,-2,0,0.5",
    ],
)
family(
    "matrix",
    r"\begin{pmatrix}3\\-1\\2\end{pmatrix}",
    [r"\begin{bmatrix} 3 \\ -1 \\ 2 \end{bmatrix}", r"\begin{pmatrix}3.0\\-1\\2\end{pmatrix}"],
    [r"\begin{pmatrix}3&-1&2\end{pmatrix}", r"\begin{pmatrix}3\\1\\2\end{pmatrix}", r"\begin{pmatrix}3\\-1\end{pmatrix}"],
)

# Equations and expressions.
family(
    "equation", "5", ["x=5", "x = 5", "n=5", r"x=5.0", "5=x", r"\theta=5", "A=5", "x_1=5", "f(x)=5", "f(2)=5", r"x=\frac{10}{2}"], ["x=6", "x+1=6", "2x=10", "x^2=25", "5=6", r"x\ne5", "x>5", "ab+c=5", "x=5,6", "x=y=6"]
)
family("equation", "x=-3", ["-3", "x=-3", r"x=-\frac{6}{2}", "-3=x"], ["y=-3", "x=3", "3", "x<-3"])
family("equation", "y=2x+1", ["y=1+2x", "2x+1=y", "2x+1", "y = 2x + 1", r"y=2\cdot x+1", "y=2(x+1)-1"], ["y=2x-1", "y=x+2", "z=2x+1", "2x-1", "x=2y+1"])
family("equation", "x^2+y^2=25", ["y^2+x^2=25", "25=x^2+y^2", "x^2 + y^2 = 25", "x^2+y^2=5^2"], ["x^2+y^2=5", "x^2-y^2=25", "x+y=5", "25"])
family(
    "polynomial", "x^2-5x+6", ["(x-2)(x-3)", "6-5x+x^2", "x^2 - 5x + 6", r"x(x-5)+6", "(x-3)(x-2)", r"x^{2}-5x+6", r"x\cdot x-5\cdot x+6"], ["x^2+5x+6", "x^2-5x-6", "(x+2)(x+3)", "x^2-6x+5", "y^2-5y+6", "x^2", "-5x+6"]
)
family("polynomial", "(a+b)^3", ["a^3+3a^2b+3ab^2+b^3", "(b+a)^3", "(a+b)(a+b)^2", r"(a+b)(a^2+2ab+b^2)"], ["a^3+b^3", "(a-b)^3", "3(a+b)"])
family(
    "rational", r"\frac{x+1}{x-1}", [r"(x+1)/(x-1)", r"1+\frac{2}{x-1}", r"\frac{2x+2}{2x-2}", r"\frac{-x-1}{1-x}", r"\frac{x^2-1}{(x-1)^2}"], [r"\frac{x-1}{x+1}", "x+1/x-1", r"\frac{x+1}{1-x}", "-1", r"\frac{x+1}{x+1}"]
)
family("rational", r"\frac{n(n+1)(2n+1)}{6}", [r"\frac{2n^3+3n^2+n}{6}", r"\frac{1}{6}n(n+1)(2n+1)", r"n(n+1)(2n+1)/6"], [r"\frac{n(n+1)}{2}", r"\frac{n(n+1)(2n-1)}{6}"])
family("expression", r"\sin 2x", [r"2\sin x\cos x", r"\sin(2x)", r"2\cos x\sin x"], [r"2\sin x", r"\sin x^2", r"\cos 2x", r"\sin^2 x"])
family("expression", r"\tan x", [r"\frac{\sin x}{\cos x}", r"\tan(x)"], [r"\frac{\cos x}{\sin x}", r"\cot x", r"\tan 2x"])
family("expression", r"\sqrt{x+1}", [r"(x+1)^{1/2}", r"(x+1)^{\frac12}", r"(x+1)^{0.5}", r"\sqrt{1+x}"], [r"\sqrt{x}+1", r"\sqrt{x-1}", "x+1"])
family("expression", r"e^{2x}", [r"(e^x)^2", r"e^{x}e^{x}", r"\exp(2x)"], ["e^{x^2}", "2e^x", "e^x"])
family("expression", r"2^{n+1}-1", [r"2\cdot2^n-1", r"2^{1+n}-1", r"-1+2^{n+1}"], [r"2^n-1", r"2^{n+1}", r"2^n+1", r"2^{n}+1-1"])
family("expression", r"\frac{a}{b}+\frac{c}{d}", [r"\frac{ad+bc}{bd}", r"\frac{cb+da}{db}"], [r"\frac{a+c}{b+d}", r"\frac{ac}{bd}"])
family("expression", r"x_1+x_2", [r"x_2+x_1", r"x_{1}+x_{2}"], [r"x_1-x_2", "x1+x3", r"x_1+x_3"])
family("expression", r"|x-50|", [r"|50-x|", r"\sqrt{(50-x)^2}"], ["x-50", "50-x"])
family("expression", r"\sqrt{x-20}", [r"(x-20)^{1/2}", r"\sqrt{-20+x}"], [r"\sqrt{x+20}", r"\sqrt{20-x}", "x-20"])
family("expression", r"\ln(x-7)", [r"\ln(-7+x)", r"-\ln\frac{1}{x-7}"], [r"\ln x-\ln 7", r"\ln(7-x)"])
family("expression", r"|x-3|", [r"|3-x|", r"\left|x-3\right|", r"\lvert x-3\rvert", r"\sqrt{(x-3)^2}"], ["x-3", "3-x", "|x+3|"])
family("ratio", "3:4", ["6:8", "3/4", "0.75", "3 : 4", r"3\colon 4", r"\frac{3}{4}"], ["4:3", "3:5", "3:4:5", "34"])
family("ratio", "2:3:5", ["4:6:10", "2 : 3 : 5", "0.2:0.3:0.5"], ["3:2:5", "2:3", "2:3:6"])
family("time", "3:05", ["3:05", "03:05", r"3:05\text{ p.m.}", "3:05 PM", r"\text{3:05}"], ["3:50", "5:03", "3.05"])
family("time", r"3:05\text{ p.m.}", ["3:05", "3:05 pm", "3:05 PM", r"3:05\text{ PM}", r"3:05 \, \text{p.m.}"], ["3:05 AM", r"3:05\text{ a.m.}", "4:05 PM"])
family("base", "1011_2", ["1011_{2}", r"1011_{2}", r"(1011)_2"], ["1011_3", "1010_2", "1101_2"])

# More of expressions and sets.
family("expression", r"\frac{x}{2}+3", [r"0.5x+3", r"\frac12x+3", r"\frac{x+6}{2}", r"\frac{1}{2}(x+6)", "x/2+3"], [r"\frac{x+3}{2}", "2x+3", r"\frac{1}{2x}+3"])
family("expression", r"x^{-2}", [r"\frac{1}{x^2}", r"\left(\frac1x\right)^2", "1/x^2", r"(x^2)^{-1}"], ["-x^2", "x^2", r"\frac{2}{x}"])
family("expression", r"\cos 2x", [r"\cos^2x-\sin^2x", r"1-2\sin^2x", r"2\cos^2 x-1", r"\cos(2x)"], [r"2\cos x", r"\sin^2x-\cos^2x", r"\cos^2 x"])
family("expression", r"\sec^2 x", [r"1+\tan^2x", r"\frac{1}{\cos^2x}", r"\tan^2 x+1"], [r"1-\tan^2x", r"\cos^{2}x"])
family("expression", r"\ln(ab)", [r"\ln a+\ln b", r"\ln(ba)"], [r"\ln a\cdot\ln b", r"\ln(a+b)"])
family("expression", "6^n", ["2^n3^n", r"2^n\cdot 3^n", "36^{n/2}"], ["5^n", "6n", "2^n+3^n", "n^6"])
family("expression", "(-1)^{n+1}", ["-(-1)^n", "(-1)^{n-1}", r"(-1)^n\cdot(-1)", "(-1)^{n+3}"], ["(-1)^n", "-1", "1", "(-1)^{2n}"])
family("expression", r"\frac{1+(-1)^n}{2}", [r"\frac{(-1)^n+1}{2}", r"\frac12+\frac{(-1)^n}{2}", r"\frac{1-(-1)^{n+1}}{2}"], [r"\frac{1-(-1)^n}{2}", "1", "0"])
family("expression", "(n+1)!", ["(n+1)n!", r"(n+1)\cdot n!", "(n+1)n(n-1)!"], ["n!+1", "n!", "(n+2)!"])
family("expression", r"\binom{n}{k}", [r"\frac{n!}{k!(n-k)!}", r"\dbinom{n}{k}", r"\binom{n}{n-k}"], [r"\binom{k}{n}", r"\frac{n!}{(n-k)!}"])
family("expression", "a^2-b^2", ["(a-b)(a+b)", "(a+b)(a-b)", "-(b^2-a^2)", "-b^2+a^2"], ["(a-b)^2", "b^2-a^2", "a^2+b^2", "2a-2b"])
family("expression", r"3x^2\sqrt{y}", [r"3\sqrt{y}x^2", r"3x^2y^{1/2}", r"\sqrt{9y}x^2"], [r"3x\sqrt{y}", r"3x^2y", r"9x^2\sqrt y"])
family("expression", r"\pi r^2h", [r"h\pi r^2", r"r^2\pi h", r"\pi h r\cdot r"], [r"\pi rh^2", r"2\pi r^2h", "3.14r^2h"])
family(
    "expression",
    r"\frac{-b+\sqrt{b^2-4ac}}{2a}",
    [r"\frac{\sqrt{b^2-4ac}-b}{2a}", r"-\frac{b}{2a}+\frac{\sqrt{b^2-4ac}}{2a}", r"\frac{2c}{-b-\sqrt{b^2-4ac}}"],
    [r"\frac{b+\sqrt{b^2-4ac}}{2a}", r"\frac{-b-\sqrt{b^2-4ac}}{2a}", r"\frac{-b\pm\sqrt{b^2-4ac}}{2a}"],
)
family("expression", r"\lfloor x\rfloor+1", [r"1+\lfloor x\rfloor", r"\lfloor x+1\rfloor"], [r"\lceil x\rceil", r"\lfloor x\rfloor", "x+1"])
family("expression", r"\frac{x+|x|}{2}", [r"\frac{|x|+x}{2}", r"\frac12x+\frac12|x|"], ["x", "0", "|x|"])
family("must be worked out", "5/6", [r"\frac{10}{12}"], [r"\frac12+\frac13", "1/2+1/3", r"\frac{5}{2\cdot3}", r"1-\frac16", r"\frac{\frac52}{3}"])
family("must be worked out", "2", ["2.0", r"\frac{4}{2}"], [r"\sqrt4", "|-2|", r"\log_3 9", r"\lfloor 2.5\rfloor", "-(-2)", "2^1", "1+1", r"\frac{2!}{1}", "(1)(2)", r"\binom21"])
family("worked out", r"\sqrt{16}", ["4", r"\sqrt{16}", "2^2"], ["-4", r"\pm4", "8"])
family("worked out", r"3\cdot 7+1", ["22", "1+21", "22.0"], ["24", "21", "37"])
family("scientific", "1000", [r"1\times10^3", r"1.0\times10^{3}", "1e3", "1000.0"], ["10^3", r"10\times10^2", r"1\times10^2"])
family("scientific", r"-0.0056", [r"-5.6\times10^{-3}", "-5.6e-3"], [r"5.6\times10^{-3}", r"-5.6\times10^{3}"])
family(
    "union",
    r"(-\infty,2)\cup(5,\infty)",
    [r"x<2\text{ or }x>5", r"(5,\infty)\cup(-\infty,2)", r"x>5 \text{ or } x<2", r"\mathbb{R}\setminus[2,5]"],
    [r"x<2\text{ or }x\ge5", r"2<x<5", r"(-\infty,2]\cup[5,\infty)", r"(2,5)"],
)
family("union", "(2,5)", [r"x>2\text{ and }x<5", r"x<5\text{ and }x>2", r"2<x<5"], [r"x>2\text{ and }x\le5", "x>2", r"x<2\text{ or }x>5"])
family("union", r"[0,1]\cup[2,3]\cup\{7\}", [r"\{7\}\cup[0,1]\cup[2,3]", r"[2,3]\cup\{7\}\cup[0,1]"], [r"[0,1]\cup[2,3]", r"[0,1]\cup[2,3]\cup\{8\}", r"[0,3]\cup\{7\}"])
family("real numbers", r"\mathbb{R}", [r"(-\infty,\infty)", "\u211d", r"(-\infty,+\infty)", r"\mathbb R"], [r"\mathbb{Z}", r"(0,\infty)", r"\mathbb{R}\setminus\{0\}", r"\emptyset"])
family(
    "sets of tuples", r"(1,2),(3,4)", [r"(3,4),(1,2)", r"\{(1,2),(3,4)\}", r"(1,2)\text{ and }(3,4)", r"(3,4) \text{ or } (1,2)", r"(1, 2), (3, 4)"], ["(2,1),(3,4)", "(1,2)", "(1,2,3,4)", "1,2,3,4", "(1,2),(3,4),(5,6)"]
)
family("sets of tuples", r"\{(0,0),(1,-1)\}", [r"\{(1,-1),(0,0)\}", "(0,0),(1,-1)"], [r"\{(0,0)\}", r"\{(0,0),(-1,1)\}"])
family("choices", "A,C", ["A, C", "C, A", r"\text{A and C}", r"\text{A, C}", "(A), (C)", r"\text{A}, \text{C}", "A and C", r"\textbf{(A)}, \textbf{(C)}"], ["A", "A,B", "A, C, D", "B, C"])
family("words and numbers", "5", [], [r"\text{The answer is }5", r"5\text{ (approx)}", r"\text{five}", r"5\text{ or }6", "5 is the answer", r"\text{answer: }5", r"5\text{ elephants}", "5?"])
family("percent", "5 percent", [r"5\%", "0.05", "5", r"\frac{1}{20}"], ["0.5", r"50\%"])
family("text", "\u5317\u4eac", ["\u5317\u4eac", r"\text{" + "\u5317\u4eac" + "}"], ["\u4e0a\u6d77", "\u5317"])
family("text", r"\text{isosceles triangle}", ["isosceles triangle", r"\text{Isosceles triangle}", "Isosceles Triangle."], ["triangle", r"\text{equilateral triangle}"])
family("name", r"\angle ABC", [r"\angle ABC", r"\angle{ABC}", r"\angle  ABC"], [r"\angle ACB", "ABC"])
family("modulus", r"3\pmod{7}", [r"3\pmod{7}", r"3 \pmod{7}", r"3\pmod 7"], [r"4\pmod{7}", r"3\pmod{8}"])

# Texts.
family(
    "choice",
    "C",
    ["(C)", r"\text{C}", r"\text{(C)}", r"\textbf{(C)}", "C.", r"\mathrm{C}", r"\mathbf{C}", "(C).", "c", r"\textbf{C}", r"\text{C}.", r"\left(\text{C}\right)", "{C}"],
    ["D", r"\text{B}", "CC", "(A)", "C, D", "not C", "A or C", "3"],
)
family("choice", "(B)", ["B", r"\text{B}", "(b)", r"\textbf{(B)}", r"\mathrm{(B)}"], ["(C)", "A", "BB"])
family("choice", r"\text{(E)}", ["E", "(E)", r"\text{E}", r"\textbf{(E) }"], ["e^1", "(D)", "F"])
family("boolean", "True", ["true", r"\text{True}", "TRUE", r"\text{true}.", r"\mathrm{True}"], ["False", "yes", "1", "untrue"])
family("boolean", "no", ["No", r"\text{No}", "NO", "No."], ["yes", "none", "know", "0"])
family("text", "Monday", [r"\text{Monday}", "monday", "Monday.", r"\textbf{Monday}", r"\text{ monday }"], ["Tuesday", "Mon", r"\text{Monday or Tuesday}"])
family("text", r"\text{no solution}", ["no solution", r"\text{No solution.}", "No Solution", r"\text{no}\ \text{solution}"], [r"\text{one solution}", "0", r"\text{solution}"])
family("text", "New York", [r"\text{New York}", "new york", r"\text{New}~\text{York}", r"\text{NEW YORK}"], ["York", r"\text{New Jersey}"])
family("text", "two", ["two", r"\text{Two}"], ["2", "three"])
family("text", "None", [r"\text{None}", "none"], ["0", r"\text{no one}"])
family("ordinal", "3rd", ["3rd", r"3\text{rd}", r"3^{\text{rd}}", r"3^{rd}"], ["2nd", "4th", "13th"])
family("ordinal", "11", ["11th", r"11^{\text{th}}", r"11^{th}"], ["11st", "1st", "12th"])
family("ordinal", "21st", ["21st", r"21\text{st}", r"21^{\text{st}}"], ["12th", "22nd", "1st"])

# Broken texts.
family("broken", "1/2", [], ["\x0crac{1}{2}", r"\frac{1}{2", r"\frac{1}", r"\frac12)", r"(\frac12", r"\frac{1}{2}\right)", r"1/", "/2", r"1//2", r"\frac{}{}", r"\\", "{", r"1/2 = 0.6"])
family("broken", "6", [], ["\text{6", "6)", "(6", "6+", r"\sqrt{", "6=", "6,", "*6", "6//1", r"6\text{", "6 6", "6..0", "^6", "_6"])

# Whole responses.
respond(
    "box",
    "7",
    [
        r"So the answer is \boxed{7}.",
        r"$\boxed{7}$",
        r"\[ \boxed{7} \]",
        r"\(\boxed{7}\)",
        r"$$\boxed{7}$$",
        r"First \boxed{5}, then \boxed{7}.",
        r"\boxed{\boxed{7}}",
        r"\boxed{ \boxed{ 7 } }",
        r"\boxed{8} \boxed{7}",
        "a\n\\boxed{7}\n\nDone.",
        r"\boxed{7}<|im_end|>",
        "\\boxed{7}<\uff5cend\u2581of\u2581sentence\uff5c>",
        r"\boxed{7}</s>",
        r"\boxed{7} and \boxed{8",
        r"\boxed {7}",
        r"\boxed{7}}",
        r"}\boxed{7}",
        r"\{ \boxed{7}",
        r"**\boxed{7}**",
        r"\boxed{\text{7}}",
        r"\boxed{\mathbf{7}}",
        "Answer: 8\n\\boxed{7}",
        "\\boxed{7}\nAnswer: 8",
        r"\boxed{7} hence 8 is not it",
        r"Therefore, $x=\boxed{7}$.",
        r"\fbox{8} \boxed{7}",
        r"\boxed{\displaystyle 7}",
    ],
    [
        r"\boxed{7",
        r"\boxed{}",
        r"\boxed{ }",
        r"\fbox{7}",
        r"\boxed 7",
        r"boxed{7}",
        r"\Boxed{7}",
        r"\boxed{7} \boxed{8}",
        r"\boxed{7} or \boxed{}",
        r"\box{7}",
        r"\boxed(7)",
        r"\boxed{7 8}",
        "7",
        "The answer is 7.",
        "",
        "\n",
        r"\boxed{\boxed{8}}",
        r"\boxed{8}\nAnswer: 7",
        "\x08oxed{7}",
        r"\boxed{7\boxed{}}",
        r"\boxed{seven}",
        "answer 7",
        r"\boxed{I do not know}",
    ],
)
respond(
    "answer line",
    "7",
    [
        "Answer: 7",
        "**Answer:** 7",
        "**Answer**: 7",
        "answer: 7",
        "ANSWER: 7",
        "Final Answer: 7",
        "The answer: 7",
        "Answer : 7",
        "Answer: $7$",
        r"Answer: \(7\)",
        "Answer: 7.",
        "Answer: $7$.",
        "Answer: 8\nAnswer: 7",
        "Answer: 7\n\nI hope this helps.",
        "Answer: **7**",
        "Answer: x = 7",
        "Answer: 7 cm",
        r"Answer: 7\text{ cm}",
        "Answer: 7.0",
        "Answer: 14/2",
        "Answer: (7)",
        "**Final Answer:** $7$",
        "Answer: 7  \n",
        "Answer:7",
        "Answer:\t7",
        "*Answer:* 7",
        "Answer: 7 units",
    ],
    [
        "Answer: 8",
        "Answer: 7\nAnswer: 8",
        "Answer: 7 is my guess",
        "Answer: about 7",
        "Answer: the value is 7",
        "Answer: 7 or 8",
        "Answer 7",
        "Answer - 7",
        "Answer is 7",
        "Answer: seven",
        "Answer: 7 because 3+4=7",
        "Answer: 3+4",
        "Answer: 7, probably",
        "Answer: 7 elephants",
        "Answers: 7",
        "Answer:",
        "Answer: ",
        "Answer: ?",
        "Answer: I think 7",
        "Result: 7",
        "Solution: 7",
    ],
)
respond(
    "thoughts",
    "7",
    [
        r"<think>\boxed{5}</think>\boxed{7}",
        "<think>x</think>\nAnswer: 7",
        r"x</think>\boxed{7}",
        r"</think>\boxed{7}",
        r"<think>a</think>b</think>\boxed{7}",
        r"<think></think>\boxed{7}",
        "<think>Answer: 5</think>Answer: 7",
    ],
    [
        r"<think>\boxed{7}</think>",
        r"<think>\boxed{7}</think>\boxed{5}",
        r"<think>\boxed{7}",
        r"<think>hm \boxed{7} so",
        r"\boxed{7}</think>",
        r"</think>\boxed{7}</think>",
        r"<think>\boxed{7}</think>The answer is 7.",
        r"<think>a</think>\boxed{7}</think>b",
        "<think>Answer: 7</think>",
    ],
)
respond("gold boxed", r"\boxed{12}", [r"\boxed{12}", "Answer: 12"], [r"\boxed{13}"])
respond("gold in dollars", r"$\frac{3}{5}$", [r"\boxed{0.6}", r"\boxed{\frac35}"], [r"\boxed{5/3}"])
respond("gold a number", 34, [r"\boxed{34}", r"\boxed{34.0}"], [r"\boxed{35}"])
respond("gold a number", 2.50, [r"\boxed{2.5}", r"\boxed{\frac52}"], [r"\boxed{2}"])
respond("gold a number", 0, [r"\boxed{0}", "Answer: 0", r"\boxed{-0}"], [r"\boxed{1}", r"\boxed{}"])
respond("gold a number", -7, [r"\boxed{-7}", "\\boxed{\u22127}"], [r"\boxed{7}"])
respond("alternatives", ["1/2", "0.6"], [r"\boxed{0.5}", r"\boxed{\frac35}"], [r"\boxed{0.7}"])
respond("alternatives", ["B", r"\text{blue}"], [r"\boxed{(B)}", r"\boxed{Blue}"], [r"\boxed{C}"])
respond("no gold", "", null=[r"\boxed{7}", "Answer: 7", ""])
respond("no gold", None, null=[r"\boxed{7}", "x"])
respond("no gold", "   ", null=[r"\boxed{7}"])
respond("no gold", [], null=[r"\boxed{7}"])
respond("chinese punctuation", "7", ["Answer: 7\u3002", "\u7b54\u6848\u662f\\boxed{7}\u3002", "Answer\uff1a7", "\\boxed{7\u3002}"], ["\u7b54\u6848\uff1a7"])
respond("chinese punctuation", "(3,4)", ["\\boxed{\uff083\uff0c4\uff09}", "\\boxed{(3\uff0c4)}"], ["\\boxed{\uff084\uff0c3\uff09}"])
respond("chinese punctuation", "3,4", ["\\boxed{3\u30014}", "\\boxed{3\uff0c4}"], ["\\boxed{3\u30015}"])
respond("full-width digits", "34", ["\\boxed{\uff13\uff14}"], ["\\boxed{\uff14\uff13}"])
