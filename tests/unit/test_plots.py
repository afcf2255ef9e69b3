"""Pictures: public numbers are drawn, what is infinite is seen, what is bad is refused."""

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import shiftproof as shp
from shiftproof import plots
from shiftproof._tables import Table
from shiftproof.keys import Draws
from shiftproof.planning.planner import Outlook
from shiftproof.predictors.models import predictor_of
from shiftproof.sets.areas import polygon_area
from shiftproof.theory import SizeBound

INF = np.inf
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.uniform(0, 10, 80), RNG.uniform(0, 1, 80)])
Y = np.clip(X[:, 0] + RNG.normal(0, 1, 80), 0, 10)
NEW = np.column_stack([RNG.uniform(0, 10, 15), RNG.uniform(0, 1, 15)])
TRUTH = np.clip(NEW[:, 0] + RNG.normal(0, 1, 15), 0, 10)
SHIFT = shp.KnownRatio(lambda x: np.exp(2 * x[:, 1]))
GROUPS = shp.GroupRatio(
    lambda x: x[:, 1] > 0.5, source={True: 0.5, False: 0.5}, target={True: 0.9, False: 0.1}
)
COUNTED = GROUPS.under(shp.Counts({True: 90, False: 10})).within(0.1)
LINE = shp.Intervals(0, 10)
LEVEL = 0.4


class Spread(shp.PlainRatio):
    """Weights within bounds, each by itself."""

    columns = None
    assumption = shp.Assumption(shp.Certainty.CERTIFIED, "bounds", "E[loss] <= alpha", 0.1)

    def _ratio(self, table):
        return np.exp(2 * table.numbers(1))

    def weights(self, X, keys=None):
        middle = super().weights(X, keys)
        return shp.WeightBox(0.8 * middle, 1.2 * middle)

    def curve(self, losses, X):
        return shp.BoxedCurve(losses, self.weights(X))


RATIOS = {
    "plain": SHIFT,
    "boxed": Spread(),
    "coherent": COUNTED,
    "stratified": shp.WithinGroups(lambda x: x[:, 1] > 0.5),
    "priced": shp.ClippedRatio(SHIFT, ceiling=7.0).fit(np.column_stack([X[:, 0], X[:, 1] ** 0.5])),
    "drawn": shp.ClippedRatio(SHIFT, ceiling=5.0).randomized(),
}


def calibrated(ratio=SHIFT, sets=LINE, loss=None, worst_case=None):
    controller = shp.RiskController(
        lambda x: x[:, 0], sets, loss or shp.Distance(), ratio, worst_case or shp.Pointwise()
    )
    return controller.calibrate(X, Y, seed=1)


PLACE = RNG.uniform(0, 10, (60, 2))
REGION = shp.Polygon([[0, 0], [10, 0], [10, 10], [0, 12]])
HEARD = REGION.project(PLACE + RNG.normal(0, 1, PLACE.shape))
HEAVY = shp.KnownRatio(lambda x: np.exp(x[:, 0]))
EAST = shp.KnownRatio(lambda x: np.where(x[:, 0] > 5, 20.0, 0.2))


def regions(worst_case=None, alpha=0.5, region=REGION, p=2):
    controller = shp.RiskController(
        lambda x: x, shp.Balls(region, p=p), shp.Distance(), EAST, worst_case or shp.Pointwise()
    )
    return controller.calibrate(HEARD, region.project(PLACE)).predict(HEARD[:20], alpha)


def classes():
    p = RNG.dirichlet(np.ones(4), 90)
    y = (p.cumsum(axis=1) < RNG.random((90, 1))).sum(axis=1)
    controller = shp.RiskController(lambda x: x, shp.LabelSets(), shp.Miscoverage())
    return controller.calibrate(p[:60], y[:60]).predict(p[60:], 0.3)


def diagnosis():
    rng = np.random.default_rng(1)
    source, target = rng.normal(0, 1, (200, 2)), rng.normal([1, 0], 1, (100, 2))
    source[:30, 1], target[:20, 0] = -9, 9

    def ratio(x):
        return np.select([x[:, 0] > 8, x[:, 1] < -8], [INF, 0.0], np.exp(x[:, 0]))

    return shp.diagnose(shp.KnownRatio(ratio), source, target)


FOUND = diagnosis()


