"""The budget draws the rule: the threshold is where the risk first falls to it. And its places."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shiftproof import InputError
from shiftproof.risk import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    LossCurves,
    Price,
    PricedCurve,
    RiskCurve,
    StratifiedCurve,
    WeightBox,
)
from subjects import SUBJECTS, levels

SMALL = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, 7.0])


@pytest.mark.parametrize("rule", ["paper", "envelope"])
@pytest.mark.parametrize("name", SUBJECTS)
@given(data=st.data())
def test_the_threshold_is_where_the_risk_falls_to_the_budget(name, rule, data):
    subject = data.draw(SUBJECTS[name])
    weights = data.draw(st.lists(SMALL, min_size=len(subject), max_size=len(subject)))
    assume(any(weights))
    alpha, weight = data.draw(levels(subject)), data.draw(SMALL)
    worst = subject.curves.bound if rule == "paper" else subject.worst
    curve = RiskCurve(subject.curves, weights)
    (lam,) = np.ravel(curve.threshold(alpha, weight, worst=worst))
    bends = subject.curves.bends
    if rule == "envelope":
        bends = np.union1d(bends, subject.worst.bends)
    places = bends[(bends >= lam) if np.isfinite(lam) else bends < -np.inf]
    room = 1e-9 * max(1.0, subject.curves.bound)
    left = bends[bends < lam]

    def over(places):
        budget = curve.budget(places, alpha, weight, worst=worst)
        return curve.risk(places) - np.broadcast_to(budget, places.shape)

    capped = rule == "envelope" and lam == subject.worst.reach[0]  # D(x): nothing more to lose
    assert capped or (over(places) <= room).all()
    assert (over(left) > -room).all()


@given(data=st.data(), name=st.sampled_from(sorted(SUBJECTS)))
def test_curves_are_straight_between_bends(data, name):
    curves = data.draw(SUBJECTS[name]).curves
    bends = curves.bends
    assert (np.diff(bends) > 0).all()
    assert np.isfinite(bends).all()
    assert (bends >= curves.lower).all()
    assert curves.lower in bends or not np.isfinite(curves.lower)
    for low, high in itertools.pairwise(bends):
        middle = low / 2 + high / 2
        if low < middle < high:
            share = (high - middle) / (high - low)
            straight = share * curves.at(low) + (1 - share) * curves.at(high)
            np.testing.assert_allclose(curves.at(middle), straight, atol=1e-9)
    if len(bends):
        np.testing.assert_array_equal(curves.at(bends[-1]), curves.at(bends[-1] + 1.0))


def test_budgets_by_hand():
    curve = RiskCurve(LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0))
    assert curve.budget([0.0, 9.0], 8.0, 0.3, worst=40.0) == pytest.approx([4.8, 4.8])
    farthest = LossCurves.hinges([25.0, 10.0], bound=40.0)
    found = curve.budget([[0.0], [25.0]], 8.0, [3.0, 0.0], worst=farthest)
    assert found.tolist() == [[8 - 17.0, 8.0], [8 + 8.0, 8.0]]


def test_a_point_outside_the_support_has_all_or_nothing():
    curve = RiskCurve(LossCurves.hinges([4.0, 7.0], bound=40.0))
    farthest = LossCurves.hinges([25.0], bound=40.0)
    found = curve.budget([[0.0], [17.0], [25.0]], 8.0, np.inf, worst=farthest)
    assert found.ravel().tolist() == [-np.inf, 8.0, np.inf]


def test_a_price_is_paid_from_the_budget():
    curve = RiskCurve(LossCurves.steps([0.1, 0.2, 0.3]), [1.0, 2.0, 3.0])
    priced = PricedCurve(curve, Price([1.0], [0.2]))
    level = priced.level(0.5, worst=1.0)
    wanted = curve.budget(0.2, level, 1.0, worst=1.0)
    assert (
        priced.budget(0.2, 0.5, 1.0, worst=1.0) == wanted < curve.budget(0.2, 0.5, 1.0, worst=1.0)
    )


LOSSES = LossCurves.steps([0.1, 0.2])
BOX = WeightBox([1.0, 1.0], [2.0, 2.0])
REFUSED = {
    "bounds": lambda: BoxedCurve(LOSSES, BOX).budget(0.1, 0.5, BOX, worst=1.0),
    "candidates": lambda: CoherentCurve(LOSSES, CoherentBox([[1.0, 1.0]])).budget(
        0.1, 0.5, CoherentBox([[1.0]]), worst=1.0
    ),
    "groups": lambda: StratifiedCurve(LOSSES, [0, 1]).budget(0.1, 0.5, None, worst=1.0),
    "no weight": lambda: RiskCurve(LOSSES, [0.0, 0.0]).budget(0.1, 0.5, 1.0, worst=1.0),
    "a level above the bound": lambda: RiskCurve(LOSSES).budget(0.1, 1.5, 1.0, worst=1.0),
    "a threshold below the end": lambda: RiskCurve(LOSSES).budget(-1.0, 0.5, 1.0, worst=1.0),
    "a negative weight": lambda: RiskCurve(LOSSES).budget(0.1, 0.5, -1.0, worst=1.0),
    "too small a worst case": lambda: RiskCurve(LOSSES).budget(0.1, 0.5, 1.0, worst=0.5),
    "shapes that do not meet": lambda: RiskCurve(LOSSES).budget(
        [0.1, 0.2], [0.5, 0.4, 0.3], 1.0, worst=1.0
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_budget_is_refused(name):
    with pytest.raises(InputError) as caught:
        REFUSED[name]()
    assert all((caught.value.name, caught.value.expected, caught.value.got, caught.value.repair))
