"""Star-shaped sets: what is drawn holds the exact set, lies in the region, and is measured right.

The exact set around f is { f + t u : t <= min(D_u, lam'(D_u)) }. Oracles look at one label at a
time: its own direction, the way to the edge in it, and the threshold for that distance alone.
"""

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
    Directional,
    Distance,
    InputError,
    Intervals,
    LossCurves,
    Miscoverage,
    Outcome,
    Pointwise,
    Polygon,
    RiskController,
    RiskCurve,
    ScaledResidual,
)
from shiftproof._tables import Table
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of
from shiftproof.sets.areas import norm

INF = math.inf
DIRECTIONS = 72

REGIONS = {
    "box": Box([0, -1], [4, 2]),
    "far box": Box([1000, 2000], [1003, 2001]),
    "triangle": Polygon([[0, 0], [4, 0], [0, 3]]),
    "quadrangle": Polygon([[0, 0], [5, 1], [4, 4], [-1, 2]]),
    "needle": Polygon([[0, 0], [6, 0.1], [6, 0.3]]),
}
ORDERS = [1, 2, 3, INF]

CASE = pytest.mark.parametrize("name", REGIONS)
ORDER = pytest.mark.parametrize("p", ORDERS)


def nest_of(family, predictions):
    table = Table.of("X", np.asarray(predictions, dtype=float))
    return family.nest(predictor_of(lambda x: x), table, Draws("prediction", len(table)))


def places(region, rng, count):
    """Points all over a region, some of them near to its edge."""
    shares = rng.dirichlet(np.full(len(region.corners), 0.5), count)
    return region.project(shares @ region.corners)


def predictions(region, rng):
    """Inside, on corners and edges, and outside: those come to lie on the edge or in a corner."""
    corners = region.corners
    order = np.argsort(np.arctan2(*(corners - corners.mean(axis=0)).T))
    around = corners[order]
    edges = around + 0.3 * (np.roll(around, -1, axis=0) - around)
    outside = corners.mean(axis=0) + 9 * rng.normal(size=(12, 2)) * np.ptp(corners, axis=0)
    return np.concatenate([places(region, rng, 8), corners, edges, outside])


def curve(region, p, rng, n=30, cap=None):
    """A random weighted curve of distances."""
    bound = region.diameter(p)
    scores = bound * rng.beta(1, 6, n)
    losses = LossCurves.hinges(scores, bound=cap or bound, cap=cap)
    return RiskCurve(losses, rng.exponential(size=n))


def drawn(name, p, seed, directions=DIRECTIONS, alpha=None, cap=None, scale=None):
    """A nest, the sets of a random rule, and that rule for one direction of each point."""
    rng = np.random.default_rng(seed)
    region = REGIONS[name]
    nest = nest_of(Balls(region, p, scale), predictions(region, rng))
    rule = curve(region, p, rng, cap=cap)
    level = alpha if alpha is not None else 0.5 * float(rule.risk(0.0)) * rng.random()
    weights = rng.exponential(3, len(nest))
    reach = rule.directional(level, weights, nest.rays(directions), slopes=nest.slopes)
    sets = nest.star(reach, directions)

    def exact(edges):
        s = nest.slopes
        found = rule.directional(level, weights, (edges / s)[:, None], slopes=s)
        return np.minimum(edges, found[:, 0] * s)

    return nest, sets, exact, rng


def towards(nest, labels, p):
    """How far each label is, and how far the region goes in its direction."""
    away = labels - nest.centers
    distances = norm(away, p)
    units = np.where(distances[:, None] > 0, away, 1.0)
    units /= norm(units, p)[:, None]
    return distances, units, nest.region.to_edge(nest.centers, units[:, None, :])[:, 0]


def polygons(sets):
    return [shapely.Polygon(outline) for outline in sets.outlines]


def close(region):
    """What rounding may do to coordinates like those of the region."""
    return 1e-9 * max(1.0, float(np.abs(region.corners).max()))


