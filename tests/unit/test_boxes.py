"""Boxes against a linear program, coherent boxes against every rate in between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import oracles
from shiftproof.risk import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    LossCurves,
    RiskCurve,
    WeightBox,
    compressed,
)
from subjects import SUBJECTS, levels

ENDS = st.tuples(st.floats(0.05, 2), st.floats(0.05, 2)).map(sorted)


def largest_mean(losses, low, high):
    """max over w in the box of sum w L / sum w, a linear program after division by the sum.

    With v = w / sum w and t = 1 / sum w: maximise v.L subject to low t <= v <= high t, sum v = 1.
    """
    n = len(losses)
    eye = np.eye(n)
    result = linprog(
        -np.append(losses, 0.0),
        A_ub=np.block([[eye, -high[:, None]], [-eye, low[:, None]]]),
        b_ub=np.zeros(2 * n),
        A_eq=[np.append(np.ones(n), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * (n + 1),
        method="highs",
    )
    assert result.success
    return -result.fun


@pytest.mark.parametrize("rule", ["paper", "envelope"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_threshold_of_a_box_by_linear_programming(name, rule):
    @settings(max_examples=max(20, settings().max_examples // 4))
    @given(SUBJECTS[name], st.data())
    def check(subject, data):
        n = len(subject)
        ends = np.array(data.draw(st.lists(ENDS, min_size=n + 1, max_size=n + 1)))
        low, high = ends[:, 0], ends[:, 1]
        alpha, lower = data.draw(levels(subject)), subject.curves.lower
        worst = subject.curves.bound if rule == "paper" else subject.worst
        curve = BoxedCurve(subject.curves, WeightBox(low[:n], high[:n]))
        lam = float(np.ravel(curve.threshold(alpha, WeightBox(low[n], high[n]), worst=worst))[0])

        def largest_risk(at):
            last = worst if rule == "paper" else float(worst.at(at)[0])
            return largest_mean(np.append(subject.curves.at(at), last), low, high)

        reach = np.inf if rule == "paper" else worst.reach[0]
        if np.isfinite(lam) and lam < reach:
            assert largest_risk(lam) <= alpha + 1e-7
        if lam > lower:
            before = max(lower, np.nextafter(lam, -np.inf), min(lam - 1e-6, 1e6))
            assert largest_risk(before) >= alpha - 1e-5

    check()


@pytest.mark.parametrize("name", SUBJECTS)
def test_largest_mean_loss_over_a_box_by_linear_programming(name):
    @settings(max_examples=max(20, settings().max_examples // 4))
    @given(SUBJECTS[name], st.data())
    def check(subject, data):
        n = len(subject)
        ends = np.array(data.draw(st.lists(ENDS, min_size=n, max_size=n)))
        lam = data.draw(st.floats(0.2, 3))
        found = BoxedCurve(subject.curves, WeightBox(*ends.T)).risk(lam)
        assert found == pytest.approx(largest_mean(subject.curves.at(lam), *ends.T), abs=1e-8)

    check()


@pytest.mark.parametrize("worst", ["paper", "envelope"])
def test_coherent_box_covers_every_rate_and_is_attained(worst):
    rng = np.random.default_rng(0)
    for _ in range(50):
        group, test_group = rng.integers(0, 3, 30), rng.integers(0, 3, 5)
        group[:3] = test_group[:3] = [0, 1, 2]
        losses = LossCurves.hinges(rng.gamma(1 + group), bound=60.0)
        source, low, high = np.full(3, 1 / 3), np.array([0.1, 0.2, 0.2]), np.array([0.5, 0.6, 0.5])
        box, test_box = (CoherentBox.from_rates(g, source, low, high) for g in (group, test_group))
        farthest = LossCurves.hinges(rng.uniform(8, 20, 5), bound=60.0)
        case = 60.0 if worst == "paper" else farthest
        found = CoherentCurve(losses, box).threshold(4.0, test_box, worst=case)
        at_vertices = [
            RiskCurve(losses, w).threshold(4.0, t, worst=case)
            for w, t in zip(box.candidates, test_box.candidates, strict=True)
        ]
        assert (found == np.max(at_vertices, axis=0)).all()
        for _ in range(20):
            rate = rng.dirichlet(np.ones(len(box.candidates))) @ box.candidates
            inside = rng.dirichlet(np.ones(len(box.candidates)))
            rate, test_rate = inside @ box.candidates, inside @ test_box.candidates
            assert (
                RiskCurve(losses, rate).threshold(4.0, test_rate, worst=case) <= found + 1e-9
            ).all()


def test_coherent_is_tighter_than_a_box_for_each_example():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 100)
    losses = LossCurves.hinges(rng.gamma(1 + 3 * group), bound=60.0)
    box = CoherentBox.from_rates(group, [0.5, 0.5], [0.05, 0.8], [0.2, 0.95])
    each = WeightBox(box.candidates.min(axis=0), box.candidates.max(axis=0))
    together = CoherentCurve(losses, box).threshold(
        2.0, CoherentBox(box.candidates[:, :1]), worst=60.0
    )
    apart = BoxedCurve(losses, each).threshold(
        2.0, WeightBox(each.low[:1], each.high[:1]), worst=60.0
    )
    known = RiskCurve(losses, box.candidates.mean(axis=0)).threshold(
        2.0, box.candidates.mean(axis=0)[:1], worst=60.0
    )
    assert (known < together).all()
    assert (together < apart).all()


def test_merging_boxes_equals_the_whole():
    losses = LossCurves.hinges([1.0, 4.0, 2.0, 3.0], bound=9.0)
    low, high = np.array([0.5, 1.0, 1.0, 0.2]), np.array([1.0, 2.0, 1.5, 3.0])
    parts = [
        BoxedCurve(losses.select(np.array(some)), WeightBox(low[some], high[some]))
        for some in ([0, 2], [1, 3])
    ]
    point = WeightBox(0.5, 1.0)
    whole = BoxedCurve(losses, WeightBox(low, high)).threshold(4.0, point, worst=9.0)
    assert parts[0].merge(parts[1:]).threshold(4.0, point, worst=9.0) == whole
    rows = np.array([[1.0, 2.0, 0.5, 1.0], [2.0, 1.0, 1.0, 0.5]])
    together = CoherentCurve(losses, CoherentBox(rows)).threshold(
        4.0, CoherentBox([[1.0], [1.0]]), worst=9.0
    )
    halves = [
        CoherentCurve(losses.select(np.array(some)), CoherentBox(rows[:, some]))
        for some in ([0, 2], [1, 3])
    ]
    merged = halves[0].merge(halves[1]).threshold(4.0, CoherentBox([[1.0], [1.0]]), worst=9.0)
    assert merged == pytest.approx(together, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9, 1.0, 1.3, 1.5, 1.9])
def test_a_worst_case_of_several_slopes(alpha):
    # The mean of two hinges has two ramps; alpha lies in the one or the other.
    worst = compressed(RiskCurve(LossCurves.hinges([1.0, 3.0], bound=9.0)), 2).curve.losses
    assert len(worst.knots) == 2
    halves = oracles.hinge(1.0, 0.5), oracles.hinge(3.0, 0.5)
    oracle_worst = oracles.OracleLoss(
        lambda lam: halves[0].value(lam) + halves[1].value(lam),
        halves[0].places + halves[1].places,
    )
    for low, high in ((0.5, 2.0), (1.0, 1.0), (0.0, 5.0)):
        curve = BoxedCurve(LossCurves.hinges([2.0], bound=9.0), WeightBox([0.5], [2.0]))
        found = float(curve.threshold(alpha, WeightBox(low, high), worst=worst)[0])
        exact = oracles.boxed_threshold(
            [oracles.hinge(2.0)], [0.5], [2.0], alpha, low, high, oracle_worst
        )
        assert found == pytest.approx(float(exact), abs=1e-12)


def test_directional_works_in_boxes():
    losses = LossCurves.hinges([1.0, 4.0, 2.0], bound=9.0)
    rays = [[2.0, 6.0], [3.0, 5.0]]
    boxed = BoxedCurve(losses, WeightBox([0.5] * 3, [2.0] * 3))
    wide = boxed.directional(3.0, WeightBox([0.5, 1.0], [2.0, 1.0]), rays)
    narrow = RiskCurve(losses).directional(3.0, [1.0, 1.0], rays)
    assert (narrow <= wide).all()
    rows = CoherentBox([[1.0] * 3, [2.0, 1.0, 1.0]])
    hull = CoherentCurve(losses, rows).directional(3.0, CoherentBox([[1.0, 1.0], [1.0, 2.0]]), rays)
    assert (narrow <= hull + 1e-12).all()
