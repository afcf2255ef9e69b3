"""Recall on MAPIE's multi-label toy: nine points, one logistic regression for each label.

MAPIE 1.6.0, MultiLabelClassificationController(risk="recall", method="crc", target_level=.8), takes
the largest threshold on probabilities out of 0, .01, ..., .99 that meets the target: .49, where a
label is in the set when its probability lies above. The exact place, without a grid, is the
probability of the one true label of the fourth point, .4950.
"""

from fractions import Fraction

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

import shiftproof as shp

X = np.arange(9.0)[:, None]
Y = np.array(
    [
        [1, 0, 1],
        [1, 0, 0],
        [0, 1, 1],
        [0, 1, 0],
        [0, 0, 1],
        [1, 1, 1],
        [1, 1, 0],
        [1, 0, 1],
        [0, 1, 1],
    ]
)
ALPHA = 0.2
MODEL = MultiOutputClassifier(LogisticRegression(max_iter=1000, random_state=42)).fit(X, Y)
PROBABILITIES = np.column_stack([each[:, 1] for each in MODEL.predict_proba(X)])


def meets(members) -> bool:
    """sum_i (1 - recall_i) + 1 <= alpha (n + 1), in rational numbers."""
    missed, true = (Y * ~members).sum(axis=1), Y.sum(axis=1)
    losses = [Fraction(int(m), int(t)) for m, t in zip(missed, true, strict=True)]
    return sum(losses) + 1 <= Fraction(str(ALPHA)) * (len(Y) + 1)


def missed(sets, y):
    return (np.asarray(y) * ~sets.members).sum(axis=1) / np.asarray(y).sum(axis=1)


def test_on_the_grid_it_is_the_published_threshold():
    grid = np.arange(0, 1, 0.01)
    assert grid[[meets(level < PROBABILITIES) for level in grid]].max() == 0.49
    loss = shp.MonotoneLoss(missed, 1 - grid[::-1], loss_max=1.0)
    controller = shp.RiskController(MODEL, shp.Masks(), loss, worst_case=shp.Constant())
    assert np.unique(controller.calibrate(X, Y).predict(X, ALPHA).threshold) == 1 - 0.49


def test_exactly_it_is_the_probability_of_a_true_label():
    controller = shp.RiskController(
        MODEL, shp.Masks(), shp.FalseNegativeRate(), worst_case=shp.Constant()
    )
    sets = controller.calibrate(X, Y).predict(X, ALPHA)
    assert np.unique(sets.threshold) == 1.0 - PROBABILITIES[3, 1]
    assert abs(1 - sets.threshold[0] - 0.4950) < 1e-4
    assert meets(sets.members)
    smaller = sets.nest.at(np.nextafter(sets.threshold, -1)).members
    assert not meets(smaller)
    assert 0.49 < 1 - sets.threshold[0] < 0.50  # MAPIE's grid stops short of it