@CASE
@ORDER
@pytest.mark.parametrize("seed", [0, 1])
def test_the_drawn_set_holds_the_exact_one(name, p, seed):
    nest, sets, exact, rng = drawn(name, p, seed)
    held = 0
    for _ in range(15):
        labels = places(nest.region, rng, len(nest))
        distances, _, edges = towards(nest, labels, p)
        reach = exact(edges)
        inside = distances <= reach
        held += inside.sum()
        assert sets.contains(labels)[inside].all()
        # The promise: no more is lost than in the sum with the true label in it.
        promised = np.maximum(distances - reach, 0)
        assert (sets.distance(labels) <= promised + close(nest.region)).all()
    assert held > 20


@CASE
@ORDER
@pytest.mark.parametrize("seed", [2, 3])
def test_the_very_end_of_each_ray_is_in(name, p, seed):
    nest, sets, exact, rng = drawn(name, p, seed)
    outlines = polygons(sets)
    for _ in range(5):
        _, units, edges = towards(nest, places(nest.region, rng, len(nest)), p)
        labels = nest.region.project(nest.centers + exact(edges)[:, None] * units)
        assert (sets.distance(labels) <= close(nest.region)).all()
        for outline, label in zip(outlines, labels, strict=True):
            assert outline.distance(shapely.Point(label)) <= close(nest.region)


@CASE
@ORDER
def test_outlines_lie_in_the_region_and_areas_are_theirs(name, p):
    _, sets, *_ = drawn(name, p, seed=4)
    region = REGIONS[name]
    space = shapely.convex_hull(shapely.MultiPoint(region.corners))
    slack = close(region)
    for polygon, area, whole in zip(polygons(sets), sets.size(), sets.whole, strict=True):
        assert space.buffer(slack).covers(polygon)
        assert area == pytest.approx(polygon.area, abs=slack * space.length)
        if whole:
            assert area == region.volume
    assert sets.relative_size() == pytest.approx(sets.size() / space.area)


@CASE
@ORDER
def test_membership_and_distance_are_those_of_the_outline(name, p):
    nest, sets, _, rng = drawn(name, p, seed=5)
    region = REGIONS[name]
    outlines, slack = polygons(sets), close(region)
    inside = 0
    for _ in range(5):
        labels = places(region, rng, len(nest))
        contained, distances = sets.contains(labels), sets.distance(labels)
        assert (contained == (distances == 0)).all()
        for row, label in enumerate(labels):
            point = shapely.Point(label)
            if shapely.distance(outlines[row].boundary, point) > slack:
                assert contained[row] == outlines[row].covers(point)
                inside += contained[row]
            if p == 2:
                found = outlines[row].distance(point)
            else:
                ends = np.array(outlines[row].exterior.coords)
                shares = np.linspace(0, 1, 60)[:, None, None]
                walk = (shares * ends[:-1] + (1 - shares) * ends[1:]).reshape(-1, 2)
                nearest = 0.0 if outlines[row].covers(point) else norm(walk - label, p).min()
                # No point of the outline is nearer, and one of the walk's is nearly as near.
                assert distances[row] <= nearest + slack
                step = norm(ends[1:] - ends[:-1], p).max() / 59
                assert distances[row] >= nearest - step - slack
                continue
            assert distances[row] == pytest.approx(found, abs=slack)
    assert inside > 5


@CASE
@ORDER
def test_no_larger_than_the_ball_but_for_the_corners_of_the_polygon(name, p):
    rng = np.random.default_rng(6)
    region = REGIONS[name]
    nest = nest_of(Balls(region, p), predictions(region, rng))
    rule = curve(region, p, rng)
    level, weights = 0.3 * float(rule.risk(0.0)), rng.exponential(3, len(nest))
    ball = nest.at(rule.threshold(level, weights, worst=Distance().worst(nest)))
    sizes = {}
    for directions in (16, 72, 360):
        reach = rule.directional(level, weights, nest.rays(directions))
        sizes[directions] = nest.star(reach, directions).size()
        # What sticks out of an arc is of second order in the angle, at a kink of the ball of first.
        angle = 2 * np.pi / directions
        share = 1 + angle**2 + (0.2 * angle if p in (1, INF) else 0)
        limit = ball.size() * share + 5 * ball.size_error + close(region)
        assert (sizes[directions] <= limit).all()
    if name == "needle":  # all of it lies between few directions
        return
    gaps = [(sizes[16] - sizes[72]).mean(), (sizes[72] - sizes[360]).mean()]
    assert 0 < gaps[1] < 0.5 * gaps[0]


