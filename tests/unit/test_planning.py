"""Plans, feasibility and certificates: against slow definitions, and at the border."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsRegressor

import shiftproof as shp
from shiftproof._tables import Table
from shiftproof.planning.resampling import Pilot
from shiftproof.runs import Run

RNG = np.random.default_rng(8)


def rows(n, rate, rng=RNG):
    off, place = rng.random(n) < rate, rng.uniform(0, 40, n)
    heard = np.clip(place + np.where(off, 2.0, 0.5) * rng.normal(size=n), 0, 40)
    return np.column_stack([off, heard]), place


def groups(rate):
    return shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 1 - rate, 1: rate})


def road(ratio=None, *, loss=None, worst_case=None):
    return shp.RiskController(
        lambda x: x[:, 1],
        shp.Intervals(0, 40),
        loss or shp.Distance(),
        ratio or groups(0.9),
        worst_case or shp.Pointwise(),
    )


X, Y = rows(150, 0.5)
TARGET = rows(100, 0.9)[0]


@pytest.mark.parametrize(
    "ratio",
    [
        groups(0.9),
        shp.WithinGroups(0),
        shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target=shp.Counts({0: 10, 1: 90})).within(0.1),
    ],
    ids=["plain", "within", "boxed"],
)
def test_a_drawn_calibration_is_that_of_repeated_rows(ratio):
    calibrated = road(ratio).calibrate(X, Y)
    pilot = Pilot(calibrated.losses, Table.of("X", X), ratio)
    counts = pilot.counts(np.random.default_rng(0), 90)
    again = np.repeat(np.arange(len(X)), counts)
    slow = road(ratio).calibrate(X[again], Y[again])
    weights = ratio.weights(TARGET)
    found = pilot.drawn(counts).threshold(1.0, weights, worst=40.0)
    np.testing.assert_allclose(found, slow.rule.threshold(1.0, weights, worst=40.0), rtol=1e-12)


def test_groups_are_drawn_at_their_known_rates():
    few = X[:, 0].argsort()[:90]  # mostly on
    pilot = Pilot(road().calibrate(X[few], Y[few]).losses, Table.of("X", X[few]), groups(0.9))
    off = X[few][:, 0] == 1
    assert pilot.chances[off].sum() == pytest.approx(0.5)
    counted = shp.GroupRatio(0, source=shp.Counts({0: 5, 1: 5}), target={0: 0.1, 1: 0.9})
    pilot = Pilot(pilot.losses, pilot.table, counted)
    np.testing.assert_allclose(pilot.chances, 1 / 90)


def test_feasibility_is_what_calibrations_find():
    """Against 300 calibrations with the paper's rule: the share of whole label spaces."""
    sizes = [40, 120, 160, 250]
    found = shp.feasibility(groups(0.9), X, TARGET, alpha=0.5, bound=40.0, n_cal=sizes)
    rng = np.random.default_rng(3)
    for n, share in zip(sizes, found.whole, strict=True):
        realised = []
        for _ in range(300):
            x, y = rows(n, 0.5, rng)
            sets = road(worst_case=shp.Constant()).calibrate(x, y).predict(TARGET, 0.5)
            realised.append(sets.whole.mean())
        assert share == pytest.approx(np.mean(realised), abs=0.06)
    assert found.needed() == next(n for n, w in zip(sizes, found.whole, strict=True) if w <= 0.01)
    assert (np.diff(found.smallest_alpha) < 0).all()
    assert "share of whole label spaces" in str(found)


def test_feasibility_without_a_shift_is_a_division():
    """Finite from n >= (Lmax - alpha) / alpha on, ties included."""
    for alpha, n in ((0.1, 9), (0.3, 3), (0.05, 19), (0.7, 1)):
        found = shp.feasibility(
            shp.NoShift(), [[0.0]], [[0.0]], alpha=alpha, bound=1.0, n_cal=[max(n - 1, 1), n]
        )
        assert found.whole[1] == 0.0
        assert found.whole[0] == float(n > 1)


