"""Losses times their oracles: what the laws are multiplied with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import oracles
from shiftproof.risk import LossCurves

# Few values, so that ties are the rule; and values whose sums are not exact in binary.
PLAIN = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0])
ANY = st.floats(0, 3, allow_nan=False).map(lambda x: float(np.float64(round(x, 12))))
SCORES = st.one_of(PLAIN, ANY)
WEIGHTS = st.one_of(
    st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 1.0, 1.8, 3.0]),
    st.floats(1e-3, 1e3, allow_subnormal=False),
    st.sampled_from([1e-30, 1e-9, 1e9, 1e30]),
)
WHOLE_WEIGHTS = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, 7.0])
UP_TO_SIX = st.integers(1, 6)
BOUND = 10.0


@dataclass
class Subject:
    """Loss curves in both forms, and a worst case for a test point in both forms."""

    curves: LossCurves
    oracle: list[oracles.OracleLoss]
    worst: LossCurves
    oracle_worst: oracles.OracleLoss

    def __len__(self) -> int:
        return len(self.oracle)


@st.composite
def steps(draw, sizes=UP_TO_SIX):
    n = draw(sizes)
    lower = draw(st.sampled_from([0.0, -np.inf, 0.2]))
    scores = draw(st.lists(st.one_of(SCORES, st.just(np.inf)), min_size=n, max_size=n))
    far = draw(SCORES)
    return Subject(
        LossCurves.steps(scores, lower=lower),
        [oracles.step(score) for score in scores],
        LossCurves.steps([far], lower=lower),
        oracles.step(far),
    )


@st.composite
def hinges(draw, sizes=UP_TO_SIX):
    n = draw(sizes)
    lower = draw(st.sampled_from([0.0, -1.0]))
    scores = draw(st.lists(SCORES, min_size=n, max_size=n))
    slopes = draw(st.lists(st.sampled_from([0.5, 1.0, 1.0, 2.0]), min_size=n + 1, max_size=n + 1))
    far = draw(SCORES)
    return Subject(
        LossCurves.hinges(scores, slopes[:n], bound=BOUND, lower=lower),
        [oracles.hinge(r, s) for r, s in zip(scores, slopes[:n], strict=True)],
        LossCurves.hinges([far], slopes[n:], bound=BOUND, lower=lower),
        oracles.hinge(far, slopes[n]),
    )


@st.composite
def capped_hinges(draw, sizes=UP_TO_SIX):
    n = draw(sizes)
    lower = draw(st.sampled_from([0.0, -np.inf, -0.5]))
    cap = draw(st.sampled_from([0.3, 1.0, 0.7]))
    scores = draw(st.lists(SCORES, min_size=n, max_size=n))
    slopes = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n + 1, max_size=n + 1))
    far = draw(SCORES)
    return Subject(
        LossCurves.hinges(scores, slopes[:n], bound=cap, cap=cap, lower=lower),
        [oracles.hinge(r, s, cap) for r, s in zip(scores, slopes[:n], strict=True)],
        LossCurves.hinges([far], slopes[n:], bound=cap, cap=cap, lower=lower),
        oracles.hinge(far, slopes[n], cap),
    )


@st.composite
def staircases(draw, sizes=UP_TO_SIX):
    n = draw(sizes)
    lower = draw(st.sampled_from([0.0, -np.inf]))
    drops = st.sampled_from([0.0, 0.1, 0.25, 0.5])
    tails = draw(st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.1]), min_size=n + 1, max_size=n + 1))
    stairs = [draw(st.lists(st.tuples(SCORES, drops), max_size=3)) for _ in range(n + 1)]

    def curves(some, levels):
        flat = [(owner, *pair) for owner, pairs in enumerate(some) for pair in pairs]
        owner, knots, falls = zip(*flat, strict=True) if flat else ((), (), ())
        return LossCurves.staircases(levels, knots, falls, owner, bound=2.0, lower=lower)

    def oracle(pairs, tail):
        return oracles.staircase(tail, [k for k, _ in pairs], [d for _, d in pairs])

    return Subject(
        curves(stairs[:n], tails[:n]),
        [oracle(pairs, tail) for pairs, tail in zip(stairs[:n], tails[:n], strict=True)],
        curves(stairs[n:], tails[n:]),
        oracle(stairs[n], tails[n]),
    )


@st.composite
def mixed(draw, sizes=UP_TO_SIX):
    """Steps and capped hinges side by side, as merging and compression bring them together."""
    n = draw(sizes)
    lower = draw(st.sampled_from([0.0, -np.inf]))
    cap = draw(st.sampled_from([0.3, 0.7]))

    def one():
        score, slope = draw(SCORES), draw(st.sampled_from([0.5, 1.0, 5.0]))
        if draw(st.booleans()):
            return LossCurves.steps([score], lower=lower), oracles.step(score)
        curve = LossCurves.hinges([score], slope, bound=1.0, cap=cap, lower=lower)
        return curve, oracles.hinge(score, slope, cap)

    curves, losses = zip(*(one() for _ in range(n)), strict=True)
    worst, oracle_worst = one()
    return Subject(LossCurves.concatenate(curves), list(losses), worst, oracle_worst)


SUBJECTS = {
    "steps": steps(),
    "hinges": hinges(),
    "capped hinges": capped_hinges(),
    "staircases": staircases(),
    "mixed": mixed(),
}


def levels(subject: Subject):
    """Tolerated risks: round ones, which tie, and any."""
    round_ones = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.6, 0.9, 1.0])
    bound = subject.curves.bound
    return st.one_of(round_ones, st.floats(0, 1)).map(lambda part: min(part * bound, bound))


def agrees(found, exact, name: str, scale: float = 3.0) -> bool:
    """Steps: the same number. Slopes: equal up to rounding in sums over many orders of size."""
    lam = float(np.ravel(found)[0])
    if name in ("steps", "staircases") or np.isinf(lam) or not isinstance(exact, oracles.Fraction):
        return lam == float(exact)
    return abs(lam - float(exact)) <= 2e-10 * scale