def test_the_limit_is_the_area_of_the_exact_set():
    nest, sets, exact, _ = drawn("box", 2, seed=7, directions=2048)
    angles = 2 * np.pi * (np.arange(500) + 0.5) / 500
    units = np.column_stack([np.cos(angles), np.sin(angles)])
    edges = nest.region.to_edge(nest.centers, units)
    areas = np.pi * np.mean([exact(column) ** 2 for column in edges.T], axis=0)
    assert (areas > 0.1).sum() > 5
    assert sets.size() == pytest.approx(areas, rel=0.02, abs=0.01)


@ORDER
def test_a_constant_reach_is_the_ball(p):
    nest = nest_of(Balls(Box([-9, -9], [9, 9]), p), [[0.0, 0.0], [1.0, 2.0]])
    directions = 720
    kink = 0.03 if p in (1, INF) else 0  # where the ball has a corner the polygon sticks out
    star, ball = nest.star(np.full((2, directions + 4), 2.0), directions), nest.at(2.0)
    assert star.size() == pytest.approx(ball.size(), rel=2e-3)
    assert (star.size() >= ball.size() - 5 * ball.size_error - 1e-9).all()
    rng = np.random.default_rng(0)
    for _ in range(40):
        labels = rng.uniform(-9, 9, (2, 2)) * rng.choice([0.3, 1.0])
        assert (star.contains(labels) >= ball.contains(labels)).all()
        assert star.distance(labels) == pytest.approx(ball.distance(labels), abs=2e-4 + kink)
        assert (star.distance(labels) <= ball.distance(labels) + 1e-9).all()


@CASE
@ORDER
def test_nothing_and_everything(name, p):
    nest = nest_of(Balls(REGIONS[name], p), predictions(REGIONS[name], np.random.default_rng(8)))
    edges = nest.rays(DIRECTIONS)
    nothing, everything = nest.star(0 * edges, DIRECTIONS), nest.star(edges, DIRECTIONS)
    slack = close(REGIONS[name])
    assert nothing.size() == pytest.approx(np.zeros(len(nest)), abs=slack)
    assert nothing.contains(nest.centers).all()
    assert everything.whole.all()
    assert (everything.size() == REGIONS[name].volume).all()
    assert everything.threshold.tolist() == nest.whole().tolist()
    for corner in REGIONS[name].corners:
        labels = np.tile(corner, (len(nest), 1))
        assert everything.contains(labels).all()
        away = norm(labels - nest.centers, p)
        assert nothing.distance(labels) == pytest.approx(away, abs=slack)
    for polygon in polygons(everything):
        assert polygon.area == pytest.approx(REGIONS[name].volume, rel=1e-6)


@CASE
def test_a_prediction_that_misses_its_corner_by_rounding(name):
    # The direction to that corner may lead across the region: the set is not notched there.
    region = REGIONS[name]
    size = float(np.ptp(region.corners, axis=0).max())
    for corner in region.corners:
        for turn in np.linspace(0, 2 * np.pi, 16, endpoint=False):
            near = corner + 2e-16 * np.abs(corner).max() * np.array([np.cos(turn), np.sin(turn)])
            nest = nest_of(Balls(region), [corner, region.project([near])[0]])
            reach = np.minimum(nest.rays(DIRECTIONS), 0.3 * size)
            exact, missed = nest.star(reach, DIRECTIONS).size()
            assert missed == pytest.approx(exact, rel=1e-2)


@ORDER
@pytest.mark.parametrize("region", [Box(0, 4), Box([0, 0], [4, 4]), REGIONS["triangle"]])
def test_a_whole_one_holds_labels_that_are_inside_by_rounding(region, p):
    corner = region.corners[-1]
    label = corner + 5e-10 * (corner - region.corners.mean(axis=0))
    nest = nest_of(Balls(region, p), [corner / 3])
    sets = nest.star(nest.rays(DIRECTIONS), DIRECTIONS)
    assert region.contains([label])[0]
    assert sets.contains([label]).tolist() == [True]
    assert sets.distance([label]).tolist() == [0.0]