def outlooks(n_train=None):
    """Sizes that fall with n_cal, and whole label spaces for the paper's rule with few."""
    return tuple(
        Outlook(rule, shift, n_train and 400 - n, n, size / n, size / n / 2, size / n * 2, whole)
        for rule, size in (("paper", 40.0), ("envelope", 20.0))
        for shift in ("mild", "severe")
        for n, whole in ((50, 0.5), (100, 0.2), (200, 0.0))
    )


PLAN = shp.Plan(outlooks(), 0.5, 0.1, 60, {})
SPLITS = shp.Plan(outlooks(n_train=1), 0.5, 0.1, 60, {})
BOUNDS = {
    "few": SizeBound({"model": 0.1, "test_mass": 0.7, "calibration": 0.6}, 0.1, ("one",)),
    "many": SizeBound({"model": 0.1, "test_mass": 0.0, "calibration": 0.2}, 0.1, ("one",)),
}
DRAW = {
    "risk_curve": lambda **ax: plots.risk_curve(calibrated().prepare(NEW), LEVEL, **ax),
    "size_curve": lambda **ax: plots.size_curve(calibrated().prepare(NEW), [0.2, 0.4], **ax),
    "weights": lambda **ax: plots.weights(FOUND, **ax),
    "balance": lambda **ax: plots.balance(FOUND, **ax),
    "regions": lambda **ax: plots.regions(regions(), truth=PLACE[:20], **ax),
    "intervals": lambda **ax: plots.intervals(
        calibrated().predict(NEW, LEVEL), NEW[:, 0], truth=TRUTH, **ax
    ),
    "label_counts": lambda **ax: plots.label_counts(classes(), **ax),
    "plan_curve": lambda **ax: plots.plan_curve(PLAN, **ax),
    "bound_terms": lambda **ax: plots.bound_terms(BOUNDS, **ax),
}
EACH = pytest.mark.parametrize("name", plots.__all__)


@pytest.fixture(autouse=True)
def no_figure_stays():
    yield
    plt.close("all")


def labels(axes):
    """All that the legends of a figure say."""
    legends = [one.get_legend() for one in axes.figure.axes if one.get_legend() is not None]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def line(axes, start):
    """The data of the line whose label starts so."""
    (found,) = [one for one in axes.get_lines() if str(one.get_label()).startswith(start)]
    return found.get_xydata().T


@EACH
def test_each_returns_the_axes_of_a_new_figure(name):
    before = dict(mpl.rcParams)
    axes = DRAW[name]()
    assert isinstance(axes, mpl.axes.Axes)
    assert plt.get_fignums() == [axes.figure.number]
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert axes.get_title(loc="left")
    assert dict(mpl.rcParams) == before
    axes.figure.canvas.draw()


@EACH
def test_each_draws_into_given_axes_and_nowhere_else(name):
    figure = mpl.figure.Figure()  # one that pyplot does not know
    ours, other = figure.subplots(1, 2)
    assert DRAW[name](ax=ours) is ours
    assert plt.get_fignums() == []
    assert not other.has_data()
    assert ours.has_data()
    figure.canvas.draw()


@EACH
def test_each_draws_into_a_part_of_a_figure(name):
    figure = mpl.figure.Figure(layout="constrained")
    part = figure.subfigures(1, 2)[0]
    ours = part.subplots()
    assert DRAW[name](ax=ours) is ours
    figure.canvas.draw()


@EACH
def test_what_is_no_axes_is_refused(name):
    with pytest.raises(shp.InputError, match="ax: expected Axes, got Figure"):
        DRAW[name](ax=mpl.figure.Figure())
    assert plt.get_fignums() == []


@EACH
def test_each_function_has_a_picture_in_the_gallery_and_a_place_in_the_reference(name):
    docs = Path(__file__).resolve().parents[2] / "docs"
    scripts = "".join(script.read_text() for script in (docs / "gallery").glob("plot_*.py"))
    assert f"shp.plots.{name}(" in scripts
    assert f".. autofunction:: {name}\n" in (docs / "api.md").read_text()


@EACH
def test_titles_stay_within_the_figure(name):
    axes = DRAW[name]()
    axes.figure.canvas.draw()
    for text in (axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label):
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= axes.figure.bbox.width + 1
        assert box.y1 <= axes.figure.bbox.height + 1