def test_a_plan_says_what_calibrations_find():
    """From a large pilot: the expected sizes of all three rules, within a tenth."""
    x, y = rows(3000, 0.5)
    plan = shp.plan(road(), x, y, alpha=0.5, n_cal=[100, 300], seed=1)
    rng = np.random.default_rng(5)
    for name, worst_case in (
        ("paper", shp.Constant()),
        ("envelope", shp.Pointwise()),
        ("directional", shp.Directional()),
    ):
        for n in (100, 300):
            sizes = []
            for _ in range(60):
                calibrated = road(worst_case=worst_case).calibrate(*rows(n, 0.5, rng))
                sizes.append(calibrated.predict(rows(50, 0.9, rng)[0], 0.5).relative_size().mean())
            (outlook,) = plan.at(rule=name, n_cal=n)
            assert outlook.expected == pytest.approx(np.mean(sizes), rel=0.1)
    assert plan.best("directional", "as given").n_cal == 300


def test_inputs_of_the_pilot_stand_for_those_of_the_target():
    x, y = rows(2000, 0.5)
    one, other = (
        shp.plan(road(), x, y, inputs, alpha=0.5, n_cal=[200], rules=["envelope"]).outlooks[0]
        for inputs in (None, rows(2000, 0.9)[0])
    )
    assert one.expected == pytest.approx(other.expected, rel=0.05)


def test_several_shifts_are_planned_at_once_and_more_shift_costs_more():
    shifts = {f"{rate:.0%} off": groups(rate) for rate in (0.5, 0.75, 0.9)}
    plan = shp.plan(road(), X, Y, alpha=0.5, n_cal=[120, 250], ratios=shifts, rules=["paper"])
    for n in (120, 250):
        sizes = [plan.at(shift=name, n_cal=n)[0].expected for name in shifts]
        assert sizes == sorted(sizes)
    assert len(plan.outlooks) == 6
    assert "90% off, n_cal 120" in str(plan)
    assert list(pd.DataFrame(plan.columns()).columns) == list(asdict(plan.outlooks[0]))


def test_expected_and_certified_stand_in_two_columns():
    controller = road(loss=shp.Distance(cap=4.0))
    sample = rows(2000, 0.5)
    plan = shp.plan(controller, *sample, TARGET, alpha=1.0, n_cal=[100, 800], rules=["envelope"])
    few, many = plan.outlooks
    assert few.expected < few.certified <= 1
    assert many.expected < many.certified < few.certified
    paper = shp.certify(controller, *sample, TARGET, alpha=1.0, n_cal=800)
    assert paper.size == many.certified
    assert "certified" in str(many)
    assert all(
        one.certified is None
        for one in shp.plan(
            controller, *sample, alpha=1.0, n_cal=[800], rules=["envelope"]
        ).outlooks
    )
    other = road(shp.KnownRatio(lambda x: 0.2 + 1.6 * x[:, 0]), loss=shp.Distance(cap=4.0))
    (one,) = shp.plan(other, *sample, TARGET, alpha=1.0, n_cal=[800], rules=["paper"]).outlooks
    assert one.certified is None


def test_advice_names_what_shrinks_the_sets_most():
    shifts = {"mild": groups(0.5), "severe": groups(0.9)}
    plan = shp.plan(road(), X, Y, alpha=0.5, n_cal=[100, 300], ratios=shifts)
    said = plan.advice("paper", "severe", 100).splitlines()
    assert said[0].startswith("sets of")
    sizes = [float(line.split()[0]) for line in said[1:]]
    assert sizes == sorted(sizes)
    told = " ".join(said)
    for words in ("with n_cal 300", "by the rule envelope", "by the rule directional"):
        assert words in told
    best = min(plan.outlooks, key=lambda one: one.expected)
    assert "nothing in this plan" in plan.advice(best.rule, best.shift, best.n_cal)
    with pytest.raises(shp.InputError, match="choice: expected one of"):
        plan.advice("paper", "severe", 7)


def test_a_plan_is_the_same_for_the_same_seed():
    one, other = (shp.plan(road(), X, Y, alpha=0.5, n_cal=[50], seed=2) for _ in range(2))
    assert one.outlooks == other.outlooks


def test_rules_that_do_not_go_with_the_loss_are_left_out_or_refused():
    controller = road(loss=shp.Miscoverage())
    plan = shp.plan(controller, X, Y, alpha=0.1, n_cal=[50])
    assert {one.rule for one in plan.outlooks} == {"paper", "envelope"}
    with pytest.raises(shp.InputError, match="star-shaped sets exist for losses by distance"):
        shp.plan(controller, X, Y, alpha=0.1, n_cal=[50], rules=["directional"])