@ORDER
def test_larger_reach_larger_set(p):
    nest, sets, _, rng = drawn("quadrangle", p, seed=9)
    more = nest.star(np.minimum(1.3 * sets.reach, nest.rays(DIRECTIONS)), DIRECTIONS)
    assert (more.size() >= sets.size() - 1e-9).all()
    for _ in range(10):
        labels = places(REGIONS["quadrangle"], rng, len(nest))
        assert (more.contains(labels) >= sets.contains(labels)).all()


def test_scaled_and_capped():
    scale = lambda x: 0.5 + 0.1 * np.arange(len(x))  # noqa: E731
    for p in ORDERS:
        nest, sets, exact, rng = drawn("box", p, seed=10, cap=1.0, scale=scale)
        held = 0
        for _ in range(10):
            labels = places(nest.region, rng, len(nest))
            distances, _, edges = towards(nest, labels, p)
            reach = exact(edges)
            assert (sets.distance(labels) <= np.maximum(distances - reach, 0) + 1e-9).all()
            held += (distances <= reach).sum()
        assert held > 20


class TestLine:
    """On the line a star is an asymmetric interval, in every answer."""

    @pytest.fixture
    def pair(self):
        rng = np.random.default_rng(0)
        x = np.concatenate([[0.1, 10.1, -3.0, 14.0], rng.uniform(0.1, 10.1, 196)])[:, None]
        y = np.clip(x[:, 0] + rng.normal(size=200), 0.1, 10.1)
        stretch = lambda x: 0.3 + 0.1 * np.abs(np.asarray(x)[:, 0])  # noqa: E731
        families = {
            "plain": (Intervals(0.1, 10.1), Balls(Box(0.1, 10.1))),
            "scaled": (
                Intervals(0.1, 10.1, ScaledResidual(stretch)),
                Balls(Box(0.1, 10.1), scale=stretch),
            ),
        }

        def of(name, alpha):
            return [
                RiskController(lambda x: x, family, Distance(), worst_case=Directional())
                .calibrate(x, y)
                .predict(x, alpha=alpha)
                for family in families[name]
            ]

        return of

    @pytest.mark.parametrize("name", ["plain", "scaled"])
    @pytest.mark.parametrize("alpha", [0.0, 0.05, 0.4, 2.0])
    def test_they_agree(self, pair, name, alpha):
        interval, star = pair(name, alpha)
        assert star.reach.tolist() == interval.reach.tolist()
        assert star.whole.tolist() == interval.whole.tolist()
        assert star.size().tolist() == interval.size().tolist()
        assert star.relative_size() == pytest.approx(interval.relative_size())
        assert star.threshold.tolist() == interval.threshold.tolist()
        assert list(star.outcome) == list(interval.outcome)
        ends = np.column_stack([interval.lower, interval.upper])
        assert star.outlines[:, :, 0].tolist() == ends.tolist()
        frame = star.to_frame()
        assert list(frame.columns)[:3] == ["center_0", "lower", "upper"]
        assert frame["lower"].tolist() == interval.lower.tolist()
        rng = np.random.default_rng(1)
        edges = [np.full(200, 0.1), np.full(200, 10.1), interval.lower, interval.upper]
        for y in [*edges, *rng.uniform(0.1, 10.1, (20, 200))]:
            assert star.contains(y).tolist() == interval.contains(y).tolist()
            assert star.distance(y).tolist() == interval.distance(y).tolist()

    def test_a_whole_one_holds_both_ends(self, pair):
        _, star = pair("scaled", 0.0)
        whole = star.whole
        assert whole.all()
        for end in (0.1, 10.1):
            assert star.contains(np.full(200, end)).all()
        assert (star.outlines[:, :, 0] == [0.1, 10.1]).all()

    def test_a_reach_equal_to_a_score_holds_its_label(self):
        rng = np.random.default_rng(2)
        stretch = rng.uniform(0.1, 3, 500)
        nest = nest_of(Balls(Box(0, 8), scale=lambda _: stretch), rng.uniform(0, 8, (500, 1)))
        y = rng.uniform(0, 8, 500)
        reach = np.column_stack([nest.entry(y)] * 2)
        assert nest.star(reach, DIRECTIONS).contains(y).all()
        assert not nest.star(np.nextafter(reach, 0), DIRECTIONS).contains(y).any()


