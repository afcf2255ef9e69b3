"""Every rule on every loss equals its definition in exact rational numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from shiftproof.risk import BoxedCurve, LossCurves, RiskCurve, WeightBox
from subjects import SUBJECTS, WEIGHTS, agrees, levels

TEST_WEIGHTS = st.one_of(WEIGHTS, st.sampled_from([np.inf, 1e200, 1e-300, 1e-16, 1e-12]))
RULES = ["paper", "envelope"]


@st.composite
def ties(draw, subject, weights, weight, oracle_worst):
    """The float next to a level at which the rule is met exactly at some knot."""
    everyone = [*subject.oracle, oracle_worst]
    places = [place for one in everyone for place in one.places]
    mass = [*map(oracles.dec, weights), oracles.dec(min(weight, 1e6))]
    if not places or not sum(mass):
        return draw(levels(subject))
    place = draw(st.sampled_from(places))
    losses = sum(w * one.value(place) for w, one in zip(mass, everyone, strict=True))
    return min(float(losses / sum(mass)), subject.curves.bound)


def worst_case(rule, subject):
    if rule == "paper":
        bound = subject.curves.bound
        return bound, oracles.constant(bound)
    return subject.worst, subject.oracle_worst


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SUBJECTS)
def test_threshold_is_that_of_the_definition(name, rule):
    @settings(max_examples=2 * settings().max_examples)
    @given(SUBJECTS[name], st.data())
    def check(subject, data):
        weights = data.draw(st.lists(WEIGHTS, min_size=len(subject), max_size=len(subject)))
        weight = data.draw(TEST_WEIGHTS)
        worst, oracle_worst = worst_case(rule, subject)
        alpha = data.draw(st.one_of(levels(subject), ties(subject, weights, weight, oracle_worst)))
        curve = RiskCurve(subject.curves, weights)
        found = curve.threshold(alpha, weight, worst=worst)
        exact = oracles.threshold(
            subject.oracle, weights, alpha, weight, oracle_worst, subject.curves.lower
        )
        assert agrees(found, exact, name)

    check()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SUBJECTS)
def test_boxed_threshold_is_that_of_the_definition(name, rule):
    @given(SUBJECTS[name], st.data())
    def check(subject, data):
        n = len(subject)
        ends = st.lists(WEIGHTS, min_size=n + 1, max_size=n + 1).map(np.array)
        one, other = data.draw(ends), data.draw(ends)
        low, high = np.minimum(one, other), np.maximum(one, other)
        if not high[:n].any():
            high[0] = 1.0
        alpha = data.draw(levels(subject))
        worst, oracle_worst = worst_case(rule, subject)
        curve = BoxedCurve(subject.curves, WeightBox(low[:n], high[:n]))
        found = curve.threshold(alpha, WeightBox(low[n], high[n]), worst=worst)
        exact = oracles.boxed_threshold(
            subject.oracle, low[:n], high[:n], alpha, low[n], high[n], oracle_worst,
            subject.curves.lower,
        )  # fmt: skip
        assert agrees(found, exact, name)

    check()


@pytest.mark.parametrize("name", SUBJECTS)
def test_losses_are_those_of_the_definition(name):
    @given(SUBJECTS[name], st.floats(0.2, 4))
    def check(subject, lam):
        places = [lam, np.inf, *(float(place) for one in subject.oracle for place in one.places)]
        for place in places:
            if place < subject.curves.lower:
                continue
            found = subject.curves.at(place)
            at = oracles.dec(place) if np.isfinite(place) else oracles.Fraction(10**9)
            exact = [float(one.value(at)) for one in subject.oracle]
            if np.isfinite(place) or not np.isposinf(subject.curves.knots).any():
                np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)

    check()


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_smallest_threshold_below_a_level(name):
    @given(SUBJECTS[name], st.data())
    def check(subject, data):
        level = data.draw(levels(subject))
        found = subject.curves.first_below(np.full(len(subject), level))
        for one, lam in zip(subject.oracle, found, strict=True):
            exact = oracles.smallest(
                lambda at, one=one: one.value(at) - oracles.dec(level),
                one.places,
                subject.curves.lower,
            )
            assert agrees(lam, exact, name) or abs(lam - float(exact)) < 1e-12

    check()


@given(st.data())
def test_randomized_miscoverage_is_that_of_the_definition(data):
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]), min_size=1, max_size=6))
    weights = data.draw(st.lists(WEIGHTS, min_size=len(scores), max_size=len(scores)))
    weight, alpha = data.draw(WEIGHTS), data.draw(st.floats(0, 1))
    chance = data.draw(st.floats(2**-53, 1 - 2**-53))
    if sum(weights) + weight == 0:
        return
    curve = RiskCurve(LossCurves.steps(scores, lower=-np.inf), weights)
    rule = curve.randomized(alpha, weight, chance)
    for score in [*scores, 0.05, 0.7, 3.0]:
        exact = oracles.randomized_contains(score, scores, weights, alpha, weight, chance)
        if rule.contains(score) != exact:
            # Only a tie of random numbers with a level may fall either way.
            nudged = {
                oracles.randomized_contains(score, scores, weights, alpha, weight, u)
                for u in (chance * (1 - 1e-9), chance * (1 + 1e-9))
            }
            assert len(nudged) == 2