# risk


@pytest.mark.parametrize("loss", [shp.Distance(), shp.Miscoverage(), shp.Distance(cap=1.0)])
@pytest.mark.parametrize("name", RATIOS)
def test_the_risk_curve_is_the_risk_of_the_rule(name, loss):
    prepared = calibrated(RATIOS[name], loss=loss).prepare(NEW)
    rule, alpha = prepared.calibrated.rule, 0.9
    axes = plots.risk_curve(prepared, alpha, unit="km")
    places, risk = line(axes, rule.risk_is[:20])
    np.testing.assert_array_equal(risk, rule.risk(places))
    drawn = np.setdiff1d(rule.losses.bends, places)
    assert len(drawn) == 0  # a straight line between places is the curve itself
    between = (places[1:] + places[:-1]) / 2
    if name not in ("boxed", "coherent", "stratified"):  # the larger of two lines may bend
        chords = np.interp(between, places, risk)
        np.testing.assert_allclose(rule.risk(between), chords, atol=1e-12)
    assert line(axes, "alpha = 0.9 km")[1].tolist() == [0.9, 0.9]
    assert axes.get_ylabel() == "mean loss (km)"


def test_the_text_of_a_risk_curve_names_the_worst_case():
    said = {name: calibrated(ratio).rule.risk_is for name, ratio in RATIOS.items()}
    assert said["plain"] == "weighted mean loss of the calibration examples"
    assert said["boxed"].startswith("largest weighted mean loss that the bounds")
    assert said["coherent"].startswith("largest weighted mean loss that the candidates")
    assert said["stratified"] == "largest mean loss of a group"
    assert said["priced"] == said["plain"] + ", the price left out"


@pytest.mark.parametrize("case", [shp.Constant(), shp.Pointwise(), shp.Directional()])
def test_thresholds_and_budgets_meet_the_risk(case):
    prepared = calibrated(worst_case=case).prepare(NEW)
    sets = prepared.sets(LEVEL)
    axes = plots.risk_curve(prepared, LEVEL)
    inner = sets.threshold[~sets.whole]
    assert len(inner)
    (span,) = [patch for patch in axes.patches if "test points" in patch.get_label()]
    box = span.get_extents().transformed(axes.transData.inverted())
    assert (box.x0, box.x1) == pytest.approx((inner.min(), inner.max()))
    places, risk = line(axes, "weighted mean loss")
    for end, place in (("smallest", inner.min()), ("largest", inner.max())):
        at, budget = line(axes, f"budget at the {end} threshold")
        here = np.interp(place, places, risk)
        assert np.interp(place, at, budget) == pytest.approx(here, abs=1e-9)
        left = places < place - 1e-6
        assert (np.interp(places[left], at, budget) < risk[left]).all()


def test_whole_spaces_are_counted_in_words():
    prepared = calibrated(HEAVY, worst_case=shp.Constant()).prepare(NEW)
    sets = prepared.sets(0.7)
    count = int(sets.whole.sum())
    assert 0 < count < 15
    said = labels(plots.risk_curve(prepared, 0.7))
    assert f"{count} of 15 test points: the whole label space" in said


def test_all_whole_is_a_picture_too():
    prepared = calibrated(EAST, worst_case=shp.Constant()).prepare(NEW[NEW[:, 0] > 5])
    axes = plots.risk_curve(prepared, 0.0)
    assert any("the whole label space" in text for text in labels(axes))
    assert not axes.patches


def test_a_threshold_below_every_other_is_told():
    sets = shp.Intervals(0, 10, score=shp.Quantiles())
    controller = shp.RiskController(
        lambda x: np.column_stack([x[:, 0] - 1, x[:, 0] + 1]), sets, shp.Miscoverage()
    )
    prepared = controller.calibrate(X, Y).prepare(NEW)
    said = labels(plots.risk_curve(prepared, 1.0))
    assert "15 of 15 test points: the smallest set, below every threshold" in said


def test_a_price_is_seen():
    prepared = calibrated(RATIOS["priced"]).prepare(NEW)
    rule = prepared.calibrated.rule
    axes = plots.risk_curve(prepared, 4.0)
    level = float(rule.level(4.0, worst=prepared.worst))
    assert level < 4.0
    assert line(axes, "level that the curve is run at")[1][0] == level


