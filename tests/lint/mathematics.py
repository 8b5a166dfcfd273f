"""Finds mathematics whose last bit a library or a processor decides, where it could reach a result.

Only operations that IEEE 754 rounds correctly may be used there: tessera/base/math has functions that are made of them.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAY_USE_ANY = (  # what plans times and memory or prints, and what tests compare with
    "app/explain/",
    "app/output/report.cpp",
    "collectives/",
    "comm/",
    "fft/choice/",
    "machine/",
    "md/memory/",
    "programs/",
)
OF_TESTS = re.compile(r"_test\.cpp$|_reference\.cpp$|test_support")
FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p pow cbrt hypot sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh "
    "atanh erf erfc tgamma lgamma polar arg"
)
FORBIDDEN = {
    rf"\bstd::({FUNCTIONS.replace(' ', '|')})[fl]?\s*\(": "use tessera::math",
    rf"(?<![\w:.>])({FUNCTIONS.replace(' ', '|')})[fl]?\(": "use tessera::math",
    r"\blong double\b": "it has another length on each processor",
    r"\b\w+_distribution\b": "each standard library has its own; use tessera/base/random.h",
    r"hwy/contrib/math": "Highway's functions differ between instruction sets",
    r"\bhn::(MulAdd|MulSub|NegMulAdd|NegMulSub|MulAddSub)\b": "use simd::, which rounds once on every instruction set",
    r"\bhn::Approximate\w+": "estimates differ between processors",
}
DEFINES_THEM = ("base/math/", "base/simd/rounding-inl.h")


def code_of(text: str) -> str:
    """Blanks comments and strings, line by line."""
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', re.sub(r"#\s*include.*", lambda m: m[0].replace('"', " "), text))
    return re.sub(r"//.*", "", text)


def violations() -> list[str]:
    found = []
    base = ROOT / "cpp" / "tessera"
    for file in sorted(base.glob("**/*.[hc]*")):
        name = file.relative_to(base).as_posix()
        if name.startswith((*MAY_USE_ANY, *DEFINES_THEM)) or OF_TESTS.search(name):
            continue
        for number, line in enumerate(code_of(file.read_text()).splitlines(), 1):
            for pattern, advice in FORBIDDEN.items():
                if match := re.search(pattern, line):
                    found.append(f"{file.relative_to(ROOT)}:{number}: {match[0].rstrip('(')}: {advice}")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
