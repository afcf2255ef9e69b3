"""Laws of calibrated sets: every family, loss and worst case that fit together, times every law."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import RUNS
from shiftproof import (
    APS,
    F1,
    RAPS,
    Balls,
    Box,
    Constant,
    Directional,
    Distance,
    FalseNegativeRate,
    Intervals,
    KnownRatio,
    LabelSets,
    Masks,
    Miscoverage,
    MonotoneLoss,
    Monotonized,
    Pointwise,
    Polygon,
    Quantiles,
    RiskController,
    RiskCurve,
    ScaledResidual,
)
from shiftproof._tables import Table
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of

CONSTANT, POINTWISE, DIRECTIONAL = Constant(), Pointwise(), Directional(16)
TRIANGLE = Polygon([[0, 0], [4, 0], [0, 3]])
NOISE = st.integers(0, 2**32 - 1)

# The weight of a row stands in the last column of its inputs, the prediction before it.
WEIGHTS = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, 7.0])
RATIO = KnownRatio(lambda x: x[:, -1])


def front(width):
    return lambda x: x[:, :width]


def numbers(width):
    """Predictions and labels on the line, in eighths: ties are frequent."""

    def draw(rng, n):
        y = rng.integers(0, 65, n) / 8
        noise = rng.integers(-8, 9, (n, width)) / 8
        return y[:, None] + noise, y

    return draw


def points(region):
    def draw(rng, n):
        y = rng.dirichlet(np.ones(len(region.corners)), n) @ region.corners
        return y + rng.normal(0, 0.3, y.shape), region.project(y)

    return draw


def classes(rng, n):
    p = rng.multinomial(16, [0.25] * 4, n) / 16
    return p, (p.cumsum(axis=1) <= rng.random((n, 1))).sum(axis=1).clip(0, 3)


def labels(rng, n):
    y = rng.random((n, 4)) < 0.6
    y[:, 0] |= ~y.any(axis=1)
    return np.round(8 * (0.5 * y + 0.6 * rng.random(y.shape))) / 8, y


def far(sets, y):
    return np.minimum(1, sets.distance(y) / 4)


STRETCHED = ScaledResidual(lambda x: 1 + 0.25 * (x[:, 0] > 4))
BOX, LINE = Box([0, 0], [4, 3]), Box(0, 8)
SCALED_BALLS = Balls(BOX, scale=lambda x: 1 + 0.5 * (x[:, 0] > 2))
GRID = np.arange(0, 8.5, 0.5)


@dataclass
class Pair:
    """A family and a loss that fit, data for them, and the worst cases that both know."""

    family: object
    loss: object
    data: object
    width: int
    largest: float
    least: float = 0.0
    directional: bool = False

    @property
    def worst_cases(self):
        return [CONSTANT, POINTWISE] + [DIRECTIONAL] * self.directional


RANGE = Intervals(0, 8)
PAIRS = {
    "intervals, miscoverage": Pair(RANGE, Miscoverage(), numbers(1), 1, 1.0),
    "intervals without ends": Pair(Intervals(), Miscoverage(), numbers(1), 1, 1.0),
    "intervals, distance": Pair(RANGE, Distance(), numbers(1), 1, 8.0, directional=True),
    "intervals, capped": Pair(RANGE, Distance(1.5), numbers(1), 1, 1.5, directional=True),
    "one end, capped": Pair(
        Intervals(lower=0), Distance(1.5), numbers(1), 1, 1.5, directional=True
    ),
    "intervals, own": Pair(RANGE, MonotoneLoss(far, GRID, loss_max=1.0), numbers(1), 1, 1.0),
    "scaled intervals": Pair(
        Intervals(0, 8, STRETCHED), Distance(), numbers(1), 1, 8.0, directional=True
    ),
    "quantiles, miscoverage": Pair(Intervals(0, 8, Quantiles()), Miscoverage(), numbers(2), 2, 1.0),
    "quantiles, distance": Pair(Intervals(0, 8, Quantiles()), Distance(), numbers(2), 2, 8.0),
    "quantiles that do not shrink": Pair(
        Intervals(0, 8, Quantiles(shrink=False)), Distance(), numbers(2), 2, 8.0, directional=True
    ),
    "balls on the line": Pair(Balls(LINE), Distance(), numbers(1), 1, 8.0, directional=True),
    "discs": Pair(Balls(BOX), Distance(), points(BOX), 2, 5.0, directional=True),
    "discs, miscoverage": Pair(Balls(BOX), Miscoverage(), points(BOX), 2, 1.0),
    "discs in a triangle, capped": Pair(
        Balls(TRIANGLE), Distance(0.5), points(TRIANGLE), 2, 0.5, directional=True
    ),
    "scaled discs": Pair(SCALED_BALLS, Distance(), points(BOX), 2, 5.0, directional=True),
    "diamonds": Pair(Balls(BOX, 1), Distance(), points(BOX), 2, 7.0, directional=True),
    "squares": Pair(Balls(BOX, np.inf), Distance(), points(BOX), 2, 4.0, directional=True),
    "classes": Pair(LabelSets(), Miscoverage(), classes, 4, 1.0),
    "cumulated classes": Pair(LabelSets(APS(), nonempty=True), Miscoverage(), classes, 4, 1.0),
    "random classes": Pair(LabelSets(RAPS(randomized=True)), Miscoverage(), classes, 4, 1.0),
    "masks": Pair(Masks(), FalseNegativeRate(), labels, 4, 1.0),
    "masks, miscoverage": Pair(Masks(), Miscoverage(), labels, 4, 1.0),
    "masks, envelope": Pair(Masks(), Monotonized(F1()), labels, 4, 1.0, least=0.6),
}
EVERY = [(name, worst_case) for name, pair in PAIRS.items() for worst_case in pair.worst_cases]


@dataclass
class Case:
    """Calibration rows with weights, some test rows, and a level."""

    pair: Pair
    worst_case: object
    x: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    test: np.ndarray
    alpha: float

    def controller(self, **parts):
        options = {"ratio": RATIO, "worst_case": self.worst_case} | parts
        predictor = front(self.pair.width)
        return RiskController(predictor, self.pair.family, self.pair.loss, **options)

    def calibrated(self, **parts):
        return self.controller(**parts).calibrate(self.x, self.y, seed=3, ids=self.ids)

    def sets(self, alpha=None, **parts):
        return self.calibrated(**parts).predict(self.test, self.alpha if alpha is None else alpha)

    def rows(self, index):
        index = np.asarray(index)
        ids = self.ids[index]
        return replace(self, x=self.x[index], y=self.y[index], ids=ids)

    def weighted(self, weights, test_weights):
        x, test = self.x.copy(), self.test.copy()
        x[:, -1], test[:, -1] = weights, test_weights
        return replace(self, x=x, test=test)


def levels(pair):
    shares = st.one_of(st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5, 1.0]), st.floats(0, 1))
    return shares.map(
        lambda share: min(pair.least + share * (pair.largest - pair.least), pair.largest)
    )


@st.composite
def cases(draw, name, worst_case):
    pair = PAIRS[name]
    rng, n = np.random.default_rng(draw(NOISE)), draw(st.integers(1, 12))
    x, y = pair.data(rng, n)
    test, _ = pair.data(rng, 3)
    weights = draw(st.lists(WEIGHTS, min_size=n + 3, max_size=n + 3))
    x = np.column_stack([x, weights[:n]])
    test = np.column_stack([test, weights[n:]])
    return Case(pair, worst_case, x, y, np.arange(n) + 100, test, draw(levels(pair)))


def shape_of(sets):
    """What a set is, as numbers that grow with it."""
    return np.asarray(getattr(sets, "reach", sets.threshold), dtype=float)


def same(one, other):
    a, b = shape_of(one), shape_of(other)
    assert a.shape == b.shape
    finite = np.isfinite(a) & np.isfinite(b)
    assert (a[~finite] == b[~finite]).all()
    assert np.abs(a[finite] - b[finite]).max(initial=0.0) <= 1e-10
    assert one.whole.tolist() == other.whole.tolist()
    sizes, others = one.size(), other.size()
    assert (np.isfinite(sizes) == np.isfinite(others)).all()
    assert np.nan_to_num(sizes, posinf=0) == pytest.approx(
        np.nan_to_num(others, posinf=0), rel=1e-7, abs=1e-7
    )


def more_risk_never_a_larger_set(case, draw):
    low, high = sorted([case.alpha, draw(levels(case.pair))])
    large, small = case.sets(low), case.sets(high)
    assert (shape_of(small) <= shape_of(large) + 1e-10).all()
    assert (small.whole <= large.whole).all()
    assert (small.size() <= large.size() + 1e-7).all()


def row_order_is_irrelevant(case, draw):
    order = draw(st.permutations(range(len(case.x))))
    same(case.sets(), case.rows(order).sets())


def a_batch_is_its_rows(case, draw):
    del draw
    calibrated, ids = case.calibrated(), np.arange(3)
    together = calibrated.predict(case.test, case.alpha, ids=ids)
    alone = [calibrated.predict(case.test[[row]], case.alpha, ids=ids[[row]]) for row in range(3)]
    shapes, sizes = zip(*((shape_of(sets)[0], sets.size()[0]) for sets in alone), strict=True)
    # Not to the last bit: products of matrices round differently for one row.
    assert shape_of(together) == pytest.approx(np.array(shapes), rel=1e-12, abs=1e-12)
    assert together.size() == pytest.approx(np.array(sizes), rel=1e-12, abs=1e-12)


def the_facade_is_its_parts(case, draw):
    del draw
    pair, predictor = case.pair, predictor_of(front(case.pair.width))
    known, new = Table.of("X", case.x), Table.of("X", case.test)
    nest = pair.family.nest(predictor, known, Draws("calibration", len(known), 3, case.ids))
    rule = RiskCurve(pair.loss.curves(nest, case.y), case.x[:, -1])
    asked = pair.family.nest(predictor, new, Draws("prediction", 3, 3))
    level, weights = np.full(3, case.alpha), case.test[:, -1]
    found = case.sets()
    if case.worst_case is DIRECTIONAL:
        edges = asked.rays(16)
        reach = rule.directional(level, weights, edges, slopes=asked.slopes)
        assert found.reach.tolist() == reach.tolist()
        same(found, asked.star(reach, 16))
        return
    worst = pair.loss.bound(asked) if case.worst_case is CONSTANT else pair.loss.worst(asked)
    thresholds = rule.threshold(level, weights, worst=worst)
    assert found.threshold.tolist() == thresholds.tolist()
    same(found, asked.at(thresholds))


def only_ratios_of_weights_matter(case, draw):
    c = draw(st.sampled_from([2.0, 0.25, 1024.0, 10.0]))
    same(case.sets(), case.sets(ratio=KnownRatio(lambda x: c * x[:, -1])))


def a_weight_of_k_is_a_row_k_times(case, draw):
    counts = draw(st.lists(st.integers(0, 3), min_size=len(case.x), max_size=len(case.x)))
    assume(any(counts))
    once = case.weighted(counts, case.test[:, -1])
    again = case.rows(np.repeat(np.arange(len(counts)), counts))
    again = again.weighted(np.ones(sum(counts)), case.test[:, -1])
    same(once.sets(), replace(again, ids=np.arange(sum(counts))).sets())


def equal_weights_are_ordinary_risk_control(case, draw):
    del draw
    equal = case.weighted(np.full(len(case.x), 7.0), np.full(3, 7.0))
    ordinary = case.controller()
    ordinary = RiskController(
        ordinary.predictor, ordinary.sets, ordinary.loss, worst_case=case.worst_case
    )
    calibrated = ordinary.calibrate(case.x, case.y, seed=3, ids=case.ids)
    same(equal.sets(), calibrated.predict(case.test, case.alpha))


def ordinary_risk_control_is_the_mean_of_n_plus_one(case, draw):
    """Of the paper's rule, by its definition: (sum L_i(lam) + Lmax) / (n + 1) <= alpha."""
    del draw
    n = len(case.x)
    equal = case.weighted(np.ones(n), np.ones(3))
    calibrated = equal.calibrated()
    lam = float(calibrated.predict(equal.test, case.alpha).threshold[0])
    losses, bound = calibrated.losses, case.pair.largest

    def risk(at):
        return (losses.at(at).sum() + bound) / (n + 1)

    if np.isfinite(lam):
        assert risk(lam) <= case.alpha + 1e-9
    just_below = 1e6 if lam == np.inf else lam - 1e-7
    if just_below > losses.lower:
        assert risk(just_below) > case.alpha - 1e-9


