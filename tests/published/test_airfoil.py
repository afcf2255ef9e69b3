"""Table of Tibshirani, Barber, Candes and Ramdas (2019), airfoil data: coverage and length.

1,503 examples, frequency and displacement thickness logged, w(x) = exp(-x1 + x5). Half of a random
752 train least squares, the other half calibrates, and a quarter of the remaining 751 is drawn,
with replacement and probability proportional to w, as test points under shift. alpha = .1.

Published, 5,000 repetitions: no shift .90206, length 16.089; shift without weights .82198, 16.079;
with the true weights .90860, 20.944; with weights by a logistic regression of the 752 inputs
against the test inputs, no penalty, .91018, 20.928. Effective size of the true weights 72.22.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from conftest import RUNS
from shiftproof import ClassifierRatio, KnownRatio, ShiftWarning
from shiftproof.risk import LossCurves, RiskCurve

REPETITIONS = 1000
ALPHA, TOLERANCE = 0.1, 0.005
PUBLISHED = {
    "no shift": (0.90206, 16.089),
    "unweighted": (0.82198, 16.079),
    "weighted": (0.90860, 20.944),
    "logistic": (0.91018, 20.928),
}
TRUE = KnownRatio(lambda x: np.exp(-x[:, 0] + x[:, 4]))
LOGISTIC = ClassifierRatio(LogisticRegression(C=np.inf, max_iter=1000))


@pytest.fixture(scope="module")
def airfoil():
    folder = os.environ.get("SHIFTPROOF_DATA")
    if not folder or not (Path(folder) / "airfoil.txt").is_file():
        pytest.skip("set SHIFTPROOF_DATA to a folder with airfoil.txt to reproduce this table")
    table = np.loadtxt(Path(folder) / "airfoil.txt")
    table[:, [0, 4]] = np.log(table[:, [0, 4]])
    return table[:, :5], table[:, 5]


def predictor(x, y):
    design = np.column_stack([np.ones(len(x)), x])
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    return lambda new: np.column_stack([np.ones(len(new)), new]) @ coefficients


@pytest.fixture(scope="module")
def table(airfoil):
    x, y = airfoil
    rng = np.random.default_rng(2019)
    coverage = {name: [] for name in PUBLISHED}
    length, sizes = {name: [] for name in PUBLISHED}, []
    for _ in range(REPETITIONS * min(RUNS, 5)):
        order = rng.permutation(len(y))
        train, calibration, rest = order[:376], order[376:752], order[752:]
        model = predictor(x[train], y[train])
        scores = np.abs(y[calibration] - model(x[calibration]))
        weights = TRUE.weights(x[rest])
        drawn = rng.choice(rest, size=len(rest) // 4, p=weights / weights.sum())
        losses = LossCurves.steps(scores)
        plain = RiskCurve(losses)
        weighted = TRUE.curve(losses, x[calibration])
        learnt = LOGISTIC.fit(x[order[:752]], x[drawn])
        with pytest.warns(ShiftWarning, match=r"376 rows .* are also in ratio source"):  # they are
            logistic = learnt.curve(losses, x[calibration])
        sizes.append(weighted.effective_size)
        for name, test, lam in (
            ("no shift", rest, plain.threshold(ALPHA, np.ones(len(rest)), worst=1.0)),
            ("unweighted", drawn, plain.threshold(ALPHA, np.ones(len(drawn)), worst=1.0)),
            ("weighted", drawn, weighted.threshold(ALPHA, TRUE.weights(x[drawn]), worst=1.0)),
            ("logistic", drawn, logistic.threshold(ALPHA, learnt.weights(x[drawn]), worst=1.0)),
        ):
            coverage[name].append((np.abs(y[test] - model(x[test])) <= lam).mean())
            length[name].append(np.median(2 * lam))
    medians = {name: float(np.median(values)) for name, values in length.items()}
    return {name: float(np.mean(c)) for name, c in coverage.items()}, medians, np.mean(sizes)


@pytest.mark.parametrize("name", PUBLISHED)
def test_coverage_is_as_published(table, name):
    assert table[0][name] == pytest.approx(PUBLISHED[name][0], abs=TOLERANCE)


@pytest.mark.parametrize("name", PUBLISHED)
def test_median_length_is_as_published(table, name):
    assert table[1][name] == pytest.approx(PUBLISHED[name][1], rel=0.01)


def test_effective_sample_size(table):
    assert table[2] == pytest.approx(72.22, abs=2)
