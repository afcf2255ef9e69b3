"""Balls against plain loops: norms by their definition, sets and distances by grids of labels."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import shapely

from shiftproof import (
    Balls,
    Box,
    Constant,
    Directional,
    Distance,
    InputError,
    Intervals,
    Miscoverage,
    MonotoneLoss,
    Pointwise,
    Polygon,
    RiskController,
)
from shiftproof._tables import Table
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of
from shiftproof.sets import balls

INF = math.inf
ORDERS = [1, 1.5, 2, 3, INF]
STRETCH = [0.5, 2.0, 1.0, 1.0, 4.0]

REGIONS = {
    1: Box(0, 4),
    2: Box([0, -1], [4, 2]),
    3: Box([0, 0, 0], [2, 3, 1]),
    5: Box([0] * 5, [1, 2, 1, 1, 2]),
    "triangle": Polygon([[0, 0], [4, 0], [0, 3]]),
}
CENTERS = {
    1: [[0.0], [1.25], [4.0], [-3.0], [9.0]],
    2: [[1.0, 0.5], [0.0, -1.0], [4.0, 1.0], [6.0, 0.0], [-1.0, 5.0]],
    3: [[1.0, 1.0, 0.5], [0.0, 0.0, 0.0], [2.0, 1.0, 1.0], [5.0, 1.0, 0.5], [1.0, -2.0, 3.0]],
    5: [[0.5] * 5, [0.0] * 5, [1, 2, 1, 1, 2], [3, 0.5, 0.5, 0.5, 0.5], [-1, -1, 5, 0, 1]],
    "triangle": [[1.0, 1.0], [0.0, 0.0], [2.0, 1.5], [6.0, -2.0], [3.0, 3.0]],
}
MOVED = {  # where predictions outside of the region come to lie
    1: {3: [0.0], 4: [4.0]},
    2: {3: [4.0, 0.0], 4: [0.0, 2.0]},
    3: {3: [2.0, 1.0, 0.5], 4: [1.0, 0.0, 1.0]},
    5: {3: [1, 0.5, 0.5, 0.5, 0.5], 4: [0, 0, 1, 0, 1]},
    "triangle": {3: [4.0, 0.0], 4: [1.92, 1.56]},  # the foot on 3 x + 4 y = 12
}

SPACE = pytest.mark.parametrize("space", REGIONS)
ORDER = pytest.mark.parametrize("p", ORDERS)


def nest_of(family, predictions):
    table = Table.of("X", np.asarray(predictions, dtype=float))
    return family.nest(predictor_of(lambda x: x), table, Draws("prediction", len(table)))


def made(space, p, stretch=None):
    scale = None if stretch is None else lambda _: np.array(stretch)
    return nest_of(Balls(REGIONS[space], p, scale), CENTERS[space])


def length(vector, p):
    """A norm by its definition."""
    sizes = [abs(float(value)) for value in vector]
    return max(sizes) if p == INF else sum(size**p for size in sizes) ** (1 / p)


def centers_of(space):
    return [MOVED[space].get(row, center) for row, center in enumerate(CENTERS[space])]


def labels_of(space):
    """All points of a grid that lie in the region, its corners among them."""
    if space == "triangle":
        grid = itertools.product(np.linspace(0, 4, 33), np.linspace(0, 3, 25))
        return np.array([point for point in grid if 3 * point[0] + 4 * point[1] <= 12 + 1e-9])
    box, steps = REGIONS[space], {1: 129, 2: 25, 3: 9, 5: 4}[space]
    sides = [np.linspace(low, high, steps) for low, high in zip(box.low, box.high, strict=True)]
    return np.array(list(itertools.product(*sides)))


def some(space, count, seed=0):
    labels = labels_of(space)
    return labels[np.random.default_rng(seed).choice(len(labels), count)]


@SPACE
def test_predictions_outside_are_moved_to_the_nearest_point(space):
    nest = made(space, 2)
    assert nest.centers == pytest.approx(np.array(centers_of(space), dtype=float))
    assert nest.at(1.0).centers is nest.centers


@SPACE
@ORDER
@pytest.mark.parametrize("stretch", [None, STRETCH])
def test_the_entry_is_the_distance_in_units_of_the_scale(space, p, stretch):
    nest = made(space, p, stretch)
    for label in some(space, 20):
        scores = nest.entry(np.tile(label, (5, 1)))
        for score, center, s in zip(scores, centers_of(space), stretch or [1.0] * 5, strict=True):
            assert score == pytest.approx(length(label - np.array(center), p) / s, abs=1e-12)


@SPACE
@ORDER
@pytest.mark.parametrize("stretch", [None, STRETCH])
def test_a_threshold_equal_to_a_score_holds_its_label(space, p, stretch):
    nest = made(space, p, stretch)
    for label in some(space, 30, seed=1):
        y = np.tile(label, (5, 1))
        scores = nest.entry(y)
        assert nest.at(scores).contains(y).all()
        assert not nest.at(np.nextafter(scores, -INF)).contains(y).any()
        assert (nest.at(scores).distance(y) == 0).all()


@SPACE
@ORDER
@pytest.mark.parametrize("stretch", [None, STRETCH])
def test_contains_and_distance_by_the_displayed_radii(space, p, stretch):
    nest = made(space, p, stretch)
    for step in (0.0, 0.3, 1.1, 2.0):
        sets = nest.at(step)
        assert sets.radii.tolist() == [
            INF if step >= far else step * s
            for far, s in zip(nest.whole(), stretch or [1.0] * 5, strict=True)
        ]
        for label in some(space, 10, seed=2):
            y = np.tile(label, (5, 1))
            beyond = [
                length(label - np.array(center), p) - radius
                for center, radius in zip(centers_of(space), sets.radii, strict=True)
            ]
            assert sets.distance(y) == pytest.approx(np.maximum(beyond, 0), abs=1e-12)
            clear = np.abs(beyond) > 1e-9
            assert (sets.contains(y) == (np.array(beyond) <= 0))[clear].all()


@pytest.mark.parametrize("space", [1, 2, 3, "triangle"])
@ORDER
def test_distance_to_the_nearest_label_of_the_cut_ball(space, p):
    # The region is convex and holds the center: no label of the cut ball is nearer or farther.
    nest, labels = made(space, p), labels_of(space)
    centers = np.array(centers_of(space), dtype=float)
    for step in (0.4, 1.3):
        for row, center in enumerate(centers):
            inside = [label for label in labels if length(label - center, p) <= step]
            for label in some(space, 5, seed=row):
                y = np.tile(label, (5, 1))
                found = nest.at(step).distance(y)[row]
                nearest = min((length(label - other, p) for other in inside), default=INF)
                assert found <= nearest + 1e-12
                # On the way from the center to the label lies the nearest one.
                away = length(label - center, p)
                if away > step:
                    point = center + (label - center) * step / away
                    assert REGIONS[space].contains([point])[0]
                    assert length(label - point, p) == pytest.approx(found, abs=1e-9)


LOSSES = {
    "miscoverage": Miscoverage(),
    "distance": Distance(),
    "capped": Distance(cap=0.75),
    "own": MonotoneLoss(
        lambda sets, y: np.minimum(1, sets.distance(y) / 5), np.linspace(0, 3, 13), loss_max=1.0
    ),
}


@SPACE
@ORDER
@pytest.mark.parametrize("stretch", [None, STRETCH])
@pytest.mark.parametrize("loss", LOSSES)
def test_curves_are_the_losses_of_finished_balls(space, p, stretch, loss):
    nest, loss = made(space, p, stretch), LOSSES[loss]
    places = getattr(loss, "thresholds", None)
    for seed in range(3):
        y = some(space, 5, seed)
        curves = loss.curves(nest, y)
        assert curves.bound == loss.bound(nest)
        for step in [*np.linspace(0, 5, 21), INF] if places is None else places:
            assert curves.at(step) == pytest.approx(loss.of(nest.at(step), y), abs=1e-12)


@SPACE
@ORDER
@pytest.mark.parametrize("loss", ["miscoverage", "distance", "capped"])
def test_the_worst_case_is_the_largest_loss_of_any_label(space, p, loss):
    nest, loss = made(space, p, STRETCH), LOSSES[loss]
    worst, labels = loss.worst(nest), labels_of(space)[:: 3 if space == 5 else 1]
    corners = REGIONS[space].corners
    for step in (0.0, 0.5, 1.2, 2.5):
        losses = [
            loss.of(nest.at(step), np.tile(label, (5, 1))) for label in [*labels[::17], *corners]
        ]
        assert worst.at(step) == pytest.approx(np.max(losses, axis=0), abs=1e-12)


@SPACE
@ORDER
def test_the_bound_is_the_largest_distance_of_two_labels(space, p):
    corners = REGIONS[space].corners
    largest = max(length(one - other, p) for one in corners for other in corners)
    assert Distance().bound(made(space, p)) == pytest.approx(largest)
    assert Distance(cap=0.5).bound(made(space, p)) == 0.5


@SPACE
@ORDER
def test_whole_is_where_every_label_is_in(space, p):
    nest = made(space, p, STRETCH)
    whole, corners = nest.whole(), REGIONS[space].corners
    inside = [nest.at(whole).contains(np.tile(corner, (5, 1))) for corner in corners]
    assert np.all(inside)
    before = nest.at(whole * (1 - 1e-12))
    assert not np.all([before.contains(np.tile(c, (5, 1))) for c in corners], axis=0).any()
    assert nest.at(whole).whole.all()
    assert not before.whole.any()
    assert nest.at(whole).size() == pytest.approx(np.full(5, REGIONS[space].volume))
    assert nest.at(whole).relative_size() == pytest.approx(np.ones(5))
    assert (nest.at(whole).radii == INF).all()


@pytest.mark.parametrize("space", [1, 2, "triangle"])
@ORDER
def test_sizes_against_counting(space, p):
    nest = made(space, p, STRETCH)
    region = REGIONS[space]
    low, high = region.corners.min(axis=0), region.corners.max(axis=0)
    steps = {1: 4000}.get(space, 300)
    sides = [a + (b - a) * (np.arange(steps) + 0.5) / steps for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(low))
    points = points[region.contains(points)]
    cell = np.prod((high - low) / steps)
    smaller = np.zeros(5)
    for step in (0.0, 0.2, 0.7, 1.5, 8.0):
        sets = nest.at(step)
        for row, center in enumerate(centers_of(space)):
            away = np.abs(points - np.array(center))
            lengths = away.max(axis=1) if p == INF else (away**p).sum(axis=1) ** (1 / p)
            count = (lengths <= step * STRETCH[row]).sum() * cell
            assert sets.size()[row] == pytest.approx(count, abs=0.01 * region.volume)
        assert (sets.size() >= smaller - 3 * sets.size_error).all()
        assert sets.relative_size() == pytest.approx(sets.size() / region.volume)
        smaller = sets.size()


def test_size_errors_are_those_of_the_volumes():
    exact = made(2, 2).at(1.0)
    assert (exact.size_error == 0).all()
    drawn = made(3, 3).at(0.7)
    assert (drawn.size_error > 0).any()
    volumes, errors = REGIONS[3].ball_volume(drawn.centers, drawn.radii, 3)
    assert drawn.size().tolist() == volumes.tolist()
    assert drawn.size_error.tolist() == errors.tolist()


def test_on_the_line_they_are_intervals():
    line = nest_of(Intervals(0, 4), CENTERS[1])
    for p in ORDERS:
        nest = made(1, p)
        assert nest.whole().tolist() == line.whole().tolist()
        for step in (0.0, 0.7, 3.0, 4.0):
            mine, other = nest.at(step), line.at(step)
            assert mine.whole.tolist() == other.whole.tolist()
            assert mine.size() == pytest.approx(other.size())
            for label in labels_of(1)[::9]:
                y = np.tile(label, 5)
                assert mine.contains(y).tolist() == other.contains(y).tolist()
                assert mine.distance(y).tolist() == other.distance(y).tolist()


def test_in_a_region_that_is_not_convex_the_distance_would_be_larger():
    # An L of arms 1 wide: the way from one arm to the other leads around the inner corner.
    corner = shapely.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    center, label, radius = (1.0, 2.0), (2.0, 1.0), 1.0
    cut = shapely.intersection(shapely.Point(center).buffer(radius, quad_segs=512), corner)
    hinge = math.dist(center, label) - radius
    assert hinge == pytest.approx(0.414, abs=1e-3)
    assert cut.distance(shapely.Point(label)) == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(InputError, match="convex"):
        Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])
    assert "In a region that is not convex it can be larger" in balls.__doc__


class TestRounding:
    """Labels that count as inside though they lie outside by rounding."""

    @pytest.mark.parametrize("p", ORDERS)
    def test_a_whole_set_holds_them(self, p):
        nest = nest_of(Balls(Box([0, 0], [4, 3]), p), [[0.0, 0.0], [1.0, 1.0]])
        y = [[4 + 1e-9, 3 + 1e-9], [4 + 1e-9, 3 + 1e-9]]
        assert nest.entry(y).tolist() == nest.whole().tolist()
        for worst in (nest.whole(), INF):
            assert nest.at(worst).contains(y).all()
            assert (nest.at(worst).distance(y) == 0).all()

    def test_they_calibrate(self):
        x = np.zeros((3, 2))
        y = np.full((3, 2), 10 + 9e-9)
        controller = RiskController(lambda x: x, Balls(Box([0, 0], [10, 10])), Distance())
        sets = controller.calibrate(x, y).predict(x[:1], alpha=0.0)
        assert sets.whole.all()
        assert sets.contains(y[:1]).all()


class TestController:
    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        y = rng.uniform(0, 10, (300, 2))
        return y + rng.normal(0, 0.7, y.shape), y

    @pytest.mark.parametrize("p", ORDERS)
    def test_risk_is_near_alpha(self, data, p):
        x, y = data
        controller = RiskController(lambda x: x, Balls(Box([0, 0], [10, 10]), p), Distance())
        calibrated = controller.calibrate(x[:150], y[:150])
        found = calibrated.evaluate(x[150:], y[150:], alpha=0.3)
        assert 0.2 < found.risk.value < 0.4
        radii = calibrated.predict(x[150:], alpha=0.3).radii
        assert np.ptp(radii) < 0.2

    @pytest.mark.parametrize("worst_case", [Pointwise(), Directional()])
    def test_scaled_balls_are_larger_where_the_scale_is(self, worst_case):
        rng = np.random.default_rng(1)
        y, s = rng.uniform(0, 10, (400, 2)), rng.uniform(0.2, 1, 400)
        x = np.column_stack([y + s[:, None] * rng.normal(size=(400, 2)), s])
        controller = RiskController(
            lambda x: x[:, :2],
            Balls(Box([0, 0], [10, 10]), scale=lambda x: x[:, 2]),
            Distance(),
            worst_case=worst_case,
        )
        sets = controller.calibrate(x, y).predict([[5.0, 5.0, 0.2], [5.0, 5.0, 0.8]], alpha=0.4)
        assert 10 < sets.size()[1] / sets.size()[0] < 17  # four times as wide

    def test_the_papers_rule_gives_the_whole_region_first(self, data):
        x, y = data
        for worst_case, whole in ((Constant(), True), (Pointwise(), False)):
            controller = RiskController(
                lambda x: x, Balls(Box([0, 0], [10, 10])), Distance(), worst_case=worst_case
            )
            sets = controller.calibrate(x[:30], y[:30]).predict(x[30:], alpha=0.4)
            assert bool(sets.whole.all()) == whole
            if whole:
                assert (sets.radii == INF).all()
                assert (sets.size() == 100).all()

    def test_no_rows(self, data):
        x, y = data
        for worst_case in (Constant(), Pointwise(), Directional()):
            controller = RiskController(
                lambda x: x, Balls(Box([0, 0], [10, 10])), Distance(), worst_case=worst_case
            )
            sets = controller.calibrate(x, y).predict(np.empty((0, 2)), alpha=0.4)
            assert (len(sets), sets.size().shape, len(sets.to_frame())) == (0, (0,), 0)


class TestBorder:
    @pytest.mark.parametrize("p", [0.5, 0, -1, -INF])
    def test_a_norm_is_of_order_one_or_more(self, p):
        with pytest.raises(InputError, match="p: expected a norm from 1 to inf"):
            Balls(Box([0, 0], [1, 1]), p)

    @pytest.mark.parametrize("p", [math.nan, "2", None])
    def test_a_norm_is_a_number(self, p):
        with pytest.raises(InputError, match="p: expected"):
            Balls(Box([0, 0], [1, 1]), p)

    @pytest.mark.parametrize("region", [None, [[0, 0], [1, 1]], (0, 10), "box"])
    def test_a_region_is_one(self, region):
        with pytest.raises(InputError, match="region: expected a Box or a convex Polygon"):
            Balls(region)

    def test_labels_outside_are_named(self):
        nest = nest_of(Balls(Box([0, 0], [4, 3])), np.ones((3, 2)))
        inside, outside = [1.0, 1.0], [4.5, 1.0]
        with pytest.raises(InputError, match=r"inside the region, got \[4.5, 1.0\] in row 1;"):
            nest.entry([inside, outside, inside])
        with pytest.raises(InputError, match=r"in row 0 \(2 such rows\)"):
            nest.at(1.0).distance([outside, inside, outside])
        with pytest.raises(InputError, match="enlarge the region"):
            Distance().curves(nest, [inside, inside, [1.0, -1.0]])
        with pytest.raises(InputError, match="NaN"):
            nest.entry([inside, [math.nan, 1.0], inside])

    @pytest.mark.parametrize("labels", [[1.0, 2.0], [[1.0], [2.0]], [[1.0, 1.0, 1.0]] * 2])
    def test_labels_have_the_dimension_of_the_region(self, labels):
        with pytest.raises(InputError, match="labels: expected 2 numbers for each row"):
            nest_of(Balls(Box([0, 0], [4, 3])), np.ones((2, 2))).entry(labels)

    def test_labels_have_the_rows_of_the_inputs(self):
        with pytest.raises(InputError, match="labels: expected 2 rows, one for each input, got 3"):
            nest_of(Balls(Box([0, 0], [4, 3])), np.ones((2, 2))).entry(np.ones((3, 2)))

    @pytest.mark.parametrize(
        "labels",
        [
            [[1, 2], [3, 0]],
            pd.DataFrame({"e": [1, 3], "n": [2.0, 0.0]}, index=[5, 1]),
            pl.DataFrame({"e": [1, 3], "n": [2.0, 0.0]}),
            np.array([[1, 2], [3, 0]], dtype=object),
            np.array([[1, 2], [3, 0]], dtype=np.float32),
        ],
    )
    def test_labels_come_in_many_forms(self, labels):
        nest = nest_of(Balls(Box([0, 0], [4, 3]), 1), [[1.0, 1.0], [1.0, 1.0]])
        assert nest.entry(labels).tolist() == [1.0, 3.0]

    def test_predictions_have_the_dimension_of_the_region(self):
        for shape in ((2,), (2, 1), (2, 3)):
            with pytest.raises(InputError, match=r"predictions: expected shape \(2, 2\)"):
                Balls(Box([0, 0], [4, 3])).nest(
                    predictor_of(lambda _, shape=shape: np.ones(shape)),
                    Table.of("X", np.ones((2, 1))),
                    Draws("prediction", 2),
                )

    def test_a_scale_is_positive_and_one_number(self):
        for scale, match in (
            (lambda x: np.zeros(len(x)), "numbers above 0, got 0.0"),
            (lambda x: x, "one number for each row"),
        ):
            with pytest.raises(InputError, match=match):
                nest_of(Balls(Box([0, 0], [4, 3]), scale=scale), np.ones((2, 2)))
        with pytest.raises(InputError, match="predictor"):
            Balls(Box([0, 0], [4, 3]), scale=2.0)


class TestTables:
    def test_columns_and_types(self):
        rng = np.random.default_rng(0)
        x = rng.uniform(0, 4, (20, 2))
        controller = RiskController(np.asarray, Balls(Box([0, 0], [4, 4])), Distance())
        table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1]})
        sets = controller.calibrate(table, np.clip(x + 0.1, 0, 4)).predict(table[:3], alpha=0.1)
        frame = sets.to_frame()
        assert frame.columns == ["center_0", "center_1", "radius", "threshold", "whole", "outcome"]
        assert frame.dtypes == [pl.Float64] * 4 + [pl.Boolean, pl.String]
        assert frame["radius"].to_list() == sets.radii.tolist()
        assert frame["center_1"].to_list() == x[:3, 1].tolist()
        assert frame["outcome"].to_list() == ["controlled"] * 3
        assert isinstance(sets.to_frame("pandas"), pd.DataFrame)

    def test_sets_chosen_by_hand(self):
        nest = made(3, 2)
        assert repr(nest.at(0.5)) == "BallSets(5 sets, 0 whole)"
        assert repr(nest.at(INF)) == "BallSets(5 sets, 5 whole)"
        assert list(nest.at(0.5).to_frame().columns)[:4] == [
            *(f"center_{k}" for k in range(3)),
            "radius",
        ]
        with pytest.raises(InputError, match="by hand"):
            _ = nest.at(0.5).outcome


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("space", [2, "triangle"])
def test_outlines_hold_the_cut_ball_and_little_more(space, p):
    family, places = Balls(REGIONS[space], p=p), CENTERS[space]
    nest = nest_of(family, places)
    region = shapely.Polygon(shapely.MultiPoint(family.region.corners).convex_hull)
    for radius in (0.3, 1.1, 2.0, INF):
        sets = nest.at(radius)
        outlines = [shapely.Polygon(corners) for corners in sets.outlines]
        labels = some(space, 300)
        for row, outline in enumerate(outlines):
            assert region.buffer(1e-9).covers(outline)
            near = np.linalg.norm(labels - sets.centers[row], ord=p, axis=1) <= radius
            held = [outline.buffer(1e-9).covers(shapely.Point(label)) for label in labels[near]]
            assert all(held)
            if p in (1, INF):
                assert outline.area == pytest.approx(sets.size()[row], rel=1e-8)
            elif p == 2:
                assert sets.size()[row] <= outline.area * (1 + 1e-9)
                assert outline.area <= 1.002 * sets.size()[row]
            if sets.whole[row]:
                assert outline.area == pytest.approx(family.region.volume)


def test_outlines_on_the_line_are_ends_and_in_space_are_none():
    sets = nest_of(Balls(Box(0, 4)), [[1.0], [3.5]]).at([2.0, INF])
    assert sets.outlines[:, :, 0].tolist() == [[0.0, 3.0], [0.0, 4.0]]
    with pytest.raises(InputError, match="one dimension or two, got 3 dimensions"):
        _ = nest_of(Balls(REGIONS[3]), CENTERS[3]).at(1.0).outlines
