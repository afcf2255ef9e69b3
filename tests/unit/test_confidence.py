"""Bounds on rates and means: against closed forms, a grid, scipy, and simulated samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from conftest import RUNS
from shiftproof.confidence import mean_above, probability, rate_interval
from shiftproof.errors import InputError

DELTAS = st.sampled_from([1e-6, 0.01, 0.05, 0.1, 0.5, 0.9])
FALSE_ALARM = 1e-6


@given(st.integers(1, 500), st.data(), DELTAS)
def test_intervals_are_those_of_scipy(n, data, delta):
    k = data.draw(st.integers(0, n))
    exact = binomtest(k, n).proportion_ci(1 - delta, method="exact")
    assert rate_interval(k, n, delta) == pytest.approx((exact.low, exact.high), rel=1e-9, abs=1e-12)


@given(st.integers(1, 200), st.data(), DELTAS)
def test_intervals_are_where_the_tails_are_half_of_delta(n, data, delta):
    k = data.draw(st.integers(0, n))
    low, high = rate_interval(k, n, delta)
    assert (low == 0.0) == (k == 0)
    assert (high == 1.0) == (k == n)
    if k:
        assert binom.sf(k - 1, n, low) == pytest.approx(delta / 2, rel=1e-7)
    if k < n:
        assert binom.cdf(k, n, high) == pytest.approx(delta / 2, rel=1e-7)


@given(st.integers(1, 100), st.data(), DELTAS)
def test_the_other_outcome_has_the_mirrored_interval(n, data, delta):
    k = data.draw(st.integers(0, n))
    low, high = rate_interval(k, n, delta)
    assert rate_interval(n - k, n, delta) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.97])
def test_intervals_cover_exactly_enough(rate):
    """By enumeration, so that chance has no part in it."""
    n, delta = 60, 0.1
    seen = np.arange(n + 1)
    ends = np.array([rate_interval(int(k), n, delta) for k in seen])
    missed = (rate < ends[:, 0]) | (rate > ends[:, 1])
    assert binom.pmf(seen, n, rate)[missed].sum() <= delta
    closer = np.array([rate_interval(int(k), n, 4 * delta) for k in seen])
    missed = (rate < closer[:, 0]) | (rate > closer[:, 1])
    assert binom.pmf(seen, n, rate)[missed].sum() > delta


@given(st.integers(1, 10**6), DELTAS)
def test_zeros_have_the_closed_form(n, delta):
    values = np.zeros(min(n, 2000))
    assert mean_above(values, delta) == pytest.approx(-math.expm1(math.log(delta) / len(values)))


@pytest.mark.parametrize("n", [1, 2, 50])
def test_ones_leave_no_room(n):
    assert mean_above(np.ones(n), 0.1) == 1.0


SAMPLES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.9, 1.0]), min_size=1, max_size=30)


@given(SAMPLES, DELTAS)
def test_the_bound_lies_above_the_mean_and_grows_with_confidence(values, delta):
    bound, mean = mean_above(values, delta), math.fsum(values) / len(values)
    assert mean < bound <= 1 or bound == mean == 1
    assert mean_above(values, delta / 2) > bound or bound == 1
    assert mean_above(values * 3, delta) < bound or bound == 1


@given(SAMPLES, DELTAS)
def test_the_bound_is_that_of_a_grid(values, delta):
    mean, n = math.fsum(values) / len(values), len(values)
    grid = np.linspace(mean, 1, 20001)[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(mean > 0, mean * np.log(mean / grid), 0.0)
        divergence += (1 - mean) * np.log((1 - mean) / (1 - grid)) if mean < 1 else 0.0
    allowed = grid[n * divergence <= -math.log(delta)]
    largest = allowed.max() if len(allowed) else mean
    assert largest - 1e-9 <= mean_above(values, delta) <= largest + 2 / 20000


@given(SAMPLES, DELTAS)
def test_the_bound_is_tighter_than_hoeffding(values, delta):
    mean, n = math.fsum(values) / len(values), len(values)
    assert mean_above(values, delta) <= mean + math.sqrt(-math.log(delta) / (2 * n)) + 1e-12


def test_the_order_of_values_is_irrelevant():
    rng = np.random.default_rng(0)
    values = rng.random(1000)
    orders = [rng.permutation(values) for _ in range(20)]
    assert len({float(sum(order)) for order in orders}) > 1  # in plain sums it does matter
    assert {mean_above(order, 0.1) for order in orders} == {mean_above(values, 0.1)}


def misses(truth, draw, bound, runs, seed):
    rng = np.random.default_rng(seed)
    return np.mean([bound(draw(rng)) < truth for _ in range(runs)])


@pytest.mark.parametrize(
    ("truth", "draw"),
    [
        (0.05, lambda rng: rng.random(40) < 0.05),
        (0.5, lambda rng: rng.random(40) < 0.5),
        (1 / 3, lambda rng: rng.beta(1, 2, 40)),
    ],
    ids=["rare", "coin", "smooth"],
)
def test_the_mean_lies_below_the_bound_as_often_as_stated(truth, draw):
    """Missed at most at rate delta: by Hoeffding beyond `slack` with probability FALSE_ALARM."""
    runs, delta = 4000 * RUNS, 0.1
    slack = math.sqrt(-math.log(FALSE_ALARM) / (2 * runs))
    rate = misses(
        truth, lambda rng: draw(rng).astype(float), lambda v: mean_above(v, delta), runs, 1
    )
    assert rate <= delta + slack


def test_the_sample_mean_is_no_bound():
    """The control: in the same world the mean, and a quarter of the way to the bound, do fail."""
    runs, delta = 4000 * RUNS, 0.1
    slack = math.sqrt(-math.log(FALSE_ALARM) / (2 * runs))

    def draw(rng):
        return (rng.random(40) < 0.5).astype(float)

    def short(values):
        return values.mean() + (mean_above(values, delta) - values.mean()) / 4

    assert misses(0.5, draw, np.mean, runs, 1) > delta + slack
    assert misses(0.5, draw, short, runs, 1) > delta + slack


BAD = {
    "no values": (lambda: mean_above([], 0.1), "pass a sample"),
    "above 1": (lambda: mean_above([0.5, 1.5], 0.1), r"values from 0 to 1, got 1.5"),
    "below 0": (lambda: mean_above([-0.5], 0.1), "values from 0 to 1"),
    "NaN": (lambda: mean_above([math.nan], 0.1), "no NaN"),
    "matrix": (lambda: mean_above([[0.5]], 0.1), "one dimension"),
    "certainty": (lambda: mean_above([0.5], 0.0), "between 0 and 1, got 0.0"),
    "per cent": (lambda: probability("delta", 5), "between 0 and 1, got 5"),
    "a word": (lambda: probability("delta", "5%"), "expected numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_a_reason(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()