def test_without_points_there_are_no_thresholds():
    said = labels(plots.risk_curve(calibrated(), LEVEL))
    assert len(said) == 2
    assert labels(plots.risk_curve(calibrated().prepare(NEW[:0]), LEVEL)) == said


def test_a_worst_case_with_many_places_is_drawn_from_above(monkeypatch):
    monkeypatch.setattr(plots.curves, "_PLACES", 10)
    owner = calibrated(RATIOS["coherent"], loss=shp.Miscoverage())
    axes = plots.risk_curve(owner, LEVEL)
    (drawn,) = [one for one in axes.get_lines() if "from above" in one.get_label()]
    assert drawn.get_drawstyle() == "steps-post"
    places, risk = drawn.get_xydata().T
    assert len(places) <= 12
    held = risk[np.searchsorted(places, owner.losses.bends, side="right") - 1]
    assert (held >= owner.rule.risk(owner.losses.bends)).all()


# sizes


def test_sizes_and_shares_are_those_of_the_sets():
    prepared = calibrated(EAST, worst_case=shp.Constant()).prepare(NEW)
    levels = np.array([0.3, 0.7, 2.0])
    axes = plots.size_curve(prepared, levels[::-1], unit="km", size_unit="km")
    sets = [prepared.sets(level) for level in levels]
    other = axes.figure.axes[1]
    assert line(axes, "mean size of a set").tolist() == [
        levels.tolist(),
        [float(each.size().mean()) for each in sets],
    ]
    assert line(other, "share of whole")[1].tolist() == [float(each.whole.mean()) for each in sets]
    assert axes.get_xlabel() == "alpha, the tolerated mean loss (km)"
    axes = plots.size_curve(prepared, levels, relative=True)
    relative = line(axes, "mean share of the label space")[1]
    assert relative == pytest.approx([each.relative_size().mean() for each in sets])


def test_bands_are_the_intervals_of_an_evaluation():
    prepared = calibrated().prepare(NEW)
    axes = plots.size_curve(prepared, [LEVEL, 0.6], delta=0.2)
    found = prepared.evaluate(TRUTH, LEVEL, delta=0.2)
    for one, part in ((axes, found.size), (axes.figure.axes[1], found.whole)):
        corners = one.collections[0].get_paths()[0].vertices
        at = corners[np.isclose(corners[:, 0], LEVEL), 1]
        assert (at.min(), at.max()) == pytest.approx((part.low, part.high))


def test_infinite_means_are_marked_and_have_no_line():
    prepared = calibrated(EAST, shp.Intervals(), shp.Miscoverage()).prepare(NEW)
    levels = np.array([0.01, 0.02, 0.7, 0.8])
    mean = np.array([prepared.sets(level).size().mean() for level in levels])
    assert np.isinf(mean).tolist() == [True, True, False, False]
    axes = plots.size_curve(prepared, levels)
    assert np.isnan(line(axes, "mean size of a set")[1]).tolist() == [True, True, False, False]
    assert line(axes, "mean size is infinite")[0].tolist() == [0.01, 0.02]
    assert [patch.get_hatch() for patch in axes.patches] == ["//", "//"]
    assert "mean size is infinite" in labels(axes)
    axes.figure.canvas.draw()


def test_where_all_means_are_infinite_that_is_what_is_drawn():
    prepared = calibrated(EAST, shp.Intervals(), shp.Miscoverage()).prepare(NEW)
    axes = plots.size_curve(prepared, 0.0)
    assert line(axes, "mean size is infinite")[0].tolist() == [0.0]
    axes.figure.canvas.draw()


# weights


def test_the_curves_of_weights_start_and_end_at_their_shares():
    axes = plots.weights(FOUND)
    for name, values in (("200 source", FOUND.on_source), ("100 target", FOUND.on_target)):
        places, shares = line(axes, name)
        for place, share in zip(places, shares, strict=True):
            assert share == np.mean(values <= place)
        assert shares[0] == np.mean(values == 0)
        assert shares[-1] == np.mean(np.isfinite(values))
    said = axes.get_title(loc="left").replace("\n", " ")
    assert "30 of 200 source rows have weight 0" in said
    assert "20 of 100 target rows have an infinite weight" in said
    for name in ("effective_size", "largest_ratio", "top_share", "tail_index"):
        assert str(FOUND.figures[name]) in said
    assert (~np.isfinite(FOUND.on_target)).sum() == 20


