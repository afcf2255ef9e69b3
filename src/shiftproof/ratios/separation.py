"""How well a classifier tells two samples apart, on rows that it has not seen.

Where nothing tells weighted source from target rows, the weights do what they are for. The other
way round, a set of inputs that is found far more often in the target is mass that has to move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from shiftproof._types import FloatArray, IntArray

#: So many rows of each sample are looked at.
_ROWS = 4000


@dataclass(frozen=True)
class Separation:
    """Two samples through the eyes of a classifier, each row judged by a fit without it.

    Attributes
    ----------
    auc, auc_error : float
        The chance that a target row scores higher than a source row, .5 for alike samples; and its
        standard error.
    mass, mass_error : float
        How much more often target rows than source rows are called target: it estimates
        P'(A) - P(A) for a set A, which no total variation distance is below; and its error.
    """

    auc: float
    auc_error: float
    mass: float
    mass_error: float

    @classmethod
    def of(
        cls,
        source: FloatArray,
        target: FloatArray,
        weights: FloatArray | None = None,
        *,
        folds: int = 5,
        seed: int = 0,
    ) -> Separation:
        """Source rows weighed, both samples given the same total.

        The classifier is the mean of a logistic regression and random trees: one sees small
        shifts in many columns, the other shifts of any form in a few. Of larger samples some rows
        are drawn: more would make the errors smaller than matters.
        """
        rng = np.random.default_rng(seed)
        drawn = [rng.permutation(len(sample))[:_ROWS] for sample in (source, target)]
        source, target = source[drawn[0]], target[drawn[1]]
        weights = None if weights is None else weights[drawn[0]]
        on_source = np.ones(len(source)) if weights is None else weights
        each = np.concatenate(
            [on_source / on_source.mean(), np.full(len(target), len(source) / len(target))]
        )
        is_target = np.repeat([0, 1], [len(source), len(target)])
        scores = _out_of_fold(np.vstack([source, target]), is_target, each, folds, seed)
        n_source = float(each[: len(source)].sum() ** 2 / (each[: len(source)] ** 2).sum())
        area = float(roc_auc_score(is_target, scores, sample_weight=each))
        called = scores > 0.5
        hit = float(called[is_target == 1].mean())
        miss = float(np.average(called[is_target == 0], weights=each[is_target == 0]))
        spread = hit * (1 - hit) / len(target) + miss * (1 - miss) / n_source
        return cls(area, _area_error(area, n_source, len(target)), hit - miss, float(spread**0.5))


def _out_of_fold(
    points: FloatArray, is_target: IntArray, weights: FloatArray, folds: int, seed: int
) -> FloatArray:
    """The chance of each row to be of the target, by classifiers fitted without its fold."""
    found = np.empty(len(points))
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for kept, left in parts.split(points, is_target):
        linear = LogisticRegression(C=0.1, max_iter=1000)
        trees = ExtraTreesClassifier(100, min_samples_leaf=5, random_state=seed)
        votes = [
            model.fit(points[kept], is_target[kept], sample_weight=weights[kept])
            for model in (linear, trees)
        ]
        found[left] = np.mean([vote.predict_proba(points[left])[:, 1] for vote in votes], axis=0)
    return found


def _area_error(area: float, n_source: float, n_target: float) -> float:
    """The standard error of an area under the curve (Hanley and McNeil 1982)."""
    targets, sources = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (
        area * (1 - area)
        + (n_target - 1) * (targets - area**2)
        + (max(n_source, 1.0) - 1) * (sources - area**2)
    )
    return float((max(spread, 0.0) / (max(n_source, 1.0) * n_target)) ** 0.5)
