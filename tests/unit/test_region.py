"""Label spaces against shapely, against exact clipping in rationals, and against their own laws."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from shiftproof.errors import InputError
from shiftproof.sets import areas
from shiftproof.sets.region import Box, Polygon, norm, polygon_area

ORDERS = [1, 1.5, 2, 3, math.inf]
SQUARE = [[0, 0], [2, 0], [2, 2], [0, 2]]

GRID = st.integers(-8, 8)
POINTS = st.lists(st.tuples(GRID, GRID), min_size=3, max_size=10)
CENTERS = st.tuples(st.integers(-40, 40), st.integers(-40, 40)).map(
    lambda pair: np.array(pair) / 4  # on corners and edges often
)
RADII = st.one_of(st.floats(1e-3, 25), st.integers(1, 40).map(lambda r: r / 2))


@st.composite
def polygons(draw):
    points = np.array(draw(POINTS), dtype=float)
    assume(shapely.convex_hull(shapely.MultiPoint(points)).area > 0)
    return Polygon(points, hull=True)


REGIONS = st.one_of(
    polygons(),
    st.tuples(GRID, GRID, st.integers(1, 9), st.integers(1, 9)).map(
        lambda b: Box([b[0], b[1]], [b[0] + b[2], b[1] + b[3]])
    ),
)


def outline(region):
    """The corners counter-clockwise, of a box too."""
    if isinstance(region, Polygon):
        return region.vertices
    (left, bottom), (right, top) = region.low, region.high
    return np.array([[left, bottom], [right, bottom], [right, top], [left, top]])


def regular(sides, center=(0.0, 0.0), radius=1.0, turn=0.1):
    angles = turn + np.arange(sides) * 2 * np.pi / sides
    return np.array(center) + radius * np.column_stack([np.cos(angles), np.sin(angles)])


def volume(region, center, radius, p):
    volumes, errors = region.ball_volume([center], [radius], p)
    assert errors[0] == 0
    return float(volumes[0])


def by_slices(corners, center, radius, nodes=24):
    """Disc and polygon by Gauss-Legendre over vertical slices, in extended precision.

    With x = r sin(t) slices are smooth between the x of corners and of crossings with the circle.
    """
    wide = np.longdouble
    a = np.asarray(corners, wide) - np.asarray(center, wide)
    r, d = wide(radius), np.roll(a, -1, axis=0) - a
    kinks = [a[:, 0]]
    square, half, rest = (d**2).sum(1), (a * d).sum(1), (a**2).sum(1) - r**2
    root = np.sqrt(np.maximum(half**2 - square * rest, 0))
    kinks += [a[:, 0] + (sign * root - half) / square * d[:, 0] for sign in (-1, 1)]
    low, high = max(a[:, 0].min(), -r), min(a[:, 0].max(), r)
    if low >= high:
        return 0.0
    ends = np.unique(np.arcsin(np.clip(np.concatenate([*kinks, [low, high]]), low, high) / r))
    place, weight = np.polynomial.legendre.leggauss(nodes)
    middle, width = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
    t = middle[:, None] + width[:, None] * place
    x, top = r * np.sin(t), r * np.cos(t)
    bottom = -top
    for (ax, ay), (dx, dy) in zip(a, d, strict=True):
        if dx < 0:
            top = np.minimum(top, ay + (x - ax) * dy / dx)
        elif dx > 0:
            bottom = np.maximum(bottom, ay + (x - ax) * dy / dx)
    lengths = np.maximum(top - bottom, 0) * r * np.cos(t)
    return float((lengths * weight * width[:, None]).sum())


def clipped_area(corners, center, radius, p):
    """Polygon and square, cut off at one side after the other, in rational numbers."""
    x, y, r = (Fraction(float(each)) for each in (*center, radius))
    places = [(Fraction(float(a)) - x, Fraction(float(b)) - y) for a, b in corners]
    straight = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    for u, v in straight if math.isinf(p) else [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
        room = [r - u * a - v * b for a, b in places]
        kept = []
        for at in range(len(places)):
            (a, b), (before_a, before_b) = places[at], places[at - 1]
            if room[at] * room[at - 1] < 0:
                t = room[at - 1] / (room[at - 1] - room[at])
                kept.append((before_a + t * (a - before_a), before_b + t * (b - before_b)))
            if room[at] >= 0:
                kept.append((a, b))
        places = kept
    twice = sum(
        places[at - 1][0] * places[at][1] - places[at - 1][1] * places[at][0]
        for at in range(len(places))
    )
    return float(Fraction(twice) / 2)


class TestPlainFunctions:
    @given(st.lists(st.integers(-999, 999), min_size=1, max_size=5), st.sampled_from(ORDERS))
    def test_norm(self, values, p):
        values = np.array(values) / 7
        found = norm(np.array([values, values]), p)
        np.testing.assert_allclose(found, np.linalg.norm(values, p), rtol=1e-12)

    def test_norm_of_what_powers_would_not_stand(self):
        assert norm(np.array([3e200, 4e200]), 2) == pytest.approx(5e200)
        assert norm(np.array([3e-200, 4e-200]), 2) == pytest.approx(5e-200)
        assert norm(np.array([1e-3, 1e-3]), 500) == pytest.approx(1e-3 * 2 ** (1 / 500))
        np.testing.assert_array_equal(norm(np.zeros((2, 3)), 2), [0, 0])
        assert norm(np.empty((0, 2)), 2).shape == (0,)

    def test_polygon_area(self):
        many = np.random.default_rng(0).normal(0, 1, (20, 3, 2))
        found = polygon_area(many)
        truth = [shapely.Polygon(each).area for each in many]
        np.testing.assert_allclose(np.abs(found), truth, rtol=1e-12)
        np.testing.assert_allclose(polygon_area(many[:, ::-1]), -found, rtol=1e-9)
        assert polygon_area(np.array([SQUARE]) + 1e9)[0] == 4

    @pytest.mark.parametrize("p", ORDERS)
    @pytest.mark.parametrize("dimension", [1, 2, 3, 5])
    def test_volume_of_a_ball(self, p, dimension):
        known = {1: 2**dimension / math.factorial(dimension), math.inf: 2**dimension}
        known[2] = math.pi ** (dimension / 2) / math.gamma(1 + dimension / 2)
        inverse = 0 if math.isinf(p) else 1 / p
        known.setdefault(
            p, (2 * math.gamma(1 + inverse)) ** dimension / math.gamma(1 + dimension * inverse)
        )
        found = areas.ball_volume(dimension, np.array([0.0, 1.0, 3.0]), p)
        np.testing.assert_allclose(found, known[p] * np.array([0, 1, 3.0**dimension]), rtol=1e-13)

    def test_volume_beyond_the_range_of_numbers(self):
        assert areas.ball_volume(300, np.array([1e6]), math.inf)[0] == math.inf
        box = Box(np.full(300, -1e6), np.full(300, 1e6))
        assert box.volume == math.inf
        center = np.zeros((1, 300))
        assert box.ball_volume(center, [1.0], math.inf)[0][0] == 2.0**300


class TestBox:
    def test_what_it_is(self):
        box = Box([0, 1, 2], [1, 3, 5])
        assert (box.dimension, box.volume) == (3, 6.0)
        assert len(np.unique(box.corners, axis=0)) == 8
        assert box.contains(box.corners).all()
        assert (Box(0, 2).dimension, Box(0, 2).volume) == (1, 2.0)
        np.testing.assert_array_equal(Box(0, 2).corners, [[0], [2]])

    def test_many_dimensions_need_no_corners(self):
        box = Box(np.zeros(40), np.full(40, 2.0))
        assert box.diameter(1) == 80
        np.testing.assert_allclose(box.farthest([np.full(40, 0.5)], 2), 1.5 * math.sqrt(40))
        assert box.ball_volume([np.ones(40)], [0.5], math.inf)[0] == pytest.approx(1)
        with pytest.raises(InputError, match="corners: expected a box of at most 16 dimensions"):
            _ = box.corners
        assert len(Box(np.zeros(16), np.ones(16)).corners) == 2**16

    @pytest.mark.parametrize(
        ("low", "high", "message"),
        [
            (1, 1, "high: expected values above those of `low`, got 1.0"),
            ([0, 2], [1, 1], "high: expected values above those of `low`, got 1.0 at position 1"),
            (0, [1, 1], r"high: expected shape \(1,\), got shape \(2,\)"),
            (0, math.inf, "high: expected finite values, .*got inf"),
            (math.nan, 1, "low: expected no NaN"),
            ([[0]], [[1]], "low: expected one dimension"),
            ([], [], "low: expected at least one value"),
            (-1e200, 1, r"low: expected finite values, up to 1e\+150, got -1e\+200"),
            ("a", "b", "low: expected numbers"),
        ],
    )
    def test_bad_ends(self, low, high, message):
        with pytest.raises(InputError, match=message):
            Box(low, high)

    def test_keeps_its_own_copy(self):
        low = np.zeros(2)
        box = Box(low, [1, 1])
        low[0] = 5
        assert box.low[0] == 0
        with pytest.raises(ValueError, match="read-only"):
            box.low[0] = 5
        with pytest.raises(AttributeError):
            box.low = low
        for other in (copy.deepcopy(box), pickle.loads(pickle.dumps(box))):  # noqa: S301
            assert other.volume == 1


class TestPolygonVertices:
    def test_either_way_round_closed_or_not(self):
        for vertices in (SQUARE, SQUARE[::-1], [*SQUARE, SQUARE[0]]):
            polygon = Polygon(vertices)
            assert polygon.volume == 4
            assert shapely.LinearRing(polygon.vertices).is_ccw
            np.testing.assert_array_equal(polygon.vertices[0], vertices[0])
            assert not polygon.replaced_by_hull
        np.testing.assert_array_equal(Polygon(SQUARE).vertices, SQUARE)
        assert polygon.corners is polygon.vertices

    def test_repeated_and_straight_vertices_go(self):
        vertices = [[0, 0], [0, 0], [0.1, 0.3], [0.2, 0.6], [0.3, 0.9], [0.3, 0.9], [-1, 1]]
        for shift in (0, 1e6):
            found = Polygon(np.array(vertices) + shift).vertices - shift
            np.testing.assert_allclose(found, [[0, 0], [0.3, 0.9], [-1, 1]], atol=1e-9)

    @given(POINTS)
    def test_accepts_what_is_valid_and_convex(self, points):
        points = np.array(points, dtype=float)
        hull = shapely.convex_hull(shapely.MultiPoint(points))
        assume(hull.area > 0)
        shape = shapely.Polygon(points)
        convex = shape.is_valid and shape.area == hull.area
        cover = Polygon(points, hull=True)
        assert cover.replaced_by_hull is not convex
        assert cover.volume == hull.area
        assert shapely.Polygon(cover.vertices).normalize().equals(hull.normalize())
        assert len(cover.vertices) == len(hull.exterior.coords) - 1
        if convex:
            np.testing.assert_array_equal(Polygon(points).vertices, cover.vertices)
        else:
            with pytest.raises(InputError, match=r"vertex \d+ at .*; pass hull=True"):
                Polygon(points)

    @given(st.integers(0, 10**6), st.integers(3, 300), st.sampled_from([1e-6, 1.0, 1e6]))
    def test_accepts_what_is_round(self, seed, sides, scale):
        rng = np.random.default_rng(seed)
        angles = np.sort(rng.uniform(0, 2 * np.pi, sides))
        assume(np.diff(angles, append=angles[0] + 2 * np.pi).max() < 3)
        assume(np.diff(angles).min() > 1e-5)
        vertices = scale * np.column_stack([np.cos(angles), rng.uniform(0.1, 1) * np.sin(angles)])
        assert len(Polygon(vertices).vertices) == sides

    @pytest.mark.parametrize(
        ("vertices", "index", "problem"),
        [
            ([[0, 0], [2, 0], [1, 0.5], [2, 2], [0, 2]], 2, "turns the other way"),
            ([[0, 2], [2, 2], [1, 0.5], [2, 0], [0, 0]], 2, "turns the other way"),
            ([[0, 0], [1, 1], [1, 0], [0, 1]], 1, "turns the other way"),  # a bow tie
            (regular(5)[[0, 2, 4, 1, 3]], 2, "starts a second round"),  # a pentagram
            ([*SQUARE, *SQUARE], 4, "starts a second round"),
            ([[1, 0.5], [2, 2], [0, 2], [0, 0], [2, 0], [1, 0.5]], 0, "turns the other way"),
            ([[0, 0], [3, 0], [2, 0], [2, 2], [0, 2]], 1, "turns the other way"),  # a spike
        ],
    )
    def test_says_which_vertex_is_wrong(self, vertices, index, problem):
        expected = "vertices: expected the corners of a convex polygon in order around it"
        with pytest.raises(InputError, match=f"{expected}, got vertex {index} at .*{problem}"):
            Polygon(vertices)
        assert Polygon(vertices, hull=True).replaced_by_hull

    @pytest.mark.parametrize(
        ("vertices", "message"),
        [
            ([[0, 0], [1, 1]], "an area above 0, got 2 vertices on one line"),
            ([[0, 0], [0.1, 0.3], [0.2, 0.6], [0.3, 0.9]], "an area above 0"),
            ([[1, 1]] * 4, "an area above 0"),
            (np.empty((0, 2)), "an area above 0, got none"),
            ([[0, 0], [1, 0], [0, math.nan]], "no NaN"),
            ([[0, 0], [1, 0], [0, math.inf]], "finite values"),
            ([0, 1, 2], r"shape \(n, 2\), got shape \(3,\)"),
            (np.zeros((4, 3)), r"shape \(n, 2\), got shape \(4, 3\)"),
        ],
    )
    @pytest.mark.parametrize("hull", [False, True])
    def test_bad_vertices(self, vertices, message, hull):
        with pytest.raises(InputError, match=f"vertices: expected .*{message}"):
            Polygon(vertices, hull=hull)

    def test_vertices_nearer_than_rounding(self):
        dense = 1e6 + 3e-8 * regular(200)
        assert 3 <= len(Polygon(dense, hull=True).vertices) <= 200
        thin = Polygon([[0, 0], [1, 0], [1, 1e-9], [0, 1e-9]])
        assert thin.volume == pytest.approx(1e-9)


class TestDistances:
    @given(REGIONS, CENTERS, st.sampled_from(ORDERS))
    def test_farthest_and_diameter(self, region, point, p):
        corners = outline(region)
        brute = max(np.linalg.norm(corner - point, p) for corner in corners)
        np.testing.assert_allclose(region.farthest([point], p), brute, rtol=1e-12)
        brute = max(np.linalg.norm(a - b, p) for a in corners for b in corners)
        assert region.diameter(p) == pytest.approx(brute, rel=1e-12)

    @given(REGIONS, CENTERS)
    def test_projection_and_holding_against_shapely(self, region, point):
        shape = shapely.Polygon(outline(region))
        found = region.project([point])[0]
        distance = np.hypot(*(found - point))
        assert distance == pytest.approx(shape.distance(shapely.Point(point)), abs=1e-12)
        assert shape.distance(shapely.Point(found)) < 1e-12
        assert region.contains([point])[0] == (shape.distance(shapely.Point(point)) < 1e-12)
        if shape.covers(shapely.Point(point)):
            np.testing.assert_array_equal(found, point)

    def test_projection_against_an_optimiser(self):
        polygon, point = Polygon(regular(7, (1, 2), 3)), np.array([5.0, -1.0])
        weights = minimize(
            lambda w: ((w @ polygon.vertices - point) ** 2).sum(),
            np.full(7, 1 / 7),
            bounds=[(0, 1)] * 7,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        ).x
        np.testing.assert_allclose(
            polygon.project([point])[0], weights @ polygon.vertices, atol=1e-5
        )

    @given(
        st.integers(0, 10**6),
        st.sampled_from([0.0, 1e6]),
        st.sampled_from([1e-9, 1e-4, 1.0]),
        st.booleans(),
    )
    def test_projection_laws(self, seed, shift, thin, box):
        rng = np.random.default_rng(seed)
        if shift:
            thin = max(thin, 1e-4)
        region = Polygon(shift + regular(9, turn=seed) * [1, thin])
        if box:
            region = Box(region.vertices.min(axis=0), region.vertices.max(axis=0))
        points = shift + rng.normal(0, 1.5, (40, 2))
        found = region.project(points)
        assert region.contains(found).all()
        np.testing.assert_array_equal(region.project(found), found)
        apart, closer = (np.hypot(*(each[1:] - each[:-1]).T) for each in (points, found))
        assert (closer <= apart + 1e-13 + 1e-14 * shift).all()
        inside = rng.dirichlet(np.ones(9), 40) @ (region.corners if not box else outline_9(region))
        inside = inside[region.contains(inside)]
        np.testing.assert_array_equal(region.project(inside), inside)

    def test_corners_project_on_themselves(self):
        polygon = Polygon(regular(11, (3, 4)))
        np.testing.assert_array_equal(polygon.project(polygon.vertices), polygon.vertices)
        outwards = polygon.vertices + 10 * (polygon.vertices - [3, 4])
        np.testing.assert_allclose(polygon.project(outwards), polygon.vertices, rtol=1e-15)

    def test_holding_forgives_rounding_only(self):
        box, flat = Box([0, 0], [1, 1e-6]), Polygon([[0, 0], [1, 0], [1, 1e-6], [0, 1e-6]])
        for region in (box, flat):
            found = region.contains([[0.5, -1e-16], [0.5, -1e-14], [-1e-10, 0], [-1e-8, 0]])
            assert found.tolist() == [True, False, True, False]

    def test_boxes_of_more_dimensions(self):
        box = Box([0, 0, 0], [1, 2, 3])
        point = np.array([[0.5, 5, 1]])
        np.testing.assert_array_equal(box.project(point), [[0.5, 2, 1]])
        assert box.contains([[0.5, 2, 1], [0.5, 2.1, 1]]).tolist() == [True, False]
        for p in ORDERS:
            brute = np.linalg.norm(box.corners - point, p, axis=1).max()
            assert box.farthest(point, p)[0] == pytest.approx(brute)


def outline_9(box):
    return np.concatenate([outline(box), outline(box), [outline(box).mean(axis=0)]])


class TestToEdge:
    @given(REGIONS, CENTERS, st.lists(st.tuples(GRID, GRID), min_size=1, max_size=4))
    def test_ends_on_the_boundary(self, region, point, ways):
        ways = np.array([way for way in ways if any(way)] or [(1, 0)], dtype=float)
        point = region.project([point])
        times = region.to_edge(point, ways)
        assert times.shape == (1, len(ways))
        assert (times >= 0).all()
        shape = shapely.Polygon(outline(region))
        for time, way in zip(times[0], ways, strict=True):
            end = point[0] + time * way
            assert region.contains([end])[0]
            assert shape.exterior.distance(shapely.Point(end)) < 1e-9
            beyond = end + 1e-4 * way / np.hypot(*way)
            assert shape.distance(shapely.Point(beyond)) > 1e-7

    def test_lengths_count_and_shapes_agree(self):
        for region in (Box([0, 0], [2, 2]), Polygon(SQUARE)):
            points = [[1, 1], [0.5, 1], [2, 1]]
            shared = region.to_edge(points, [[1, 0], [-2, 0], [1e-200, 0], [0, 1e200]])
            truth = [[1, 0.5, 1e200, 1e-200], [1.5, 0.25, 1.5e200, 1e-200], [0, 1, 0, 1e-200]]
            np.testing.assert_allclose(shared, truth)
            own = region.to_edge(points, [[[1, 0]], [[-1, 0]], [[0, 1]]])
            np.testing.assert_allclose(own, [[1], [0.5], [1]])
            assert region.to_edge(np.empty((0, 2)), [[1, 0]]).shape == (0, 1)

    def test_one_and_many_dimensions(self):
        assert Box(0, 3).to_edge([[1.0]], [[1], [-1]]).tolist() == [[2, 1]]
        box = Box(np.zeros(20), np.arange(1, 21))
        assert box.to_edge([np.zeros(20)], [np.ones(20)])[0, 0] == pytest.approx(1)

    @pytest.mark.parametrize("shift", [0.0, 1e6])
    @pytest.mark.parametrize("turn", np.linspace(0.01, 6, 12))
    def test_along_an_edge_from_that_edge(self, turn, shift):
        polygon = Polygon(shift + regular(5, turn=turn))
        for start, end in zip(polygon.vertices, np.roll(polygon.vertices, -1, 0), strict=True):
            point, way = start + 0.3 * (end - start), end - start
            outward = np.array([way[1], -way[0]])
            found = polygon.to_edge([point], [way, -way, outward, way + 0.01 * outward])[0]
            np.testing.assert_allclose(found, [0.7, 0.3, 0, 0], atol=2e-9 if shift else 1e-14)
            assert (found[2:] == 0).all()

    def test_directions_that_are_parallel_up_to_rounding(self):
        along = np.array([[math.cos(math.pi), -math.sin(math.pi)]])
        for region in (Box([0, 0], [2, 2]), Polygon(SQUARE)):
            assert region.to_edge([[1.5, 0.0]], along)[0, 0] == pytest.approx(1.5)

    def test_a_flat_box_is_a_box(self):
        flat = Box([0, 0], [1, 1e-18])
        assert flat.to_edge([[0, 0]], [[1, 1e-15]])[0, 0] == pytest.approx(1e-3)

    def test_a_needle_has_an_end(self):
        rng = np.random.default_rng(0)
        for _ in range(1000):
            turn, width = rng.uniform(0, 7), rng.uniform(1, 6) * 1e-15
            flat = np.column_stack([rng.uniform(-1, 1, 5), width * rng.uniform(-1, 1, 5)])
            points = flat @ [[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]
            try:
                needle = Polygon(points, hull=True)
            except InputError:
                continue
            assert needle.volume > 0
            ways = needle.vertices[1:] - needle.vertices[0]
            times = needle.to_edge(needle.vertices[:1], np.concatenate([ways, -ways]))
            assert np.isfinite(times).all()

    @pytest.mark.parametrize(
        ("points", "ways", "message"),
        [
            ([[1, 1], [3, 1]], [[1, 0]], r"points inside the region, got point 1 at \(3.0, 1.0\)"),
            ([[1, 1]], [[0, 0]], "directions: expected finite lengths above 0, got 0.0"),
            ([[1, 1]], [[math.inf, 0]], "directions: expected finite lengths"),
            ([[1, 1]], [[1, 0, 0]], r"directions: expected shape \(u, 2\) or \(n, u, 2\)"),
            ([[1, 1]], [1, 0], r"directions: .*got shape \(2,\)"),
            ([[1, 1]], 1, r"directions: .*got shape \(\)"),
            ([[1, 1]] * 3, [[[1, 0]]] * 2, r"directions: .*got shape \(2, 1, 2\)"),
            ([1, 1], [[1, 0]], r"points: expected shape \(n, 2\)"),
        ],
    )
    def test_bad_rays(self, points, ways, message):
        for region in (Box([0, 0], [2, 2]), Polygon(SQUARE)):
            with pytest.raises(InputError, match=message):
                region.to_edge(points, ways)


class TestDiscs:
    @given(REGIONS, CENTERS, RADII)
    def test_against_slices(self, region, center, radius):
        found = volume(region, center, radius, 2)
        truth = by_slices(outline(region), center, radius)
        assert found == pytest.approx(truth, rel=1e-11, abs=1e-13 * radius**2 + 1e-13)

    @given(REGIONS, CENTERS, RADII)
    def test_against_shapely(self, region, center, radius):
        sides = 4 * 256
        same_area = radius * math.sqrt(2 * math.pi / sides / math.sin(2 * math.pi / sides))
        disc = shapely.Point(center).buffer(same_area, quad_segs=sides // 4)
        truth = shapely.Polygon(outline(region)).intersection(disc).area
        assert volume(region, center, radius, 2) == pytest.approx(truth, abs=1e-5 * radius**2)

    @pytest.mark.parametrize("radius", [1e-150, 1e-12, 1e-6, 1e-3, 0.5])
    def test_small_discs(self, radius):
        for region in (Polygon(SQUARE), Box([0, 0], [2, 2])):
            whole, half, quarter = math.pi * radius**2 * np.array([1, 1 / 2, 1 / 4])
            for center, truth in [((1, 1), whole), ((1, 0), half), ((0, 0), quarter)]:
                assert volume(region, center, radius, 2) == pytest.approx(truth, rel=1e-12, abs=0)
        lean = Polygon(regular(3, turn=0.7))
        corner = math.pi * radius**2 / 6
        for vertex in lean.vertices:
            assert volume(lean, vertex, radius, 2) == pytest.approx(corner, rel=1e-12, abs=0)
            middle = volume(lean, (vertex + lean.vertices[0]) / 3, radius / 10, 2)
            assert middle <= math.pi * (radius / 10) ** 2

    @pytest.mark.parametrize("radius", [1e-12, 1e-6, 0.3])
    def test_discs_on_the_corner_of_a_polygon_far_from_the_origin(self, radius):
        polygon = Polygon(1e6 + np.array(SQUARE) / 2)
        center = polygon.vertices[2]
        truth = math.pi * radius**2 / 4
        assert volume(polygon, center, radius, 2) == pytest.approx(truth, rel=1e-12, abs=0)

    @given(st.integers(0, 10**6), st.floats(0.01, 2), st.sampled_from([1e2, 1e6]))
    def test_coordinates_far_from_the_origin(self, seed, radius, shift):
        rng = np.random.default_rng(seed)
        corners = Polygon(shift + rng.normal(0, 1, (8, 2)), hull=True).vertices
        center = shift + rng.normal(0, 1, 2)
        truth = by_slices(corners, center, radius)
        assert volume(Polygon(corners), center, radius, 2) == pytest.approx(
            truth, rel=1e-10, abs=1e-13
        )

    @pytest.mark.parametrize("distance", [1e2, 1e4, 1e6, 1e8])
    def test_centers_far_from_the_polygon(self, distance):
        """Sectors of area distance^2 would cancel but for a few digits."""
        corners = regular(7)
        for angle in np.linspace(0, 6, 13):
            center = distance * np.array([math.cos(angle), math.sin(angle)])
            for step in (-0.9, -0.1, 0.0, 0.4):
                found = volume(Polygon(corners), center, distance + step, 2)
                truth = by_slices(corners, center, distance + step)
                assert found == pytest.approx(truth, abs=4e-15 * distance + 1e-14)

    @pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9])
    def test_thin_polygons(self, width):
        corners = np.array([[-1, 0], [0.5, -width], [1, 0], [0, width]])
        for angle in (0.0, 0.3):
            turn = np.array(
                [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
            )
            polygon = Polygon(corners @ turn)
            for center, radius in [((0, 0), 0.7), ((0.2, 1), 1.1), ((-1, 0), 1e-3), ((0, 0), 5)]:
                truth = by_slices(polygon.vertices, center @ turn, radius)
                found = volume(polygon, center @ turn, radius, 2)
                assert found == pytest.approx(truth, rel=1e-15 / width + 1e-11, abs=1e-18)

    def test_touching_exactly(self):
        for region in (Polygon(SQUARE), Box([0, 0], [2, 2])):
            assert volume(region, (1, 1), 1, 2) == pytest.approx(math.pi, rel=1e-14)
            assert volume(region, (3, 1), 1, 2) == 0  # from outside
            assert volume(region, (3, 3), math.sqrt(2), 2) == pytest.approx(0, abs=1e-14)
            assert volume(region, (1, 1), math.sqrt(2), 2) == pytest.approx(4, rel=1e-14)
            assert volume(region, (0, 0), 2, 2) == pytest.approx(math.pi, rel=1e-14)

    def test_apart(self):
        rng = np.random.default_rng(0)
        polygon = Polygon(regular(9))
        angles = rng.uniform(0, 7, 100)
        centers = 3 * np.column_stack([np.cos(angles), np.sin(angles)])
        assert (polygon.ball_volume(centers, rng.uniform(0, 2, 100), 2)[0] == 0).all()


class TestSquares:
    @given(REGIONS, CENTERS, RADII, st.sampled_from([1, math.inf]))
    def test_against_exact_clipping(self, region, center, radius, p):
        truth = clipped_area(outline(region), center, radius, p)
        assert volume(region, center, radius, p) == pytest.approx(truth, rel=1e-12, abs=1e-13)

    @given(
        st.integers(0, 10**6),
        st.floats(1e-3, 2),
        st.sampled_from([0.0, 1e6]),
        st.sampled_from([1, math.inf]),
    )
    def test_slanted_and_far_from_the_origin(self, seed, radius, shift, p):
        rng = np.random.default_rng(seed)
        polygon = Polygon(shift + rng.normal(0, 1, (8, 2)), hull=True)
        center = shift + rng.normal(0, 1, 2)
        truth = clipped_area(polygon.vertices, center, radius, p)
        assert volume(polygon, center, radius, p) == pytest.approx(truth, rel=1e-11, abs=1e-14)

    @pytest.mark.parametrize("p", [1, math.inf])
    @pytest.mark.parametrize("radius", [1e-150, 1e-12, 1e-3])
    def test_small_squares_at_corners(self, p, radius):
        for shift in (0.0, 1e6):
            polygon = Polygon(shift + regular(5, turn=0.7))
            for vertex in polygon.vertices:
                truth = clipped_area(polygon.vertices, vertex, radius, p)
                found = volume(polygon, vertex, radius, p)
                assert found == pytest.approx(truth, rel=1e-11, abs=0)

    @pytest.mark.parametrize("p", [1, math.inf])
    def test_centers_far_from_the_polygon(self, p):
        polygon = Polygon(regular(7))
        for distance in (1e3, 1e6):
            center, radius = (distance, distance / 3), distance * (4 / 3 if p == 1 else 1)
            truth = clipped_area(polygon.vertices, center, radius, p)
            assert 0.1 < truth < 2.5
            assert volume(polygon, center, radius, p) == pytest.approx(truth, abs=1e-15 * distance)

    def test_cubes_in_boxes(self):
        box = Box([0, 0, 0, 0], [1, 2, 3, 4])
        center = [0.0, 1.0, 1.0, 5.0]
        assert volume(box, center, 1.5, math.inf) == 1 * 2 * 2.5 * 0.5
        assert volume(box, center, 1.0, math.inf) == 0
        assert volume(box, center, 6.0, math.inf) == 24

    @given(st.floats(-5, 5), st.floats(0, 10), st.sampled_from(ORDERS))
    def test_intervals(self, center, radius, p):
        truth = max(0.0, min(2.0, center + radius) - max(-1.0, center - radius))
        assert volume(Box(-1, 2), [center], radius, p) == pytest.approx(truth, abs=1e-15)


class TestLawsOfBalls:
    @given(
        REGIONS, CENTERS, st.lists(RADII, min_size=2, max_size=8), st.sampled_from([1, 2, np.inf])
    )
    def test_grow_with_the_radius_and_stay_below_both(self, region, center, radii, p):
        radii = np.sort([0.0, *radii, 1e12, np.inf])
        found, errors = region.ball_volume(np.tile(center, (len(radii), 1)), radii, p)
        assert (errors == 0).all()
        assert (np.diff(found) >= -1e-12).all()
        assert (found >= 0).all()
        assert (found <= np.minimum(areas.ball_volume(2, radii, p), region.volume)).all()
        assert found[0] == 0
        assert (found[-2:] == region.volume).all()
        assert volume(region, center, region.farthest([center], p)[0], p) == region.volume

    @given(
        CENTERS,
        RADII,
        st.floats(0.01, 0.99),
        st.floats(0.01, 0.99),
        st.sampled_from([1, 2, np.inf]),
    )
    def test_parts_add_up(self, center, radius, bottom, top, p):
        box = Box([-2, -1], [3, 4])
        cut = [[-2 + 5 * bottom, -1], [-2 + 5 * top, 4]]
        parts = Polygon([[-2, -1], *cut, [-2, 4]]), Polygon([[3, -1], *cut, [3, 4]])
        total = sum(volume(part, center, radius, p) for part in parts)
        assert total == pytest.approx(volume(box, center, radius, p), abs=1e-12)

    @given(
        polygons(),
        CENTERS,
        RADII,
        st.sampled_from([2.0**-30, 0.3, 1e5]),
        st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
        st.sampled_from([1, 2, np.inf]),
    )
    def test_moved_and_scaled(self, polygon, center, radius, scale, shift, p):
        found = volume(polygon, center, radius, p)
        moved = Polygon(polygon.vertices + shift)
        assert volume(moved, center + shift, radius, p) == pytest.approx(found, rel=1e-12)
        larger = Polygon(polygon.vertices * scale)
        assert volume(larger, center * scale, radius * scale, p) == pytest.approx(
            found * scale**2, rel=1e-9, abs=1e-13 * scale**2
        )

    def test_blocks_change_nothing(self, monkeypatch):
        rng = np.random.default_rng(0)
        centers, radii = rng.normal(0, 1, (50, 2)), rng.uniform(0, 2, 50)
        polygon = Polygon(regular(6))
        whole = {p: polygon.ball_volume(centers, radii, p) for p in ORDERS}
        monkeypatch.setattr(areas, "_CELLS", 7)
        for p, pair in whole.items():
            np.testing.assert_array_equal(polygon.ball_volume(centers, radii, p), pair)

    def test_one_radius_for_all_and_no_centers(self):
        for region in (Box([0, 0], [2, 2]), Polygon(SQUARE), Box([0] * 3, [1] * 3)):
            d = region.dimension
            for p in ORDERS:
                volumes, errors = region.ball_volume(np.empty((0, d)), 1.0, p)
                assert volumes.shape == errors.shape == (0,)
            assert (
                region.ball_volume(np.zeros((3, d)), np.inf, 2)[0].tolist() == [region.volume] * 3
            )

    @pytest.mark.parametrize("region", [Box([0, 0], [2, 2]), Polygon(SQUARE)])
    def test_bad_balls(self, region):
        cases = [
            (([[1, 1]], [-1], 2), "radii: expected radii of at least 0, got -1.0"),
            (([[1, 1]], [1, 2], 2), r"radii: expected one number or shape \(1,\)"),
            (([[1, 1]], [math.nan], 2), "radii: expected no NaN"),
            (([[1, math.nan]], [1], 2), "centers: expected no NaN"),
            (([[1, math.inf]], [1], 2), "centers: expected finite values"),
            (([1, 1], [1], 2), r"centers: expected shape \(n, 2\)"),
            (([[1, 1]], [1], 0.5), "p: expected an order of at least 1, got 0.5"),
            (([[1, 1]], [1], math.nan), "p: expected no NaN"),
            (([[1, 1]], [1], "two"), "p: expected numbers"),
        ]
        for arguments, message in cases:
            with pytest.raises(InputError, match=message):
                region.ball_volume(*arguments)
        with pytest.raises(InputError, match="p: expected an order of at least 1"):
            region.diameter(0.9)
        with pytest.raises(InputError, match="p: expected an order of at least 1"):
            region.farthest([[0, 0]], 0.9)
        for method in (region.contains, region.project, lambda points: region.farthest(points, 2)):
            with pytest.raises(InputError, match=r"points: expected shape \(n, 2\), got shape"):
                method([[0, 0, 0]])


def near(pair, truth):
    """Within four standard errors, and those are small but not zero."""
    (found,), (error,) = pair
    assert 0 < error < 0.02 * truth
    assert abs(found - truth) <= 4 * error


class TestSampledVolumes:
    def test_half_a_ball_and_an_eighth(self):
        box = Box([0, 0, 0], [2, 2, 2])
        near(box.ball_volume([[1, 1, 0]], [1], 2), 2 / 3 * math.pi)
        near(box.ball_volume([[0, 0, 0]], [2], 2), 4 / 3 * math.pi)
        near(box.ball_volume([[0, 0, 0]], [1], 1), 1 / 6)
        near(box.ball_volume([[0, 0, 0]], [1], 3), areas.ball_volume(3, np.ones(1), 3)[0] / 8)

    @pytest.mark.parametrize("p", [1.5, 3])
    def test_polygons(self, p):
        polygon = Polygon(1e3 + regular(5))
        center = np.array([1000.4, 1000.3])
        x = np.linspace(-1, 1, 2001)
        sides = (1 - np.abs(x) ** p) ** (1 / p)
        ball = np.concatenate([np.c_[x, sides], np.c_[x, -sides][::-1]])
        for radius in (0.5, 1.0):
            shape = shapely.Polygon(center + radius * ball)
            truth = shapely.Polygon(polygon.vertices).intersection(shape).area
            near(polygon.ball_volume([center], [radius], p), truth)

    @pytest.mark.parametrize("p", [1.5, 3])
    def test_exact_where_one_holds_the_other_or_they_are_apart(self, p):
        for region in (Polygon(SQUARE), Box([0, 0], [2, 2])):
            ball = areas.ball_volume(2, np.ones(1), p)[0]
            assert volume(region, (1, 1), 1, p) == pytest.approx(ball, rel=1e-14)
            assert volume(region, (1, 1), 5, p) == 4
            assert volume(region, (1, 4), 2, p) == 0
            assert volume(region, (1, 1), 0, p) == 0
        assert volume(Box([0, 0], [2, 2]), (3, 3), 1.2, p) == 0  # though their boxes overlap
        assert volume(Polygon([[0, 0], [2, 0], [0, 2]]), (2, 2), 1.1, p) == 0
        slanted = Polygon([[1, 0], [0, 1], [-1, 0], [0, -1]])
        touching = np.linalg.norm([0.5, 0.5], p)  # where the ball's own bulge meets the edge
        assert volume(slanted, (0, 0), 0.999 * touching, p) > 0
        assert slanted.ball_volume([[0, 0]], [1.001 * touching], p)[1][0] > 0

    def test_scramblings_that_agree_prove_nothing(self):
        (found,), (error,) = Polygon([[0, 0], [2, 0], [0, 2]]).ball_volume([[2.9, -0.5]], [1], 1.5)
        assert found == 0
        assert 0 < error < 1e-4

    def test_balls_in_boxes_of_any_dimension(self):
        for d in (3, 5, 12):
            truth = math.pi ** (d / 2) / math.gamma(1 + d / 2)
            box = Box(np.full(d, -1.0), np.full(d, 1.0))
            assert volume(box, np.zeros(d), 1.0, 2) == pytest.approx(truth, rel=1e-13)
            assert volume(box, np.full(d, 2.0), 1.0, 2) == 0

    def test_equal_arguments_give_equal_numbers(self):
        box, state = Box([0] * 3, [1] * 3), np.random.get_state()[1].copy()  # noqa: NPY002
        centers = np.random.default_rng(0).random((5, 3))
        one, other = (box.ball_volume(centers, 0.7, 2) for _ in range(2))
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(box.ball_volume(centers[3:], 0.7, 2)[0], one[0][3:])
        np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002

    def test_errors_are_honest(self):
        """Of many balls in the corner of a box few are off by more than four standard errors."""
        rng = np.random.default_rng(1)
        centers = rng.uniform(0, 2, (200, 2))
        box, flat = Box([0, 0, -1], [2, 2, 1]), Box([0, 0], [2, 2])
        radii = rng.uniform(0.3, 0.9, 200)
        found, errors = box.ball_volume(np.c_[centers, np.zeros(200)], radii, 2)
        heights, weights = np.polynomial.legendre.leggauss(200)
        truth = np.zeros(200)
        for height, weight in zip(heights, weights, strict=True):
            slices = flat.ball_volume(centers, radii * math.sqrt(1 - height**2), 2)[0]
            truth += weight * radii * slices
        cut = errors > 0
        off = np.abs(found - truth)[cut] / errors[cut]
        assert cut.sum() > 100
        assert np.mean(off > 4) < 0.03
        assert np.median(off) > 0.2  # nor are they far too large


class TestRange:
    @pytest.mark.parametrize("scale", [1e-150, 1e-100, 1.0, 1e100, 1e140])
    @pytest.mark.parametrize("p", ORDERS)
    def test_of_all_sizes_without_a_warning(self, scale, p):
        spots = scale * np.array([[0, 0], [0.9, 0.3], [1e3, 0], [1e10, 1e3], [0.5, 0]])
        radii = [0, 1e-300, 1e-10 * scale, 0.5 * scale, 1e3 * scale, 1e10 * scale, 1e300, np.inf]
        for region in (Polygon(scale * regular(5)), Box([-scale, -scale], [scale, scale])):
            for radius in radii:
                volumes, errors = region.ball_volume(spots, radius, p)
                assert (volumes >= 0).all()
                assert (volumes <= region.volume).all()
                assert (errors >= 0).all()
            inside = region.project(spots)
            assert region.contains(inside).all()
            times = region.to_edge(inside, [[1, 0], [1e-200, 1e-200], [1e150, 1]])
            assert (times >= 0).all()

    def test_far_beyond(self):
        for region in (Polygon(regular(5)), Box([-1, -1], [1, 1])):
            for p in ORDERS:
                for far in (1e20, 1e150):
                    found = region.ball_volume([[far, far], [far, 0]], 1.0, p)[0]
                    np.testing.assert_array_equal(found, 0)
                    found = region.ball_volume([[far, far], [far, 0]], np.array([3, 2]) * far, p)[0]
                    np.testing.assert_array_equal(found, region.volume)