def test_weights_that_are_all_alike_are_a_picture_too():
    axes = plots.weights(shp.diagnose(shp.NoShift(), X, NEW.repeat(2, axis=0)))
    assert line(axes, "80 source")[1].tolist() == [0.0, 1.0, 1.0]
    axes.figure.canvas.draw()


def test_balance_shows_every_column_before_and_after():
    axes = plots.balance(FOUND)
    before, after = np.array(list(FOUND.differences.values())).T
    assert line(axes, "without weights")[0].tolist() == before.tolist()
    assert line(axes, "with weights")[0].tolist() == after.tolist()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list(FOUND.differences)
    said = axes.get_title(loc="left").replace("\n", " ")
    for name in ("moved_mass", "auc_before", "auc_after"):
        assert str(FOUND.figures[name]) in said


# sets


@pytest.mark.parametrize("case", [shp.Pointwise(), shp.Directional()])
def test_regions_are_the_outlines(case):
    sets = regions(case)
    axes = plots.regions(sets, rows=[3, 0], truth=PLACE[:20], unit="km")
    shapes = [patch.get_xy()[:-1] for patch in axes.patches]
    np.testing.assert_array_equal(np.unique(shapes[0], axis=0), np.unique(REGION.corners, axis=0))
    for shape, row in zip(shapes[1:], (3, 3, 0, 0), strict=True):
        np.testing.assert_array_equal(shape, sets.outlines[row])
    assert line(axes, "prediction").T.tolist() == sets.centers[[3, 0]].tolist()
    assert line(axes, "label (truth)").T.tolist() == PLACE[[3, 0]].tolist()
    assert [text.get_text() for text in axes.texts] == ["3", "0"]
    assert "2 of 20 sets" in axes.get_title(loc="left")


def test_whole_regions_are_hatched_and_told():
    sets = regions(shp.Constant(), alpha=0.1)
    whole = np.flatnonzero(sets.whole[:12])
    assert len(whole) > 0
    axes = plots.regions(sets)
    hatched = [patch for patch in axes.patches if patch.get_hatch()]
    assert len(hatched) == 1
    assert polygon_area(hatched[0].get_xy()[None, :-1])[0] == pytest.approx(REGION.volume)
    assert hatched[0].get_label().endswith(", ".join(map(str, whole)))


def test_a_box_is_drawn_around_and_not_across():
    axes = plots.regions(regions(region=shp.Box([-2, -2], [13, 14])))
    outline = axes.patches[0].get_xy()[:-1]
    assert polygon_area(outline[None])[0] == 15 * 16


def test_intervals_are_their_ends():
    sets = calibrated().predict(NEW, LEVEL)
    frame = pl.DataFrame({"heard": NEW[:, 0]})
    axes = plots.intervals(sets, frame["heard"], truth=pd.Series(TRUTH), name="heard (km)")
    segments = np.array(axes.collections[0].get_segments())
    np.testing.assert_array_equal(segments[:, 0, 0], NEW[:, 0])
    np.testing.assert_array_equal(segments[:, :, 1], np.column_stack([sets.lower, sets.upper]))
    inside = sets.contains(TRUTH)
    assert line(axes, "labels inside")[1].tolist() == TRUTH[inside].tolist()
    assert line(axes, "labels outside")[1].tolist() == TRUTH[~inside].tolist()
    assert line(axes, "prediction")[1].tolist() == sets.center.tolist()


@pytest.mark.parametrize("family", [shp.Intervals(), shp.Intervals(lower=0), LINE])
def test_whole_ranges_are_dashed_and_infinite_ends_have_arrows(family):
    sets = calibrated(HEAVY, family, shp.Miscoverage(), shp.Constant()).predict(NEW, 0.05)
    whole = sets.whole
    assert 0 < whole.sum() < 15
    axes = plots.intervals(sets, NEW[:, 0])
    solid, dashed = axes.collections
    assert len(solid.get_segments()) == (~whole).sum()
    assert len(dashed.get_segments()) == whole.sum()
    assert any(f"the whole range of labels: {whole.sum()} of 15" in text for text in labels(axes))
    ends = np.array(dashed.get_segments())[:, :, 1]
    limits = axes.get_ylim()
    endless = [np.isneginf(sets.lower[whole]), np.isposinf(sets.upper[whole])]
    for side, infinite in enumerate(endless):
        assert (ends[infinite, side] == limits[side]).all()
    arrows = [one for one in axes.get_lines() if one.get_marker() in "^v"]
    assert sum(len(one.get_xdata()) for one in arrows) == np.sum(endless)


