"""E[loss] <= alpha under the shift through the adapters; without a ratio in the same world not.

Every run trains, learns the ratio where it is a recipe, and calibrates anew. A recipe promises
alpha where its bounds are paid for: rates counted from the rows of `fit` and from target inputs,
with delta paid. Assertions have a false alarm rate of FALSE_ALARM each, as in test_controllers.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import shiftproof as shp
from conftest import RUNS
from worlds import margin

FALSE_ALARM = 1e-6
ALPHA, RATE, TRAINING, LABELS, POINTS = 0.2, 0.9, 200, 60, 10
RATES = {"source": {0.0: 0.5, 1.0: 0.5}, "target": {0.0: 1 - RATE, 1.0: RATE}}


def rows(rng, count, rate, *, classes=False):
    """Column 0: whether stations are off; labels are then far from what column 1 says."""
    off = rng.random(count) < rate
    x = np.column_stack([off, rng.normal(size=count)])
    y = x[:, 1] + np.where(off, 2.0, 0.2) * rng.normal(size=count)
    return x, np.digitize(y, [-0.5, 0.5]) if classes else y


def losses_of(model, runs, *, classes=False):
    """The mean loss on fresh test points, one for each run."""
    rng = np.random.default_rng(11)
    recipe = isinstance(model.ratio, shp.CountedRatio)
    means = np.empty(runs)
    for run in range(runs):
        fitted = clone(model).fit(*rows(rng, TRAINING, 0.5, classes=classes))
        target = (rows(rng, 400, RATE)[0],) if recipe else ()
        fitted.conformalize(*rows(rng, LABELS, 0.5, classes=classes), *target)
        inputs, truth = rows(rng, POINTS, RATE, classes=classes)
        means[run] = 1 - fitted.predict_set(inputs, ALPHA).contains(truth).mean()
    return means


@pytest.mark.parametrize(
    "ratio",
    [shp.GroupRatio(0, **RATES), shp.CountedRatio(0, delta=0.05, paid=True)],
    ids=["rates known", "rates counted, delta paid"],
)
def test_the_promise_holds(ratio, monkeypatch):
    # It warns and changes no number; here it would take all the time there is.
    monkeypatch.setattr("shiftproof.sklearn.warn_of_two_laws", lambda *_: ())
    losses = losses_of(shp.sklearn.Regressor(LinearRegression(), ratio=ratio), 600 * RUNS)
    assert losses.mean() <= ALPHA + margin(losses, 1.0, FALSE_ALARM)


def test_without_a_ratio_it_does_not():
    losses = losses_of(shp.sklearn.Regressor(LinearRegression()), 600 * RUNS)
    assert losses.mean() > ALPHA + margin(losses, 1.0, FALSE_ALARM)


def test_classes_with_a_ratio_and_without():
    model = shp.sklearn.Classifier(LogisticRegression(), ratio=shp.GroupRatio(0, **RATES))
    losses = losses_of(model, 600 * RUNS, classes=True)
    assert losses.mean() <= ALPHA + margin(losses, 1.0, FALSE_ALARM)
    broken = losses_of(model.set_params(ratio=None), 600 * RUNS, classes=True)
    assert broken.mean() > ALPHA + margin(broken, 1.0, FALSE_ALARM)