def a_loss_of_finished_sets_is_never_above_its_curve(case, draw):
    del draw
    pair, predictor = case.pair, predictor_of(front(case.pair.width))
    known = Table.of("X", case.x)
    nest = pair.family.nest(predictor, known, Draws("calibration", len(known), 3, case.ids))
    curves = pair.loss.curves(nest, case.y)
    exact = not isinstance(pair.loss, (MonotoneLoss, Monotonized))
    top = nest.whole()
    for share in (0.0, 0.1, 0.3, 0.6, 0.9, 1.0):
        finite = np.where(np.isfinite(top), top, 10.0)
        lam = max(float(share * finite.max()), curves.lower)
        found, bounds = pair.loss.of(nest.at(lam), case.y), curves.at(lam)
        assert (found <= bounds + 1e-9).all()
        assert not exact or found == pytest.approx(bounds, abs=1e-9)


LAWS = [
    more_risk_never_a_larger_set,
    row_order_is_irrelevant,
    a_batch_is_its_rows,
    the_facade_is_its_parts,
    only_ratios_of_weights_matter,
    a_weight_of_k_is_a_row_k_times,
    equal_weights_are_ordinary_risk_control,
    ordinary_risk_control_is_the_mean_of_n_plus_one,
    a_loss_of_finished_sets_is_never_above_its_curve,
]


