"""The definitions, slow and obvious, in exact rational numbers.

Nothing here is shared with the package. A float is read as its shortest decimal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

INF = math.inf


def dec(value: float) -> Fraction:
    return Fraction(repr(float(value)))


@dataclass
class OracleLoss:
    """One loss curve by its definition, and the places where it bends or jumps."""

    value: Callable[[Fraction], Fraction]
    places: list[Fraction]


def step(score: float) -> OracleLoss:
    if math.isinf(score):
        return constant(1.0 if score > 0 else 0.0)
    return OracleLoss(lambda lam: Fraction(int(dec(score) > lam)), [dec(score)])


def hinge(score: float, slope: float = 1.0, cap: float | None = None) -> OracleLoss:
    r, s = dec(score), dec(slope)
    if cap is None:
        return OracleLoss(lambda lam: s * max(r - lam, Fraction(0)), [r])
    c = dec(cap)
    return OracleLoss(lambda lam: min(s * max(r - lam, Fraction(0)), c), [r, r - c / s])


def staircase(tail: float, knots: Sequence[float], drops: Sequence[float]) -> OracleLoss:
    pairs = [(dec(k), dec(d)) for k, d in zip(knots, drops, strict=True)]
    return OracleLoss(
        lambda lam: dec(tail) + sum((d for k, d in pairs if lam < k), Fraction(0)),
        [k for k, _ in pairs],
    )


def constant(level: float) -> OracleLoss:
    return OracleLoss(lambda _: dec(level), [])


def smallest(
    meets: Callable[[Fraction], Fraction], places: Sequence[Fraction], lower: float
) -> Fraction | float:
    """inf{ lam >= lower : meets(lam) <= 0 } of a right-continuous, piecewise linear function."""
    first = dec(lower) if math.isfinite(lower) else min(places, default=Fraction(0)) - 1
    grid = [first, *sorted({place for place in places if place > first})]
    for index, left in enumerate(grid):
        if meets(left) <= 0:
            return -INF if index == 0 and math.isinf(lower) else left
        right = grid[index + 1] if index + 1 < len(grid) else left + 2
        third = left + (right - left) / 3
        fall = (meets(left) - meets(third)) / (third - left)
        if fall > 0:
            crossing = left + meets(left) / fall
            if crossing < right or index + 1 == len(grid):
                return crossing
    return INF


def threshold(
    losses: Sequence[OracleLoss],
    weights: Sequence[float],
    alpha: float,
    test_weight: float,
    worst: OracleLoss,
    lower: float = 0.0,
) -> Fraction | float:
    """Paper eq. 9-12 with the edges of the theory page, and never beyond D(x)."""
    w, level = [dec(weight) for weight in weights], dec(alpha)
    places = [place for loss in losses for place in loss.places] + worst.places
    reach = smallest(worst.value, worst.places, lower)
    if math.isinf(test_weight) or sum(w) == 0:
        if test_weight == 0:
            return reach
        alone = smallest(lambda lam: worst.value(lam) - level, worst.places, lower)
        return min(alone, reach)
    mass = sum(w) + dec(test_weight)

    def augmented_risk(lam: Fraction) -> Fraction:
        total = sum(wi * loss.value(lam) for wi, loss in zip(w, losses, strict=True) if wi)
        return (total + dec(test_weight) * worst.value(lam)) / mass

    return min(smallest(lambda lam: augmented_risk(lam) - level, places, lower), reach)


def boxed_threshold(
    losses: Sequence[OracleLoss],
    low: Sequence[float],
    high: Sequence[float],
    alpha: float,
    test_low: float,
    test_high: float,
    worst: OracleLoss,
    lower: float = 0.0,
) -> Fraction | float:
    """The worst case over a box: each weight at the end of its interval that is worse."""
    level = dec(alpha)
    everyone = [*losses, worst]
    ends = [(dec(a), dec(b)) for a, b in zip([*low, test_low], [*high, test_high], strict=True)]

    def excess(lam: Fraction) -> Fraction:
        gaps = [loss.value(lam) - level for loss in everyone]
        return sum((max(a * g, b * g) for (a, b), g in zip(ends, gaps, strict=True)), Fraction(0))

    places = [place for loss in everyone for place in loss.places]
    crossings = [smallest(lambda lam, f=f: f.value(lam) - level, f.places, lower) for f in everyone]
    places += [place for place in crossings if isinstance(place, Fraction)]
    reach = smallest(worst.value, worst.places, lower)
    if not any(b for _, b in ends):
        return reach
    return min(smallest(excess, places, lower), reach)


def randomized_contains(
    score: float,
    scores: Sequence[float],
    weights: Sequence[float],
    alpha: float,
    w: float,
    u: float,
) -> bool:
    """p(r) > alpha, from its definition."""
    total = sum(dec(weight) for weight in weights) + dec(w)
    above = sum(dec(wi) for wi, s in zip(weights, scores, strict=True) if s > score)
    equal = sum(dec(wi) for wi, s in zip(weights, scores, strict=True) if s == score)
    return (above + dec(u) * (equal + dec(w))) / total > dec(alpha)
