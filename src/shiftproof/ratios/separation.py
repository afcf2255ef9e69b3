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

#: So many rows of each sample are looked at, by so many trees.
_ROWS, _TREES = 4000, 100

#: Areas from cross-validation vary more than those of fixed scores, as each row is judged once and
#: serves the fits for all other folds: 1.2 to 1.5 times as much, measured on alike samples.
_CROSSED = 2**0.5


@dataclass(frozen=True)
class Separation:
    """Two samples through the eyes of a classifier, each row judged by a fit without it.

    Attributes
    ----------
    auc, auc_error : float
        The chance that a target row scores higher than a source row that the same fit judges, .5
        for alike samples, on average over folds; and its standard error. Scores of different fits
        are not compared: on alike samples that would give less than .5.
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
        trees: int = _TREES,
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
        points = np.vstack([source, target])
        scores, fold = _out_of_fold(points, is_target, each, folds, seed, trees)
        n_source = float(each[: len(source)].sum() ** 2 / (each[: len(source)] ** 2).sum())
        area = _mean_area(scores, is_target, each, fold)
        called = scores > 0.5
        hit = float(called[is_target == 1].mean())
        miss = float(np.average(called[is_target == 0], weights=each[is_target == 0]))
        spread = hit * (1 - hit) / len(target) + miss * (1 - miss) / n_source
        error = _CROSSED * _area_error(area, n_source, len(target))
        return cls(area, error, hit - miss, float(spread**0.5))

    @property
    def is_told(self) -> bool:
        """Whether a classifier tells the samples apart, beyond two standard errors."""
        return self.auc - 0.5 > 2 * self.auc_error


def _out_of_fold(
    points: FloatArray, is_target: IntArray, weights: FloatArray, folds: int, seed: int, trees: int
) -> tuple[FloatArray, IntArray]:
    """The chance of each row to be of the target, by classifiers without its fold; and the fold."""
    found, fold = np.empty(len(points)), np.empty(len(points), dtype=np.int64)
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for number, (kept, left) in enumerate(parts.split(points, is_target)):
        linear = LogisticRegression(C=0.1, max_iter=1000)
        forest = ExtraTreesClassifier(trees, min_samples_leaf=5, random_state=seed)
        votes = [
            model.fit(points[kept], is_target[kept], sample_weight=weights[kept])
            for model in (linear, forest)
        ]
        found[left] = np.mean([vote.predict_proba(points[left])[:, 1] for vote in votes], axis=0)
        fold[left] = number
    return found, fold


def _mean_area(
    scores: FloatArray, is_target: IntArray, weights: FloatArray, fold: IntArray
) -> float:
    """The area under the curve of each fold that has weight in both samples, on average."""
    areas = []
    for number in np.unique(fold):
        rows = fold == number
        if weights[rows & (is_target == 0)].any():
            areas.append(roc_auc_score(is_target[rows], scores[rows], sample_weight=weights[rows]))
    return float(np.mean(areas))


def _area_error(area: float, n_source: float, n_target: float) -> float:
    """The standard error of an area under the curve (Hanley and McNeil 1982)."""
    targets, sources = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (
        area * (1 - area)
        + (n_target - 1) * (targets - area**2)
        + (max(n_source, 1.0) - 1) * (sources - area**2)
    )
    return float((max(spread, 0.0) / (max(n_source, 1.0) * n_target)) ** 0.5)