def test_intervals_leave_what_was_there():
    axes = plt.figure().add_subplot()
    axes.plot([0, 1], [-100, 100])
    plots.intervals(calibrated().predict(NEW, LEVEL), NEW[:, 0], ax=axes)
    low, high = axes.get_ylim()
    assert low < -100 < 100 < high


def test_counts_are_the_shares_of_sizes():
    sets = classes()
    axes = plots.label_counts(sets)
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}
    sizes = sets.size()
    assert bars == {size: np.mean(sizes == size) for size in np.unique(sizes)}
    assert sum(bars.values()) == pytest.approx(1.0)


def test_empty_and_whole_sets_of_labels_are_marked():
    nest = classes().nest
    axes = plots.label_counts(nest.at(np.where(np.arange(30) < 10, -1.0, INF)))
    assert [bar.get_hatch() for bar in axes.patches] == ["xx", "//"]
    assert labels(axes) == [
        "empty: 10 of 30 rows",
        "all labels: the whole label space: 20 of 30 rows",
    ]


@pytest.mark.parametrize("name", ["regions", "intervals", "label_counts"])
def test_sets_by_hand_promise_nothing(name):
    made = {
        "regions": lambda: plots.regions(regions().nest.at(1.0)),
        "intervals": lambda: plots.intervals(
            calibrated().prepare(NEW).nest.at(np.ones(15)), NEW[:, 0]
        ),
        "label_counts": lambda: plots.label_counts(classes().nest.at(np.ones(30))),
    }
    assert "no promise" in made[name]().get_title(loc="left")
    assert "on average over calibration draws" in DRAW[name]().get_title(loc="left")


# what is refused

READY, SETS = calibrated().prepare(NEW), calibrated().predict(NEW, LEVEL)
BAD = {
    "a rule for a calibration": lambda: plots.risk_curve(READY.calibrated.rule, LEVEL),
    "a level below 0": lambda: plots.risk_curve(READY, -1.0),
    "a level above the bound": lambda: plots.risk_curve(calibrated(), 11.0),
    "several levels": lambda: plots.risk_curve(READY, [0.1, 0.2]),
    "no calibration weight": lambda: plots.risk_curve(
        calibrated(shp.KnownRatio(lambda x: 0 * x[:, 0])), LEVEL
    ),
    "a level below the price": lambda: plots.risk_curve(calibrated(RATIOS["priced"]), 0.0),
    "no points": lambda: plots.size_curve(calibrated().prepare(NEW[:0]), [0.1]),
    "no levels": lambda: plots.size_curve(READY, []),
    "levels in rows": lambda: plots.size_curve(READY, [[0.1]]),
    "one bad level": lambda: plots.size_curve(READY, [0.1, 99.0]),
    "calibrated for prepared": lambda: plots.size_curve(calibrated(), [0.1]),
    "a delta of 0": lambda: plots.size_curve(READY, [0.1], delta=0.0),
    "a word for a flag": lambda: plots.size_curve(READY, [0.1], relative="yes"),
    "no share of a space without end": lambda: plots.size_curve(
        calibrated(sets=shp.Intervals(), loss=shp.Miscoverage()).prepare(NEW), 0.1, relative=True
    ),
    "a ratio for its diagnosis": lambda: plots.weights(SHIFT),
    "weights for their diagnosis": lambda: plots.balance(np.ones(3)),
    "intervals in the plane": lambda: plots.regions(SETS),
    "no rows": lambda: plots.regions(regions(), rows=[]),
    "a mask for rows": lambda: plots.regions(regions(), rows=np.arange(20) < 3),
    "rows beyond": lambda: plots.regions(regions(), rows=[20]),
    "labels outside": lambda: plots.regions(regions(), truth=np.full((20, 2), 99.0)),
    "fewer labels": lambda: plots.regions(regions(), truth=PLACE[:3]),
    "space": lambda: plots.regions(
        shp.Balls(shp.Box([0] * 3, [1] * 3)).nest(*_points(np.full((2, 3), 0.5))).at(0.1)
    ),
    "regions on the line": lambda: plots.intervals(regions(), np.ones(20)),
    "another number of inputs": lambda: plots.intervals(SETS, NEW[:3, 0]),
    "two inputs": lambda: plots.intervals(SETS, NEW),
    "words along": lambda: plots.intervals(SETS, ["a"] * 15),
    "infinite inputs": lambda: plots.intervals(SETS, np.full(15, INF)),
    "labels beyond the range": lambda: plots.intervals(SETS, NEW[:, 0], truth=np.full(15, 99.0)),
    "no intervals": lambda: plots.intervals(calibrated().predict(NEW[:0], LEVEL), []),
    "intervals for labels": lambda: plots.label_counts(SETS),
    "no sets of labels": lambda: plots.label_counts(_none()),
}