def certified(**changes):
    asked = {"alpha": 4.0, "n_cal": 800, **changes}
    return shp.certify(road(loss=shp.Distance(cap=8.0)), X, Y, TARGET, **asked)


def test_a_certificate_is_read_again_and_recomputed():
    paper = certified()
    again = shp.Certificate.from_json(paper.to_json())
    assert again == paper
    again.verify(road(loss=shp.Distance(cap=8.0)), X, Y, TARGET)


def test_a_certificate_that_was_changed_is_found():
    text = certified().to_json()
    for change in (("alpha", 0.1), ("size", 0.001), ("delta", 0.5), ("assumptions", [])):
        content = json.loads(text)
        content[change[0]] = change[1]
        with pytest.raises(shp.InputError, match="changed since"):
            shp.Certificate.from_json(json.dumps(content))
    for bad in ("", "[]", "{}", "null", text[:-30]):
        with pytest.raises(shp.InputError, match="one in JSON"):
            shp.Certificate.from_json(bad)


def test_other_data_or_another_controller_are_found():
    paper, controller = certified(), road(loss=shp.Distance(cap=8.0))
    moved = Y.copy()
    moved[3] += 0.25
    cases = [
        ((controller, X, moved, TARGET), "labels, losses"),
        ((controller, X[::-1], Y[::-1], TARGET), "sample"),
        ((controller, X, Y, TARGET[:-1]), "inputs"),
        ((road(loss=shp.Distance(cap=9.0)), X, Y, TARGET), "losses"),
        ((road(groups(0.8), loss=shp.Distance(cap=8.0)), X, Y, TARGET), "another size"),
    ]
    for given, sentence in cases:
        with pytest.raises(shp.InputError, match=sentence):
            paper.verify(*given)


def test_a_certificate_says_what_it_rests_on_and_what_was_not_checked():
    said = str(certified(delta=0.2))
    assert "with confidence 0.8 the expected relative size is at most" in said
    assert "the expected loss is at most 4, on average over calibration draws" in said
    assert "not checked: that the law of the label given the input is the same in use" in said
    assert "not checked: that alpha, n_cal and the shift were chosen before" in said
    shared = shp.certify(road(loss=shp.Distance(cap=8.0)), X, Y, X[:20], alpha=4.0, n_cal=800)
    assert "20 target inputs have the values of rows in the sample" in str(shared)


def test_where_nothing_can_be_certified_it_says_so_and_what_would_help():
    paper = shp.certify(road(), X, Y, TARGET, alpha=0.5, n_cal=50)
    assert paper.says_nothing
    assert "nothing can be certified of the size" in str(paper)
    assert "would help most" in paper.advice


def test_the_envelope_is_certified_to_be_smaller_than_the_constant():
    sample = rows(4000, 0.5)
    sizes = [
        shp.certify(
            road(loss=shp.Distance(cap=4.0), worst_case=worst_case),
            *sample,
            TARGET,
            alpha=1.0,
            n_cal=120,
        ).size
        for worst_case in (shp.Pointwise(), shp.Constant())
    ]
    assert sizes[0] <= sizes[1] < 1.01


