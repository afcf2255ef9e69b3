"""Kilometres on the plane against lengths on the ellipsoid, by Vincenty's formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftproof.errors import InputError
from shiftproof.localization import LocalPlane
from shiftproof.localization.projection import REACH

#: Around the rural Sigfox data.
BELGIUM = LocalPlane(51.107, 3.981)
SOUTH_NORTH, WEST_EAST = (50.979, 51.287), (3.685, 4.333)


def geodesic(one, other):
    """Kilometres on the WGS 84 ellipsoid (Vincenty 1975, the inverse problem)."""
    a, f = 6378.137, 1 / 298.257223563
    b = (1 - f) * a
    (lat1, lon1), (lat2, lon2) = np.deg2rad(one), np.deg2rad(other)
    u1, u2 = (math.atan((1 - f) * math.tan(lat)) for lat in (lat1, lat2))
    apart = lam = lon2 - lon1
    for _ in range(200):
        x = math.cos(u2) * math.sin(lam)
        y = math.cos(u1) * math.sin(u2) - math.sin(u1) * math.cos(u2) * math.cos(lam)
        sine = math.hypot(x, y)
        if sine == 0:
            return 0.0
        cosine = math.sin(u1) * math.sin(u2) + math.cos(u1) * math.cos(u2) * math.cos(lam)
        sigma = math.atan2(sine, cosine)
        alpha = math.cos(u1) * math.cos(u2) * math.sin(lam) / sine
        square = 1 - alpha**2
        middle = cosine - 2 * math.sin(u1) * math.sin(u2) / square if square else 0.0
        c = f / 16 * square * (4 + f * (4 - 3 * square))
        inner = middle + c * cosine * (2 * middle**2 - 1)
        before, lam = lam, apart + (1 - c) * f * alpha * (sigma + c * sine * inner)
        if abs(lam - before) < 1e-14:
            break
    k = square * (a**2 - b**2) / b**2
    big_a = 1 + k / 16384 * (4096 + k * (-768 + k * (320 - 175 * k)))
    big_b = k / 1024 * (256 + k * (-128 + k * (74 - 47 * k)))
    third = big_b / 6 * middle * (4 * sine**2 - 3) * (4 * middle**2 - 3)
    change = big_b * sine * (middle + big_b / 4 * (cosine * (2 * middle**2 - 1) - third))
    return b * big_a * (sigma - change)


def relative_errors(plane, pairs):
    errors = []
    for one, other in pairs:
        points = plane.kilometres(*np.transpose([one, other]))
        true = geodesic(one, other)
        if true > 0.05:  # below 50 m the formulas themselves round
            errors.append(abs(math.dist(*points) / true - 1))
    return np.array(errors)


def test_the_oracle_knows_a_published_length():
    """Flinders Peak to Buninyong, 54.972271 km on the ellipsoid GRS 80, which is that of WGS 84."""
    flinders = -(37 + 57 / 60 + 3.72030 / 3600), 144 + 25 / 60 + 29.52440 / 3600
    buninyong = -(37 + 39 / 60 + 10.15610 / 3600), 143 + 55 / 60 + 35.38390 / 3600
    assert geodesic(flinders, buninyong) == pytest.approx(54.972271, abs=1e-6)


def test_lengths_in_the_region_are_right_to_two_in_a_hundred_thousand():
    rng = np.random.default_rng(0)
    low, high = np.transpose([SOUTH_NORTH, WEST_EAST])
    corners = [(north, east) for north in SOUTH_NORTH for east in WEST_EAST]
    pairs = [(one, other) for one in corners for other in corners if one != other]
    pairs += list(rng.uniform(low, high, (200, 2, 2)))
    assert relative_errors(BELGIUM, pairs).max() < 2e-5


def test_stretching_a_map_at_its_mean_latitude_is_not_enough():
    """What the plane is there for: that map is wrong by more than .1 % at the edge."""
    north = SOUTH_NORTH[1]
    flat = np.deg2rad(WEST_EAST[1] - WEST_EAST[0]) * 6391.1 * math.cos(math.radians(51.107))
    true = geodesic((north, WEST_EAST[0]), (north, WEST_EAST[1]))
    assert abs(flat / true - 1) > 0.003


@pytest.mark.parametrize("latitude", [0.0, 51.0, -37.5, 80.0])
def test_lengths_are_right_to_a_thousandth_up_to_the_reach(latitude):
    plane, rng = LocalPlane(latitude, 179.0), np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 120)
    far = REACH * 0.999 * np.sqrt(rng.random(120))
    far[:20] = REACH * 0.999
    places = plane.degrees(np.column_stack([far * np.cos(angle), far * np.sin(angle)]))
    errors = relative_errors(plane, [(places[i], places[-1 - i]) for i in range(60)])
    assert len(errors) > 50
    assert errors.max() < 1e-3


@given(
    st.floats(-85, 85),
    st.floats(-180, 180),
    st.tuples(st.floats(-170, 170), st.floats(-170, 170)),
)
def test_there_and_back(latitude, longitude, point):
    plane = LocalPlane(latitude, longitude)
    degrees = plane.degrees([point])
    np.testing.assert_allclose(plane.kilometres(*degrees.T), [point], atol=1e-8)


def test_back_and_there():
    rng = np.random.default_rng(2)
    north, east = rng.uniform(*SOUTH_NORTH, 500), rng.uniform(*WEST_EAST, 500)
    back = BELGIUM.degrees(BELGIUM.kilometres(north, east))
    np.testing.assert_allclose(back, np.column_stack([north, east]), atol=1e-12)


def test_east_is_right_and_north_is_up():
    plane = LocalPlane(-33.0, 151.0)
    east, north = plane.kilometres([-33.0, -32.9], [151.1, 151.0])
    assert east[0] > 9 > 0.1 > abs(east[1])
    assert north[1] > 11 > 0.1 > abs(north[0])


def test_a_mean_goes_around_the_circle():
    assert abs(LocalPlane.around([0.0, 0.0], [179.0, -177.0]).longitude) == pytest.approx(179.0)
    between = LocalPlane.around([10.0, 20.0], [3.0, 5.0])
    assert (between.latitude, between.longitude) == pytest.approx((15.0, 4.0))


def test_a_drawn_region():
    corners = [(50.99, 3.7), (50.99, 4.3), (51.28, 4.3), (51.28, 3.7)]
    region = BELGIUM.polygon(corners)
    assert region.volume == pytest.approx(32.27 * 42.0, rel=0.01)
    assert region.contains(BELGIUM.kilometres([51.1], [4.0]))[0]
    assert not region.contains(BELGIUM.kilometres([50.9], [4.0]))[0]


BAD = {
    "swapped": (lambda: BELGIUM.kilometres([4.0], [51.1]), "at most 250"),
    "beyond the pole": (lambda: BELGIUM.kilometres([104.0], [51.0]), "from -90 to 90, got 104.0"),
    "beyond the date line": (lambda: LocalPlane(0.0, 181.0), "from -180 to 180, got 181.0"),
    "metres": (lambda: LocalPlane.around([4864746.0], [-7691.0]), "are these metres"),
    "null island": (lambda: BELGIUM.kilometres([51.1, 0.0], [4.0, 0.0]), "at position 1"),
    "the antipode": (lambda: BELGIUM.kilometres([-51.107], [-176.019]), "at most 250"),
    "no places": (lambda: LocalPlane.around([], []), "at least one"),
    "one too few": (lambda: BELGIUM.kilometres([51.0, 51.1], [4.0]), r"shape \(2,\)"),
    "NaN": (lambda: BELGIUM.kilometres([math.nan], [4.0]), "no NaN"),
    "far points": (lambda: BELGIUM.degrees([[3000.0, 0.0]]), "within 250 km"),
    "points in space": (lambda: BELGIUM.degrees([[1.0, 2.0, 3.0]]), r"shape \(n, 2\)"),
    "corners of numbers": (lambda: BELGIUM.polygon([51.0, 4.0]), r"shape \(k, 2\)"),
    "an origin in words": (lambda: LocalPlane("north", 4.0), "expected numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_place_is_refused(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()