class TestController:
    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        y = rng.uniform(0, 10, (400, 2))
        return np.clip(y + rng.normal(0, 1, y.shape), 0, 10), y

    def made(self, data, worst_case, p=2, region=None):
        x, y = data
        region = Box([0, 0], [10, 10]) if region is None else region
        controller = RiskController(
            lambda x: x, Balls(region, p), Distance(), worst_case=worst_case
        )
        return controller.calibrate(x[:100], y[:100])

    @pytest.mark.parametrize("p", ORDERS)
    def test_smaller_than_balls_and_still_on_the_right_side(self, data, p):
        x, y = data
        star = self.made(data, Directional(), p).predict(x[100:], alpha=0.5)
        ball = self.made(data, Pointwise(), p).predict(x[100:], alpha=0.5)
        assert star.size().mean() < ball.size().mean()
        assert 0.35 < star.distance(y[100:]).mean() < 0.65
        kink = 0.1 if p in (1, INF) else 0.01
        assert (star.distance(y[100:]) >= ball.distance(y[100:]) - kink).all()

    def test_outcomes(self, data):
        calibrated = self.made(data, Directional())
        assert set(calibrated.predict(data[0][:5], alpha=0.5).outcome) == {Outcome.CONTROLLED}
        whole = calibrated.predict(data[0][:5], alpha=0.0)
        assert set(whole.outcome) == {Outcome.WHOLE}
        assert whole.whole.all()
        assert repr(whole) == "StarSets(5 sets, 5 whole)"

    def test_in_three_dimensions_there_are_none(self):
        balls = Balls(Box([0] * 3, [1] * 3))
        with pytest.raises(InputError, match=r"Pointwise\(\) or Constant\(\).*3 dimensions"):
            RiskController(lambda x: x, balls, Distance(), worst_case=Directional())

    def test_miscoverage_has_none(self, data):
        del data
        balls = Balls(Box([0, 0], [10, 10]))
        with pytest.raises(InputError, match="for losses by distance"):
            RiskController(lambda x: x, balls, Miscoverage(), worst_case=Directional())

    @pytest.mark.parametrize("directions", [7, 0, -1, 72.0, True, "72"])
    def test_directions_are_at_least_eight(self, directions):
        with pytest.raises(InputError, match="directions: expected a whole number of at least 8"):
            Directional(directions)

    def test_outlines_in_a_table(self, data):
        x, _ = data
        table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1]})
        sets = self.made((table, data[1]), Directional(8)).predict(table[:3], alpha=0.5)
        frame = sets.to_frame()
        names = ["center_0", "center_1", "outline", "threshold", "whole", "outcome"]
        assert frame.columns == names
        assert frame.schema["outline"] == pl.List(pl.List(pl.Float64))
        for outline, area in zip(frame["outline"].to_list(), sets.size(), strict=True):
            assert shapely.Polygon(outline).area == pytest.approx(area)
            assert all(a != b for a, b in itertools.pairwise(outline))
        assert isinstance(sets.to_frame("pandas"), pd.DataFrame)
        assert sets.to_frame("pyarrow").column_names == names

    def test_a_set_of_one_point_has_an_outline(self):
        nest = nest_of(Balls(Box([0, 0], [4, 4])), [[1.0, 1.0]])
        outline = nest.star(0 * nest.rays(8), 8).to_frame()["outline"][0]
        assert outline == [[1.0, 1.0]]

    @pytest.mark.parametrize("p", [1.0, np.inf])
    def test_stars_of_one_reach_are_the_balls_of_norms_with_corners(self, p):
        """Eight directions hit every corner of a diamond and of a square: nothing is added."""
        nest = Balls(Box([0, 0], [10, 10]), p).nest(
            predictor_of(lambda x: x), Table.of("X", np.array([[5.0, 4.0]])), Draws("prediction", 1)
        )
        reach = np.full(nest.rays(16).shape, 1.5)
        assert nest.star(reach, 16).size() == pytest.approx(nest.at([1.5]).size(), rel=1e-8)