def test_what_cannot_be_planned_is_refused():
    cases = [
        (lambda: shp.plan(road(), X, Y, alpha=0.5, n_cal=[0]), "at least 1"),
        (lambda: shp.plan(road(), X, Y, alpha=0.5, n_cal=[5], ratios={}), "at least one shift"),
        (lambda: shp.plan(road(), X, Y, alpha=0.5, n_cal=[5], rules=["best"]), "spell it so"),
        (lambda: shp.plan(road(), X, Y, alpha=50.0, n_cal=[5]), "the bound of the loss"),
        (lambda: shp.plan(road(), X, Y, alpha=0.5, n_cal=[5], delta=2.0), "between 0 and 1"),
        (
            lambda: shp.plan(
                road(),
                X,
                Y,
                TARGET,
                alpha=0.5,
                n_cal=[5],
                ratios={"a": groups(0.5), "b": groups(0.9)},
            ),
            "under the one shift that is asked for",
        ),
        (lambda: shp.plan(road(), X, Y, alpha=0.5, n_cal=[5]).best("paper", "none"), "one of"),
        (
            lambda: shp.feasibility(groups(0.9), X, TARGET, alpha=0.5, bound=np.inf, n_cal=[5]),
            "finite largest loss",
        ),
        (
            lambda: shp.feasibility(groups(0.9), X, TARGET, alpha=0.5, bound=40.0, n_cal=[2.5]),
            "whole number",
        ),
        (
            lambda: shp.feasibility(
                shp.WithinGroups(0), X, TARGET, alpha=0.5, bound=40.0, n_cal=[5]
            ),
            "one number for each row",
        ),
        (
            lambda: shp.certify(
                road(shp.KnownRatio(lambda x: np.ones(len(x)))), X, Y, TARGET, alpha=1.0, n_cal=9
            ),
            "rates of groups that are known, or NoShift",
        ),
        (
            lambda: shp.certify(
                road(shp.GroupRatio(0, source={0: 1.0}, target={0: 0.5, 1: 0.5})),
                X[X[:, 0] == 0],
                Y[X[:, 0] == 0],
                TARGET,
                alpha=1.0,
                n_cal=9,
            ),
            "groups that the source has",
        ),
    ]
    for call, sentence in cases:
        with pytest.raises(shp.InputError, match=sentence):
            call()


def noisy(n, rng=RNG):
    x = rng.uniform(0, 10, (n, 2))
    return x, np.sin(x[:, 0]) + 0.1 * x[:, 1] + 0.1 * rng.normal(size=n)


def neighbours(x, y):
    return KNeighborsRegressor(5).fit(x, y)


WAVE = shp.RiskController(lambda x: x[:, 0], shp.Intervals(-2, 4), shp.Miscoverage())
SPLIT = {"refit": neighbours, "total": 400, "alpha": 0.1, "rules": ["paper"], "repeats": 4}


def realised_split(n_train, times=15):
    """The mean relative size of this split, with data of its own."""
    rng, found = np.random.default_rng(17), []
    for _ in range(times):
        model = neighbours(*noisy(n_train, rng))
        controller = shp.RiskController(model, WAVE.sets, WAVE.loss, WAVE.ratio, shp.Constant())
        calibrated = controller.calibrate(*noisy(400 - n_train, rng))
        found.append(calibrated.predict(noisy(50, rng)[0], 0.1).relative_size().mean())
    return float(np.mean(found))


def test_the_recommended_split_costs_little_more_than_the_best():
    sizes = [20, 80, 200, 320, 392]
    plan = shp.plan_splits(WAVE, *noisy(700), n_train=sizes, **SPLIT)
    truth = {n: realised_split(n) for n in sizes}
    best = plan.best("paper", "as given")
    assert truth[best.n_train] <= 1.1 * min(truth.values())
    for one in plan.outlooks:
        assert one.n_cal == 400 - one.n_train
        assert one.expected == pytest.approx(truth[one.n_train], rel=0.25)


def test_splits_that_the_pilot_cannot_show_are_refused():
    cases = [
        ([680], "sizes up to 650, as the pilot has 700 rows"),
        ([400], "fewer than all labels"),
        ([], "at least one training size"),
        ([0], "at least 1"),
    ]
    for sizes, sentence in cases:
        asked = SPLIT | ({"total": 2000} if sizes == [680] else {})
        with pytest.raises(shp.InputError, match=sentence):
            shp.plan_splits(WAVE, *noisy(700), n_train=sizes, **asked)


def test_splits_are_taken_up_where_they_ended(tmp_path):
    pilot = noisy(300)
    asked = SPLIT | {"n_train": [20, 100], "repeats": 2}
    fits = []

    def counted(x, y):
        fits.append(len(x))
        if len(fits) == 3:
            raise KeyboardInterrupt
        return neighbours(x, y)

    run = Run(tmp_path / "splits.json", progress=False)
    with pytest.raises(KeyboardInterrupt):
        shp.plan_splits(WAVE, *pilot, run=run, **(asked | {"refit": counted}))
    again = shp.plan_splits(WAVE, *pilot, run=run, **(asked | {"refit": counted}))
    assert fits == [20, 20, 100, 100, 100]  # one of them was cut off
    assert again.outlooks == shp.plan_splits(WAVE, *pilot, **asked).outlooks
