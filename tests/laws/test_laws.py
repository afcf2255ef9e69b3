"""Laws that hold for every loss and every rule, whatever the numbers."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shiftproof.risk import BoxedCurve, CoherentBox, CoherentCurve, LossCurves, RiskCurve, WeightBox
from subjects import SUBJECTS, WHOLE_WEIGHTS, levels


@dataclass
class Case:
    """A loss with weights that are small whole numbers, so that rescaling them is exact."""

    name: str
    subject: object
    weights: np.ndarray
    weight: float
    alpha: float
    worst: object

    @property
    def losses(self):
        return self.subject.curves

    def threshold(self, **changes) -> float:
        """The threshold of the rule, with some of its arguments changed."""
        options = {
            "losses": self.losses,
            "weights": self.weights,
            "weight": self.weight,
            "alpha": self.alpha,
            "worst": self.worst,
        } | changes
        curve = RiskCurve(options["losses"], options["weights"])
        found = curve.threshold(options["alpha"], options["weight"], worst=options["worst"])
        return float(np.ravel(found)[0])

    def same(self, one: float, other: float) -> bool:
        if self.name in ("steps", "staircases") or not np.isfinite(one):
            return one == other
        return abs(one - other) <= 1e-12 * 3


@st.composite
def cases(draw, name, rule):
    subject = draw(SUBJECTS[name])
    weights = draw(st.lists(WHOLE_WEIGHTS, min_size=len(subject), max_size=len(subject)))
    worst = subject.curves.bound if rule == "paper" else subject.worst
    return Case(name, subject, np.array(weights), draw(WHOLE_WEIGHTS), draw(levels(subject)), worst)


def order_is_irrelevant(case, draw):
    order = np.array(draw(st.permutations(range(len(case.weights)))))
    shuffled = case.threshold(losses=case.losses.select(order), weights=case.weights[order])
    assert case.same(case.threshold(), shuffled)


def only_ratios_of_weights_matter(case, draw):
    c = draw(st.sampled_from([2.0, 0.5, 1024.0, 10.0]))
    assert case.same(
        case.threshold(), case.threshold(weights=c * case.weights, weight=c * case.weight)
    )


def a_weight_of_k_is_an_example_k_times(case, draw):
    counts = draw(
        st.lists(st.integers(0, 3), min_size=len(case.weights), max_size=len(case.weights))
    )
    if not any(counts):
        return
    repeated = case.losses.select(np.repeat(np.arange(len(counts)), counts))
    once = case.threshold(weights=np.array(counts, dtype=float))
    assert case.same(once, case.threshold(losses=repeated, weights=None))


def an_example_without_weight_changes_nothing(case, draw):
    extra = case.losses.select(np.array([draw(st.integers(0, len(case.weights) - 1))]))
    losses = LossCurves.concatenate([case.losses, extra])
    assert case.same(case.threshold(), case.threshold(losses=losses, weights=[*case.weights, 0.0]))


def more_risk_never_needs_a_larger_set(case, draw):
    other = draw(levels(case.subject))
    low, high = sorted([case.alpha, other])
    assert case.threshold(alpha=high) <= case.threshold(alpha=low) + 1e-12


def a_batch_equals_its_points(case, draw):
    weights = draw(st.lists(WHOLE_WEIGHTS, min_size=3, max_size=3))
    curve = RiskCurve(case.losses, case.weights)
    together = curve.threshold(case.alpha, weights, worst=case.worst)
    for weight, lam in zip(weights, together, strict=True):
        assert lam == case.threshold(weight=weight)


def merging_parts_equals_the_whole(case, draw):
    where = np.array(
        draw(st.lists(st.booleans(), min_size=len(case.weights), max_size=len(case.weights)))
    )
    if where.all() or not where.any():
        return
    parts = [
        RiskCurve(case.losses.select(np.flatnonzero(some)), case.weights[some])
        for some in (where, ~where)
    ]
    merged = parts[0].merge(parts[1]).threshold(case.alpha, case.weight, worst=case.worst)
    assert case.same(case.threshold(), float(np.ravel(merged)[0]))


def reweighting_equals_building_anew(case, draw):
    other = np.array(
        draw(st.lists(WHOLE_WEIGHTS, min_size=len(case.weights), max_size=len(case.weights)))
    )
    again = RiskCurve(case.losses, other).reweighted(case.weights)
    assert (
        float(np.ravel(again.threshold(case.alpha, case.weight, worst=case.worst))[0])
        == case.threshold()
    )


def a_box_without_extent_is_known_weights(case, draw):
    del draw
    curve = BoxedCurve(case.losses, WeightBox.of(case.weights))
    found = float(np.ravel(curve.threshold(case.alpha, case.weight, worst=case.worst))[0])
    assert case.same(found, case.threshold())


def a_box_covers_all_weights_in_it(case, draw):
    extent = st.lists(
        st.integers(0, 4), min_size=len(case.weights) + 1, max_size=len(case.weights) + 1
    )
    low = np.array([*case.weights, case.weight])
    high = low + draw(extent)
    share = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(low), max_size=len(low)))
    )
    inside = low + share * (high - low)
    curve = BoxedCurve(case.losses, WeightBox(low[:-1], high[:-1]))
    boxed = curve.threshold(case.alpha, WeightBox(low[-1], high[-1]), worst=case.worst)
    one = case.threshold(weights=inside[:-1], weight=inside[-1])
    if inside.any():  # 0/0 is the whole space by convention, for which a box gives no reason
        assert one <= np.ravel(boxed)[0] + 1e-12


def one_candidate_is_known_weights(case, draw):
    del draw
    curve = CoherentCurve(case.losses, CoherentBox([case.weights]))
    found = curve.threshold(case.alpha, CoherentBox([[case.weight]]), worst=case.worst)
    assert float(np.ravel(found)[0]) == case.threshold()


def a_hull_covers_all_weights_in_it(case, draw):
    other = np.array(
        draw(
            st.lists(WHOLE_WEIGHTS, min_size=len(case.weights) + 1, max_size=len(case.weights) + 1)
        )
    )
    rows = np.stack([[*case.weights, case.weight], other])
    curve = CoherentCurve(case.losses, CoherentBox(rows[:, :-1]))
    hull = curve.threshold(case.alpha, CoherentBox(rows[:, -1:]), worst=case.worst)
    middle = rows.mean(axis=0)
    assert case.threshold(weights=middle[:-1], weight=middle[-1]) <= np.ravel(hull)[0] + 1e-12


def the_threshold_is_feasible_and_nothing_lower_is(case, draw):
    del draw
    lam, curve = case.threshold(), RiskCurve(case.losses, case.weights)
    mass = curve.total_weight + case.weight
    if not np.isfinite(lam) or curve.total_weight == 0:
        return

    def augmented_risk(at):
        worst = case.worst if isinstance(case.worst, float) else float(case.worst.at(at)[0])
        return (curve.risk(at) * curve.total_weight + case.weight * worst) / mass

    at_reach = not isinstance(case.worst, float) and lam == case.worst.reach[0]
    assert at_reach or augmented_risk(lam) <= case.alpha + 1e-12
    if lam > case.losses.lower:
        assert augmented_risk(max(lam - 1e-9, case.losses.lower)) > case.alpha - 1e-12


LAWS = [
    order_is_irrelevant,
    only_ratios_of_weights_matter,
    a_weight_of_k_is_an_example_k_times,
    an_example_without_weight_changes_nothing,
    more_risk_never_needs_a_larger_set,
    a_batch_equals_its_points,
    merging_parts_equals_the_whole,
    reweighting_equals_building_anew,
    a_box_without_extent_is_known_weights,
    a_box_covers_all_weights_in_it,
    one_candidate_is_known_weights,
    a_hull_covers_all_weights_in_it,
    the_threshold_is_feasible_and_nothing_lower_is,
]


@pytest.mark.parametrize("rule", ["paper", "envelope"])
@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law, name, rule):
    @given(cases(name, rule), st.data())
    def check(case, data):
        law(case, data.draw)

    check()


@pytest.mark.parametrize("name", SUBJECTS)
def test_larger_test_weight_never_a_smaller_set_by_the_papers_rule(name):
    @given(cases(name, "paper"), WHOLE_WEIGHTS)
    def check(case, other):
        low, high = sorted([case.weight, other])
        if case.weights.any() and low > 0:
            assert case.threshold(weight=low) <= case.threshold(weight=high) + 1e-12

    check()


@pytest.mark.parametrize("name", SUBJECTS)
def test_envelope_is_never_larger_than_the_papers_rule_and_is_finite(name):
    @given(cases(name, "envelope"))
    def check(case):
        paper, envelope = case.threshold(worst=case.losses.bound), case.threshold()
        assert envelope <= paper + 1e-12
        assert envelope <= case.worst.reach[0]
        # The envelope of a family whose largest set loses nothing is finite.
        assert envelope < np.inf or case.worst.tail[0] > 0

    check()


@pytest.mark.parametrize("name", ["hinges", "capped hinges"])
def test_directional_is_never_larger_than_the_envelope(name):
    @given(cases(name, "envelope"), st.lists(st.floats(0, 3), min_size=2, max_size=4))
    def check(case, distances):
        assume(case.losses.lower == 0)
        slope, cap = float(case.worst.slopes[0]), case.losses.common_cap
        assert (cap is None) == (name == "hinges")
        curve = RiskCurve(case.losses, case.weights)
        rays = sorted(distances)
        reach = curve.directional(case.alpha, case.weight, [rays], slopes=slope)[0]
        farthest = LossCurves.hinges([rays[-1]], slope, bound=10, cap=cap, lower=case.losses.lower)
        ball = curve.threshold(case.alpha, case.weight, worst=farthest)[0]
        assert (reach <= ball + 1e-12).all()
        assert reach[-1] == ball
        assert (reach <= rays).all()
        # lam'(d) does not fall with d; the minimum with d keeps that.
        assert (np.diff(reach) >= -1e-12).all()

    check()


def test_under_the_envelope_a_larger_test_weight_can_give_a_smaller_set():
    curve = RiskCurve(LossCurves.hinges([10.0, 10.0], bound=20.0))
    near = LossCurves.hinges([5.0], bound=20.0)
    light, heavy = (float(curve.threshold(1.0, w, worst=near)[0]) for w in (0.0, 100.0))
    assert light == 5.0
    assert heavy == pytest.approx(4.098, abs=5e-4)
