"""Running sums against exact ones."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shiftproof.risk.sums import UNIT, leftover, running_sum, total

VALUES = st.lists(
    st.one_of(st.floats(0, 1e6), st.sampled_from([0.1, 1e-30, 1e30, 5e-324, 1.0])), max_size=40
)


@given(VALUES)
def test_running_sums_are_right_to_the_last_bit_or_the_next(values):
    rest = Fraction(leftover(len(values), math.fsum(values)))
    exact = list(accumulate(map(Fraction, values)))
    for found, truth in zip(running_sum(np.array(values, dtype=float)), exact, strict=True):
        assert abs(Fraction(float(found)) - truth) <= 2 * Fraction(UNIT) * truth + rest


@given(VALUES)
def test_running_sums_never_fall(values):
    assert (np.diff(running_sum(np.array(values, dtype=float))) >= 0).all()


def test_a_million_weights():
    weights = np.random.default_rng(0).random(1_000_000)
    found, exact = running_sum(weights.copy()), math.fsum(weights)
    assert abs(found[-1] - exact) <= 2 * UNIT * exact
    assert abs(np.cumsum(weights)[-1] - exact) > 100 * UNIT * exact  # what it is needed for


@given(VALUES)
def test_totals_are_right_to_the_last_bit_or_the_next(values):
    exact = sum(map(Fraction, values), Fraction(0))
    assert abs(Fraction(total(np.array(values, dtype=float))) - exact) <= 2 * Fraction(UNIT) * exact


@given(st.lists(st.floats(1e-6, 1e6), max_size=200), st.randoms())
def test_totals_do_not_depend_on_order(values, random):
    shuffled = random.sample(values, len(values))
    found = total(np.array(values, dtype=float))
    assert found == total(np.array(shuffled, dtype=float)) == math.fsum(values)
