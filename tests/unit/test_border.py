"""Bad input is refused at the border, with what was expected, what came and how to mend it."""

import math
import pickle

import numpy as np
import pytest

from shiftproof import keys
from shiftproof.errors import InputError, ShiftproofError
from shiftproof.risk import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    LossCurves,
    RiskCurve,
    WeightBox,
    compressed,
    rate_vertices,
)

INF, NAN = math.inf, math.nan
STEPS = LossCurves.steps([1.0, 2.0])
CURVE = RiskCurve(STEPS)
HINGES = RiskCurve(LossCurves.hinges([1.0, 2.0], bound=5.0))
WEIGHTLESS = RiskCurve(STEPS, [0.0, 0.0])
STAIRS = {"bound": 1.0}

BAD = {
    "empty calibration": (lambda: RiskCurve(LossCurves.steps([])), "calibrate on at least one"),
    "empty box": (
        lambda: BoxedCurve(LossCurves.hinges([], bound=1), WeightBox([], [])),
        "calibrate on at least one",
    ),
    "nothing to join": (lambda: LossCurves.concatenate([]), "at least one part"),
    "joined with a number": (lambda: LossCurves.concatenate([STEPS, 3]), "expected LossCurves"),
    "scores for losses": (lambda: RiskCurve([1.0, 2.0]), "expected LossCurves, got list"),
    "losses for a curve": (lambda: compressed(STEPS, 2), "expected RiskCurve, got LossCurves"),
    "weights for a box": (lambda: BoxedCurve(STEPS, [1.0, 1.0]), "expected WeightBox, got list"),
    "weights for candidates": (
        lambda: CoherentCurve(STEPS, np.ones((1, 2))),
        "expected CoherentBox, got ndarray",
    ),
    "merge with another kind": (
        lambda: CURVE.merge(BoxedCurve(STEPS, WeightBox([1, 1], [1, 1]))),
        "expected RiskCurve, got BoxedCurve",
    ),
    "merge with a compression": (
        lambda: CURVE.merge(compressed(CURVE, 1)),
        "expected RiskCurve, got Compressed",
    ),
    "number beyond floats": (lambda: LossCurves.steps([10**400]), "expected numbers"),
    "bound in words": (lambda: LossCurves.hinges([1.0], bound="10"), "the largest value"),
    "two bounds": (lambda: LossCurves.hinges([1.0], bound=np.array([5, 6])), "the largest value"),
    "losses below lower": (lambda: STEPS.at(-1.0), "at least the lower end"),
    "NaN score": (lambda: LossCurves.steps([1.0, NAN, NAN]), r"position 1 \(2 such values\)"),
    "words": (lambda: LossCurves.steps(["a"]), "expected numbers"),
    "ragged": (lambda: LossCurves.steps([[1.0], [1.0, 2.0]]), "expected numbers"),
    "masked": (lambda: LossCurves.steps(np.ma.masked_equal([1.0, 2.0], 2.0)), "masked"),
    "matrix of scores": (lambda: LossCurves.steps([[1.0]]), r"got shape \(1, 1\)"),
    "missing bound": (lambda: LossCurves.hinges([1.0], bound=None), "bound: expected the largest"),
    "NaN bound": (lambda: LossCurves.hinges([1.0], bound=NAN), "bound: expected the largest"),
    "loss above bound": (lambda: LossCurves.hinges([6.0], bound=5.0), "at most the bound, 5.0"),
    "stairs above bound": (
        lambda: LossCurves.staircases([0], [1.0], [2.0], [0], bound=1.0),
        "at most the bound",
    ),
    "no bound below": (lambda: LossCurves.hinges([1.0], bound=9.0, lower=-INF), "uncapped hinges"),
    "cap above bound": (lambda: LossCurves.hinges([1.0], bound=2.0, cap=3.0), "at least the cap"),
    "cap of zero": (lambda: LossCurves.hinges([1.0], bound=2.0, cap=0.0), "cap above 0"),
    "a cap of zero for all of one": (
        lambda: LossCurves.hinges([1.0], bound=2.0, cap=np.float64(0.0)),
        "cap above 0",
    ),
    "one negative cap": (
        lambda: LossCurves.hinges([1.0, 2.0], bound=2.0, cap=[0.0, -0.5]),
        "got -0.5 at position 1",
    ),
    "one NaN cap": (
        lambda: LossCurves.hinges([1.0, 2.0], bound=2.0, cap=[NAN, 0.5]),
        "cap: expected no NaN",
    ),
    "one cap above bound": (
        lambda: LossCurves.hinges([1.0, 2.0], bound=2.0, cap=[1.0, 2.5]),
        "at least the cap, 2.5",
    ),
    "cap count": (
        lambda: LossCurves.hinges([1.0, 2.0], bound=2.0, cap=[1.0, 1.0, 1.0]),
        r"cap: expected one number or shape \(2,\), got shape \(3,\)",
    ),
    "one endless cap without an end": (
        lambda: LossCurves.hinges([1.0, 2.0], bound=INF, cap=[1.0, INF], lower=-INF),
        "uncapped hinges",
    ),
    "negative slope": (lambda: LossCurves.hinges([1.0], [-1.0], bound=2.0), "slopes above 0"),
    "slope of zero": (lambda: LossCurves.hinges([1.0], [0.0], bound=2.0), "slopes above 0"),
    "score of -inf": (lambda: LossCurves.hinges([-INF], bound=2.0), "scores above -inf"),
    "slope count": (lambda: LossCurves.hinges([1.0], [1.0, 1.0], bound=2.0), r"shape \(1,\)"),
    "rising stairs": (
        lambda: LossCurves.staircases([0], [1.0, 2.0], [0.5, -0.1], [0, 0], **STAIRS),
        "may not rise",
    ),
    "negative tail": (lambda: LossCurves.staircases([-1], [], [], [], **STAIRS), "at least 0"),
    "owner out of range": (
        lambda: LossCurves.staircases([0], [1.0], [0.5], [1], **STAIRS),
        "integers from 0 to 0",
    ),
    "owner at infinity": (
        lambda: LossCurves.staircases([0], [1.0], [0.5], [INF], **STAIRS),
        "integers from 0 to 0",
    ),
    "owner of a half": (
        lambda: LossCurves.staircases([0], [1.0], [0.5], [0.5], **STAIRS),
        "integers from 0 to 0",
    ),
    "drops count": (lambda: LossCurves.staircases([0], [1.0], [], [0], **STAIRS), r"shape \(1,\)"),
    "lower of inf": (lambda: LossCurves.steps([1.0], lower=INF), "number or -inf"),
    "unlike parts": (
        lambda: CURVE.merge(RiskCurve(LossCurves.steps([1.0], lower=-1.0))),
        "same loss",
    ),
    "thresholds count": (lambda: STEPS.at([1.0, 2.0, 3.0]), r"one number or shape \(2,\)"),
    "infinite calibration loss": (
        lambda: RiskCurve(LossCurves.hinges([INF], bound=INF)),
        "finite calibration losses",
    ),
    "negative weight": (lambda: RiskCurve(STEPS, [1.0, -1.0]), "got -1.0 at position 1"),
    "infinite weight": (lambda: RiskCurve(STEPS, [1.0, INF]), "finite weights"),
    "NaN weight": (lambda: RiskCurve(STEPS, [1.0, NAN]), "no NaN"),
    "weights count": (lambda: RiskCurve(STEPS, [1.0]), r"shape \(2,\), got shape \(1,\)"),
    "weights too large": (lambda: RiskCurve(STEPS, [1e260, 1.0]), "divide all weights"),
    "weights too small": (lambda: CURVE.reweighted([1e-260, 0.0]), "divide all weights"),
    "products too large": (
        lambda: RiskCurve(LossCurves.hinges([1e160], bound=INF), [1e160]),
        "products can be summed",
    ),
    "negative alpha": (lambda: CURVE.threshold(-0.1, 1.0, worst=1.0), "between 0 and the bound"),
    "alpha above bound": (lambda: CURVE.threshold(1.1, 1.0, worst=1.0), "between 0 and the bound"),
    "NaN alpha": (lambda: CURVE.threshold(NAN, 1.0, worst=1.0), "no NaN"),
    "negative test weight": (lambda: CURVE.threshold(0.1, -1.0, worst=1.0), "at least 0"),
    "NaN test weight": (lambda: CURVE.threshold(0.1, [1.0, NAN], worst=1.0), "no NaN"),
    "shapes": (lambda: CURVE.threshold([0.1, 0.2], [1, 2, 3], worst=1.0), "broadcast"),
    "worst below bound": (lambda: HINGES.threshold(1.0, 1.0, worst=4.0), "at least the bound"),
    "worst of NaN": (lambda: HINGES.threshold(1.0, 1.0, worst=NAN), "no NaN"),
    "worst of another loss": (
        lambda: HINGES.threshold(1.0, 1.0, worst=LossCurves.steps([3.0])),
        "bounded by 5.0",
    ),
    "flat worst below bound": (
        lambda: CURVE.threshold(0.1, 1.0, worst=LossCurves.flat(0.5)),
        "bounded by 1.0",
    ),
    "test weight beyond products": (
        lambda: CURVE.threshold(0.1, 1e300, worst=1.0),
        "or inf outside the support",
    ),
    "worst of two": (lambda: HINGES.threshold(1.0, 1.0, worst=[5.0, 6.0]), "one number"),
    "worst of other lower": (
        lambda: CURVE.threshold(0.1, 1.0, worst=LossCurves.steps([1.0], lower=-1)),
        "lower end",
    ),
    "worst of wrong count": (
        lambda: CURVE.threshold(0.1, [1.0, 2.0, 3.0], worst=STEPS),
        "broadcast",
    ),
    "risk below lower": (lambda: CURVE.risk([-1.0]), "at least the lower end"),
    "risk without weight": (lambda: WEIGHTLESS.risk([1.0]), "some weight above 0"),
    "directions": (lambda: HINGES.directional(1.0, 1.0, [1.0, 2.0]), "points, directions"),
    "directions backwards": (lambda: HINGES.directional(1.0, 1.0, [[-1.0]]), "at least 0"),
    "directions of steps": (lambda: CURVE.directional(0.1, 1.0, [[1.0]]), "expected distances"),
    "weights per direction": (
        lambda: HINGES.directional(1.0, [1.0, 2.0], [[1.0, 2.0]]),
        r"one number or shape \(1,\)",
    ),
    "randomized distance": (lambda: HINGES.randomized(1.0, 1.0, 0.5), "expected miscoverage"),
    "randomized below lower": (
        lambda: RiskCurve(LossCurves.steps([-1.0])).randomized(0.1, 1.0, 0.5),
        "not below the lower end",
    ),
    "randomized scores": (
        lambda: CURVE.randomized(0.1, [1.0, 1.0], 0.5).contains([1.0, 2.0, 3.0]),
        "broadcast",
    ),
    "randomized with u = 0": (lambda: CURVE.randomized(0.1, 1.0, 0.0), "strictly between"),
    "randomized with u = 1": (lambda: CURVE.randomized(0.1, 1.0, 1.0), "strictly between"),
    "box upside down": (lambda: WeightBox([2.0], [1.0]), "low <= high"),
    "box negative": (lambda: WeightBox([-1.0], [1.0]), "at least 0"),
    "box shapes": (lambda: WeightBox([1.0, 1.0], [1.0, 2.0, 3.0]), "broadcast"),
    "box infinite": (lambda: BoxedCurve(STEPS, WeightBox([1, 1], [1, INF])), "finite weights"),
    "box count": (lambda: BoxedCurve(STEPS, WeightBox([1], [1])), r"shape \(2,\)"),
    "box without weight": (
        lambda: BoxedCurve(STEPS, WeightBox([0, 0], [0, 0])).risk([1.0]),
        "some upper weight",
    ),
    "candidates": (lambda: CoherentBox([1.0, 2.0]), r"shape \(v, n\)"),
    "candidates differ": (
        lambda: CoherentCurve(STEPS, CoherentBox([[1, 1], [2, 1]])).threshold(
            0.1, CoherentBox([[1.0]]), worst=1.0
        ),
        "2 candidates",
    ),
    "rates sum": (lambda: rate_vertices([0.1, 0.1], [0.2, 0.2]), "some rates sum to 1"),
    "rates order": (lambda: rate_vertices([0.9, 0.1], [0.2, 0.2]), "low <= high"),
    "too many groups": (lambda: rate_vertices([0.0] * 13, [1.0] * 13), "at most 12 groups"),
    "unknown group": (
        lambda: CoherentBox.from_rates([2], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]),
        "integers from 0 to 1",
    ),
    "half a knot": (lambda: compressed(CURVE, 2.5), "expected an integer"),
    "candidates in space": (lambda: CoherentBox(np.ones((1, 2, 3))), r"shape \(v, n\)"),
    "negative count": (lambda: keys.row_keys(1, "x", -3), "count of at least 0"),
    "mixed ids": (lambda: keys.row_keys(1, "x", ["a", 1]), "integers or strings"),
    "bytes": (lambda: keys.row_keys(1, "x", [b"a"]), "integers or strings"),
    "no role": (lambda: keys.row_keys(1, None, 3), "expected a word"),
    "knots to keep": (lambda: compressed(CURVE, 0), "at least 1"),
    "nothing to compress": (lambda: compressed(WEIGHTLESS, 3), "some weight above 0"),
    "seed": (lambda: keys.row_keys(0.5, "x", 3), "expected an integer"),
    "ids": (lambda: keys.row_keys(1, "x", [0.5]), "integers or strings"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_a_reason(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message) as caught:
        call()
    error = caught.value
    assert isinstance(error, ShiftproofError)
    assert isinstance(error, ValueError)
    assert all((error.name, error.expected, error.got, error.repair))


def test_errors_survive_a_process_boundary():
    with pytest.raises(InputError) as caught:
        RiskCurve(LossCurves.steps([]))
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert str(again) == str(caught.value)
    assert again.repair == caught.value.repair


def test_rounding_in_a_distance_is_not_an_error():
    diameter = 10.0
    LossCurves.hinges([np.nextafter(diameter, INF)], bound=diameter)


def test_one_cap_each_where_a_set_has_a_core_that_it_never_loses():
    # Scores of -3 and -1 around cores at distances .5 and 0 from their labels.
    caps = LossCurves.hinges([-3.0, -1.0, 2.0], bound=4.0, cap=[0.5, 0.0, 4.0], lower=-INF)
    for lam, losses in ((-10.0, [0.5, 0.0, 4.0]), (-3.25, [0.25, 0.0, 4.0]), (1.5, [0, 0, 0.5])):
        assert caps.at(lam).tolist() == losses
    curve = RiskCurve(caps)
    # Losses of .5, 0 and 4 and an Lmax of 4 in all: (.5 + 0 + 4 + 4) / 4 = 2.125.
    assert float(curve.threshold(2.125, 1.0, worst=4.0)) == -INF
    assert float(curve.threshold(2.0, 1.0, worst=4.0)) == -3.0  # 4 + 4 <= 8, nothing else
    assert float(curve.threshold(1.75, 1.0, worst=4.0)) == -1.0  # (2 - lam) + 4 <= 7
    assert float(curve.threshold(1.25, 1.0, worst=4.0)) == 1.0


def test_worst_is_never_a_default():
    with pytest.raises(TypeError, match="worst"):
        CURVE.threshold(0.1, 1.0)