def _points(x):
    return predictor_of(lambda x: x), Table.of("X", x), Draws("prediction", len(x))


def _none():
    return shp.LabelSets().nest(*_points(np.empty((0, 3)))).at(0.5)


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_there_is_a_figure(name):
    given = plt.figure().add_subplot()
    with pytest.raises(shp.InputError) as caught:
        BAD[name]()
    assert all((caught.value.name, caught.value.expected, caught.value.got, caught.value.repair))
    assert plt.get_fignums() == [given.figure.number]
    assert not given.has_data()


# loading


def test_plots_load_late():
    code = """
import sys, shiftproof as shp
shp.RiskController, shp.diagnose
assert "matplotlib" not in sys.modules
assert "plots" in dir(shp)
shp.plots.risk_curve
assert "matplotlib" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_without_matplotlib_the_extra_is_named():
    code = """
import sys
sys.modules["matplotlib"] = None
sys.modules["matplotlib.pyplot"] = None
import shiftproof as shp
try:
    shp.plots
except ModuleNotFoundError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == "plots need the package matplotlib: pip install 'shiftproof[plot]'"


def test_a_plan_is_drawn_as_it_stands_with_its_cliff():
    axes = plots.plan_curve(PLAN, "severe")
    for rule, size in (("paper", 40.0), ("envelope", 20.0)):
        x, y = line(axes, f"{rule}: expected")
        np.testing.assert_allclose(x, [50, 100, 200])
        np.testing.assert_allclose(y, size / x)
    (cliff,) = [one for one in axes.patches if one.get_hatch()]
    assert (cliff.get_x(), cliff.get_x() + cliff.get_width()) == (50, 100)
    assert "more than 1% whole label spaces" in " ".join(labels(axes))
    assert "60 pilot labels" in axes.get_title(loc="left")


def test_a_plan_of_splits_marks_the_best_one():
    axes = plots.plan_curve(SPLITS)
    assert axes.get_xlabel() == "share of labels that train"
    stars = [one for one in axes.collections if "best" in str(one.get_label())]
    np.testing.assert_allclose([one.get_offsets()[0] for one in stars], [[0.5, 0.2], [0.5, 0.1]])


def test_terms_of_bounds_are_stacked_up_to_one_and_no_further():
    axes = plots.bound_terms(BOUNDS)
    heights = np.array([[bar.get_height() for bar in bars] for bars in axes.containers])
    np.testing.assert_allclose(heights, [[0.1, 0.1], [0.7, 0.0], [0.2, 0.2]])
    assert [text.get_text() for text in axes.texts] == ["says nothing"]
    assert labels(axes) == ["model", "test mass", "calibration"]


def test_plans_and_bounds_that_cannot_be_drawn_are_refused():
    for call, sentence in (
        (lambda: plots.plan_curve(PLAN, "other"), "one of"),
        (lambda: plots.plan_curve(FOUND), "plan: expected Plan"),
        (lambda: plots.plan_curve(shp.Plan((), 0.1, 0.1, 9, {})), "at least one outlook"),
        (lambda: plots.bound_terms({}), "a mapping from labels to bounds"),
        (lambda: plots.bound_terms({1: 0.5}), "expected SizeBound"),
    ):
        with pytest.raises(shp.InputError, match=sentence):
            call()
    assert plt.get_fignums() == []