def fits(law, name, worst_case):
    """Rows of a random score cannot be repeated: each has a draw of its own."""
    if law is a_weight_of_k_is_a_row_k_times:
        return name != "random classes"
    return law is not ordinary_risk_control_is_the_mean_of_n_plus_one or worst_case is CONSTANT


@pytest.mark.parametrize(
    ("law", "name", "worst_case"),
    [
        pytest.param(law, *case, id=f"{law.__name__}, {case[0]}, {type(case[1]).__name__}")
        for law in LAWS
        for case in EVERY
        if fits(law, *case)
    ],
)
def test_law(law, name, worst_case):
    @settings(max_examples=12 * RUNS)
    @given(cases(name, worst_case), st.data())
    def check(case, data):
        law(case, data.draw)

    check()


@pytest.mark.parametrize("name", PAIRS)
def test_each_worst_case_gives_smaller_sets_than_the_one_before(name):
    # A polygon of 16 directions sticks out of an arc; reaches are compared instead of areas.
    @settings(max_examples=25 * RUNS)
    @given(cases(name, CONSTANT))
    def check(case):
        paper, envelope = case.sets(), case.sets(worst_case=POINTWISE)
        assert (envelope.threshold <= paper.threshold + 1e-10).all()
        assert (envelope.size() <= paper.size() + 1e-7).all()
        assert (envelope.whole <= paper.whole).all()
        if not case.pair.directional:
            return
        star = case.sets(worst_case=DIRECTIONAL)
        assert (star.reach <= envelope.threshold[:, None] + 1e-10).all()
        assert (star.whole <= envelope.whole).all()
        if case.pair.width == 1 or isinstance(case.pair.family, Intervals):
            assert (star.size() <= envelope.size() + 1e-7).all()
        else:
            angle = 2 * np.pi / 16
            more = angle**2 if case.pair.family.p == 2 else 0.6 * angle  # at corners of a ball
            assert (star.size() <= (1 + more) * envelope.size() + 1e-7).all()

    check()


def test_worst_cases_do_differ():
    rng = np.random.default_rng(0)
    pair = PAIRS["discs"]
    x, y = pair.data(rng, 40)
    test, _ = pair.data(rng, 20)
    x, test = (np.column_stack([part, np.ones(len(part))]) for part in (x, test))
    case = Case(pair, CONSTANT, x, y, np.arange(40), test, 0.25)
    paper, envelope, star = (
        case.sets(worst_case=worst_case).size().mean()
        for worst_case in (CONSTANT, POINTWISE, Directional(72))
    )
    assert star < 0.95 * envelope < 0.9 * paper
