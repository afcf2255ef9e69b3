"""Put one mistake at a time into risk/ and see whether the tests notice: python tests/mutants.py

Two kinds of mistake. Every comparison in risk/ has its strictness swapped (< with <=, > with >=);
and the mistakes that were found in other people's code are made on purpose. A mutant that survives
fails the run, unless it stands in EQUIVALENT with the reason why it changes nothing.

Usage: python tests/mutants.py [word ...]   only mutants whose name contains one of the words
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RISK = ROOT / "src" / "shiftproof" / "risk"
SWAPPED = {"Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">"}
WRITTEN = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}
#: The tests that are about risk/; those of what stands on it would only take longer.
TESTS = [
    *(
        f"tests/unit/test_{name}.py"
        for name in (
            [
                "sums",
                "edges",
                "boxes",
                "border",
                "compression",
                "keys",
                "priced",
                "within_groups",
                "clip",
                "groups",
            ]
        )
    ),
    *(f"tests/laws/test_{name}.py" for name in ("laws", "oracle", "ratio_laws", "budget")),
    "tests/published/test_weighted_quantile.py",
    "src/shiftproof/risk",
]

PATIENCE = 900  # seconds, several times what all tests take


@dataclass(frozen=True)
class Mutant:
    """A change to one line (or one passage) of one module."""

    module: str
    before: str
    after: str
    line: int = 0
    column: int = 0

    @property
    def name(self) -> str:
        place = f"{self.module}:{self.line}" if self.line else self.module
        return f"{place} {self.before.strip()!r} -> {self.after.strip()!r}"

    def applied(self, source: str) -> str:
        if self.line:
            lines = source.splitlines(keepends=True)
            head, tail = lines[self.line - 1][: self.column], lines[self.line - 1][self.column :]
            assert tail.startswith(self.before), self.name
            lines[self.line - 1] = head + self.after + tail[len(self.before) :]
            return "".join(lines)
        assert source.count(self.before) == 1, f"{self.name}: {source.count(self.before)} places"
        return source.replace(self.before, self.after)


# The mistakes of the field, and those that this code could make.
DELIBERATE = [
    # the test point's own weight is forgotten, or fixed
    Mutant("augmented.py", "room = room - _times(weight, worst.tail - (points.alpha if part == 0 else 0.0))",
           "room = room + 0.0 * weight"),
    Mutant("curve.py", "        w = question.flat(weight)\n", "        w = np.ones_like(question.flat(weight))\n"),
    # what the picture of the rule shows is not the rule
    Mutant("curve.py", "        return (a - mass).reshape", "        return (a + mass).reshape"),
    Mutant("curve.py", "w / self.total_weight * beyond", "w * beyond"),
    Mutant("curves.py", "np.nextafter(jumps, -np.inf)", "jumps"),
    # weights are sorted without their scores
    Mutant("descent.py", "        weight = weights[self.example]\n", "        weight = np.sort(weights)\n"),
    Mutant("descent.py", "        example = losses.owner[order]\n", "        example = losses.owner\n"),
    # a bound of 1 for every loss
    Mutant("rule.py", "LossCurves.flat(constant, losses.lower)", "LossCurves.flat(1.0, losses.lower)"),
    # an infinite threshold becomes the largest score
    Mutant("descent.py", "        result[index < 0] = np.inf\n", "        pass\n"),
    # weights are clipped
    Mutant("curve.py", "    return weight\n\n\n", "    return np.minimum(weight, 2.0)\n\n\n"),
    # the whole space is forgotten where there is no weight
    Mutant("augmented.py", "np.where(points.high > 0, points.worst.first_below(points.alpha), np.inf)",
           "points.worst.first_below(points.alpha)"),
    Mutant("augmented.py", "alone = np.isinf(points.low) | self.weightless", "alone = np.isinf(points.low)"),
    Mutant("augmented.py", "        return np.minimum(np.where(alone, by_itself, both), points.worst.reach)\n",
           "        return np.where(alone, by_itself, both)\n"),
    Mutant("augmented.py", "np.where(endless, np.maximum(by_itself, by_curve), by_curve)", "by_curve"),
    # the envelope: its ramp, its end, its own weight
    Mutant("augmented.py", "room, level = room - rise, level + heights", "room, level = room, level + heights"),
    Mutant("augmented.py", "_times(weight, heights), _times(weight, slopes)",
           "_times(weight, heights), slopes"),
    # boxes: the test point always takes its upper weight; calibration points always the lower one
    Mutant("augmented.py", "return [(self.low, below), (self.high, above)]",
           "return [(self.high, below), (self.high, above)]"),
    Mutant("augmented.py", "return [(self.low, below), (self.high, above)]",
           "return [(self.low, below), (self.low, above)]"),
    Mutant("boxes.py", "            np.concatenate([low, high]),\n", "            np.concatenate([low, low]),\n"),
    Mutant("boxes.py", "            np.concatenate([low, high]),\n", "            np.concatenate([high, high]),\n"),
    Mutant("boxes.py", "largest: FloatArray = np.max(each, axis=0)", "largest: FloatArray = np.min(each, axis=0)"),
    Mutant("boxes.py", "curve, total(low), self._weightless", "curve, total(high), self._weightless"),
    # rounding is ignored, in each of the places that deal with it
    Mutant("augmented.py", "        return 16 * UNIT * terms + self.descent.slack\n", "        return 0.0 * terms\n"),
    Mutant("augmented.py", "            lam[where] = self._settle(lam[where], points.select(where), band[where])\n",
           "            pass\n"),
    Mutant("sums.py", "    return Fraction(repr(float(value)))\n", "    return Fraction(float(value))\n"),
    Mutant("sums.py", "    high += np.cumsum(rest, out=rest)\n", ""),
    Mutant("boxes.py", "            slack=16 * UNIT * alpha * total(high),  # each curve was cut at alpha, rounded\n", ""),
    # randomised rule: no weight for ties, no random number for the test point
    Mutant("curve.py", "closed = (above + u * (from_here - above) > room)", "closed = (above > room)"),
    Mutant("curve.py", "room = a * self.total_weight - w * (u - a)", "room = a * self.total_weight - w * (1 - a)"),
    # star-shaped sets allow for the farthest label in all directions
    Mutant("rule.py", "            scores.ravel(),\n", "            np.repeat(scores.max(axis=1), directions),\n"),
    # compression rounds down, or forgets what it weighs
    Mutant("compression.py", "np.maximum.accumulate(to_left) <= np.minimum(on_the_way, allowed_end)",
           "to_left <= np.minimum(on_the_way, allowed_end)"),
    Mutant("compression.py", ".max())\n            slope", ".min())\n            slope"),
    Mutant("compression.py", "RiskCurve(losses, [curve.total_weight])", "RiskCurve(losses)"),
    # a hinge without its scale, a ramp without its end
    Mutant("curves.py", "np.where(gap > 0, np.minimum(self.slopes * gap, self.heights), 0.0)",
           "np.where(gap > 0, self.slopes * gap, 0.0)"),
    Mutant("curves.py", "        return np.where(self.tail > level, np.inf, np.maximum(result, self.lower))\n",
           "        return np.maximum(result, self.lower)\n"),
    # one role for all rows' randomness is caught where keys are tested; outcomes lose their reason
    Mutant("outcome.py", "        (outside & is_whole, Outcome.OUTSIDE_SUPPORT),\n", ""),
    Mutant("outcome.py", "        (silent, Outcome.NO_TEST_MASS),\n", ""),
]  # fmt: skip

SAME_ROAD = "only chooses between two roads to the same threshold"
EDGE = "the edge of a bound on rounding, from where exact numbers decide"
ENDLESS = "does not end"

# Comparisons whose strictness changes no result: module, passage, reason.
EQUIVALENT = [
    ("augmented.py", "high - low > self._tolerance", SAME_ROAD),
    ("augmented.py", "(self.high > 0)", SAME_ROAD),
    ("augmented.py", "& (self.high < _TINY)", SAME_ROAD),
    ("augmented.py", "len(layers) <= 1", SAME_ROAD),
    ("augmented.py", "points) <= -band", EDGE),
    ("augmented.py", "points) > band", EDGE),
    ("augmented.py", "lam >= points.worst.reach", SAME_ROAD),
    ("augmented.py", "(lam <= self.lower)", SAME_ROAD),
    (
        "augmented.py",
        "(reached <= left)",
        "a walk that ends too early is doubtful, and then settled",
    ),
    ("augmented.py", "(level > 0)", "the answer is capped at the reach of the worst case anyway"),
    ("boxes.py", "abs(rate - rest) <= Fraction", "the edge of an allowance for rounding"),
    (
        "compression.py",
        "np.maximum.accumulate(to_left) <= np",
        "the tolerance is searched to 1e-12",
    ),
    ("compression.py", "len(everything) <= knots + 1", SAME_ROAD),
    ("compression.py", "kept[-1] < len(", ENDLESS),
    ("compression.py", "height > 0", "a ramp of no height adds nothing"),
    ("compression.py", "steepness > 0", "a flat piece has no height"),
    ("curve.py", "> 1e300 / max(", "the edge of a limit that lies well before overflow"),
    ("curve.py", "(from_here - above) > room", "a tie of a random number has probability zero"),
    ("curves.py", "(self.bases > 0)", SAME_ROAD),
    ("curves.py", "<= 1e-12 * wanted", EDGE),
    ("descent.py", "change.min(initial=0.0) >= 0", SAME_ROAD),
    ("descent.py", "(lam > place)", "at a vertex the line has the level of the vertex"),
    ("descent.py", "<= risky)", EDGE),
    ("descent.py", "& (index < last)", SAME_ROAD),
    ("descent.py", "(width > TOLERANCE", EDGE),
    (
        "descent.py",
        "endless = np.where(slope > 0",
        "a flat edge without end is never where S meets",
    ),
    ("descent.py", "np.where(rises > 0", "an edge that does not rise is never where S meets"),
    ("descent.py", "while (low < high)", ENDLESS),
    ("descent.py", "+ line <= safe)", EDGE),
    ("descent.py", "safe) & (low < high)", "a finished search does not move"),
    ("descent.py", "safe >= self.levels[0]", "without room the line is left at its knot"),
    ("descent.py", "self.levels[0]) & (slope > 0)", "without a line the first vertex decides"),
    ("descent.py", "lam < right", "both are the same number"),
    ("descent.py", "(low >= high)", "a finished search does not move"),
    ("exact.py", "while low < high", ENDLESS),
    ("exact.py", "excess(grid[-1]) > 0", SAME_ROAD),
    ("exact.py", "margin > up", "in doubt a ramp is kept as it is"),
    ("exact.py", "losses.knots > down", "a ramp that begins here has no loss yet"),
    ("priced.py", "np.where(w > 0", "0/v is 0 as well, and 0/0 is never compared"),
    ("priced.py", "len(bends) > _FACTORS", "as many as are wanted are all taken"),
    ("exact.py", "losses.tail > 0", "no tail, no loss"),
    ("exact.py", "places >= start - margin", "the edge of a margin"),
    ("exact.py", "places <= stop + margin", "the edge of a margin"),
    ("exact.py", "place > 0 else", "an infinite knot is not zero"),
    ("exact.py", "place >= first", "the ends are in the grid already"),
    ("exact.py", "place <= last", "the ends are in the grid already"),
]


def comparisons() -> list[Mutant]:
    """Every comparison by order in risk/, its strictness swapped."""
    found = []
    for path in sorted(RISK.glob("*.py")):
        lines = path.read_text().splitlines()
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Compare):
                continue
            left = node.left
            for operator, right in zip(node.ops, node.comparators, strict=True):
                kind = type(operator).__name__
                if kind in SWAPPED and left.end_lineno == right.lineno:
                    line = lines[right.lineno - 1]
                    # Offsets count bytes; the code is plain ASCII where comparisons stand.
                    column = line.index(WRITTEN[kind], left.end_col_offset)
                    found.append(
                        Mutant(path.name, WRITTEN[kind], SWAPPED[kind], right.lineno, column)
                    )
                elif kind in SWAPPED:
                    raise AssertionError(f"{path.name}:{right.lineno}: comparison over two lines")
                left = right
    return found


def equivalence(mutant: Mutant) -> tuple[str, str, str] | None:
    """The entry that says why a swapped comparison changes nothing, if there is one."""
    if not mutant.line:
        return None
    line = (RISK / mutant.module).read_text().splitlines()[mutant.line - 1]
    for entry in EQUIVALENT:
        start = line.find(entry[1])
        if entry[0] == mutant.module and 0 <= start <= mutant.column < start + len(entry[1]):
            return entry
    return None


def survives(mutant: Mutant) -> bool:
    """Whether all tests pass with the mistake in place."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        for part in ("src", "tests", "docs"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / part, copy / part)
        target = copy / "src" / "shiftproof" / "risk" / mutant.module
        target.write_text(mutant.applied(target.read_text()))
        environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "SHIFTPROOF_RUNS": "1"}
        try:
            run = subprocess.run(  # noqa: S603 - our own tests
                [sys.executable, "-m", "pytest", "-x", "-q", *TESTS],
                cwd=copy,
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False  # a search that does not end is noticed by everyone
    if run.returncode not in (0, 1):
        # A mutant may break collection (exit code 2): that counts as noticed. Anything else is ours.
        assert run.returncode == 2, run.stdout[-2000:] + run.stderr[-2000:]
    return run.returncode == 0


def main(words: list[str]) -> int:
    mutants = [*DELIBERATE, *comparisons()]
    stale = {*EQUIVALENT} - {equivalence(mutant) for mutant in mutants}
    assert not stale, f"no such comparison any more: {stale}"
    if words:
        mutants = [mutant for mutant in mutants if any(word in mutant.name for word in words)]
    excused = [mutant for mutant in mutants if equivalence(mutant)]
    tried = [mutant for mutant in mutants if not equivalence(mutant)]
    if not survives(Mutant("sums.py", "import math\n", "import math\n")):
        print("the tests fail without any mistake: mend that first")
        return 2
    alive = []
    with ThreadPoolExecutor(2) as pool:
        for mutant, survived in zip(tried, pool.map(survives, tried), strict=True):
            print(f"{'SURVIVED' if survived else 'caught':<9}{mutant.name}", flush=True)
            if survived:
                alive.append(mutant)
    for mutant in excused:
        print(f"{'the same':<9}{mutant.name}: {equivalence(mutant)[2]}")
    print(f"{len(tried) - len(alive)} caught, {len(alive)} survived, {len(excused)} change nothing")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
