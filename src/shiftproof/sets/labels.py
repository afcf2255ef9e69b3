"""Sets of classes for a classifier: each class enters at its score.

With probabilities p_k of K classes, r_k the rank of class k from the most probable one, and U
uniform on (0, 1) for each row (1 for deterministic scores),

    LAC     1 - p_k
    APS     sum of p_j over classes j ranked before k, + U p_k
    RAPS    APS + penalty (r_k - free)_+
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Array, Table
from shiftproof._types import ArrayLike, BoolArray, FloatArray
from shiftproof.contracts import Predictor, Traits
from shiftproof.errors import InputError
from shiftproof.keys import Draws, uniforms
from shiftproof.sets import given
from shiftproof.sets.entries import EntryNest, EntrySets
from shiftproof.sets.finished import thresholds_of

#: Probabilities may miss a sum of 1 by so much: single precision.
_SUM = 1e-3


class LabelScore(Protocol):
    """From probabilities (n, K) to the threshold at which each class enters."""

    def entries(self, probabilities: FloatArray, draws: Draws) -> FloatArray:
        """The score of every class, at least 0."""


@dataclass(frozen=True)
class LAC:
    """1 - p_k: the smallest sets on average (Sadinle, Lei and Wasserman 2019). They may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from shiftproof.keys import Draws
    >>> shp.LAC().entries(np.array([[0.5, 0.3, 0.2]]), Draws("prediction", 1))
    array([[0.5, 0.7, 0.8]])
    """

    def entries(self, probabilities: FloatArray, draws: Draws) -> FloatArray:
        """1 - p_k."""
        del draws
        return np.maximum(1.0 - probabilities, 0.0)


@dataclass(frozen=True)
class APS:
    """The probability of the class and of all that are more probable (Romano and others 2020).

    Classes of equal probability are ranked in their order.

    Parameters
    ----------
    randomized : bool
        Count a random part U of the class's own probability. Smaller sets, which may be empty. A
        seed is needed; and rows that are served one by one need ids of their own.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from shiftproof.keys import Draws
    >>> shp.APS().entries(np.array([[0.3, 0.5, 0.2]]), Draws("prediction", 1))
    array([[0.8, 0.5, 1. ]])
    """

    randomized: bool = False

    def __post_init__(self) -> None:
        _checks.flag("randomized", self.randomized)

    def entries(self, probabilities: FloatArray, draws: Draws) -> FloatArray:
        """Cumulated probabilities, in the order of classes."""
        order = _ranking(probabilities)
        return _in_order_of_classes(self.ranked(probabilities, order, draws), order)

    def ranked(self, probabilities: FloatArray, order: Array, draws: Draws) -> FloatArray:
        """Cumulated probabilities, from the most probable class on."""
        ranked = np.take_along_axis(probabilities, order, axis=1)
        before = np.concatenate(
            [np.zeros((len(ranked), 1)), np.cumsum(ranked, axis=1)[:, :-1]], axis=1
        )
        share = uniforms(draws.keys("score"))[:, None] if self.randomized else 1.0
        scores: FloatArray = before + share * ranked
        return scores


@dataclass(frozen=True)
class RAPS:
    """APS with a penalty on low ranks (Angelopoulos and others 2021), for many classes.

    Parameters
    ----------
    penalty : float
        Added for each rank beyond `free`.
    free : int
        So many ranks are free of penalty.
    randomized : bool
        As in :class:`APS`.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from shiftproof.keys import Draws
    >>> score = shp.RAPS(penalty=0.1, free=1)
    >>> score.entries(np.array([[0.3, 0.5, 0.2]]), Draws("prediction", 1)).round(6)
    array([[0.9, 0.5, 1.2]])
    """

    penalty: float = 0.01
    free: int = 5
    randomized: bool = False

    def __post_init__(self) -> None:
        _checks.flag("randomized", self.randomized)
        for name in ("penalty", "free"):
            value = _checks.scalar(name, getattr(self, name), "a number of at least 0")
            if not 0 <= value < np.inf:
                got = f"{value!r}"
                raise InputError(name, "a finite number of at least 0", got, "0 leaves it out")

    def entries(self, probabilities: FloatArray, draws: Draws) -> FloatArray:
        """Cumulated probabilities and penalties, in the order of classes."""
        order = _ranking(probabilities)
        plain = APS(self.randomized).ranked(probabilities, order, draws)
        ranks = np.arange(1, probabilities.shape[1] + 1)
        penalties = self.penalty * np.maximum(ranks - self.free, 0)
        return _in_order_of_classes(plain + penalties, order)


@dataclass(frozen=True, eq=False)
class LabelSets:
    """A family of sets: classes whose score is small enough.

    Parameters
    ----------
    score : LAC, APS or RAPS
    classes : sequence, optional
        The label of each column of probabilities; those of the model, or 0, 1, ... where left out.
    nonempty : bool
        Whether the most probable class is in every set.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> x, y = load_iris(return_X_y=True)
    >>> order = np.random.default_rng(0).permutation(150)
    >>> x, y = x[order], np.array(["setosa", "versicolor", "virginica"])[y[order]]
    >>> model = LogisticRegression(max_iter=1000).fit(x[:50], y[:50])
    >>> controller = shp.RiskController(model, shp.LabelSets(shp.APS()), shp.Miscoverage())
    >>> sets = controller.calibrate(x[50:100], y[50:100]).predict(x[100:], alpha=0.1)
    >>> sets.labels()[:2]
    [['virginica'], ['setosa']]
    """

    score: LabelScore = field(default_factory=LAC)
    classes: Sequence[object] | ArrayLike | None = None
    nonempty: bool = False

    def __post_init__(self) -> None:
        _checks.flag("nonempty", self.nonempty)
        if isinstance(self.score, type) or not hasattr(self.score, "entries"):
            got = getattr(self.score, "__name__", type(self.score).__name__)
            repair = "an object, for example LAC()"
            raise InputError("score", "LAC, APS or RAPS", got, repair)
        if self.classes is not None:
            names = _named(self.classes)
            if names.ndim != 1 or len(set(names.tolist())) < len(names):
                got = f"{names.tolist()!r:.60}"
                raise InputError("classes", "labels, each of them once", got, "name each column")

    @property
    def makes(self) -> type:
        """Nests of classes."""
        return ClassNest

    @property
    def traits(self) -> Traits:
        """Labels without a distance."""
        return Traits(None)

    def nest(self, predictor: Predictor, table: Table, draws: Draws) -> ClassNest:
        """The score of every class for each row."""
        found = _probabilities(predictor.probabilities(table, draws))
        entries = _scores(self.score, found, draws)
        if self.nonempty:
            best = np.arange(found.shape[1]) == found.argmax(axis=1)[:, None]
            entries = np.where(best, 0.0, entries)
        return ClassNest(entries, 0.0, self._names(predictor, found.shape[1]))

    def _names(self, predictor: Predictor, count: int) -> Array:
        given_names = self.classes if self.classes is not None else predictor.classes
        names = np.arange(count) if given_names is None else _named(given_names)
        if len(names) != count:
            raise InputError(
                "classes",
                f"{count} labels, one for each column of probabilities",
                f"{len(names)}",
                "name the columns of predict_proba in their order",
            )
        return names


@dataclass(frozen=True, eq=False, repr=False)
class ClassNest(EntryNest):
    """Sets of classes, made by :class:`LabelSets`."""

    classes: Array

    def entry(self, y: object) -> FloatArray:
        """The score of the true class."""
        places = given.codes(y, len(self), self.classes)
        return self.entries[np.arange(len(self)), places]

    def truth(self, y: object) -> BoolArray:
        """The true class, marked."""
        places = given.codes(y, len(self), self.classes)
        marked: BoolArray = np.arange(self.labels) == places[:, None]
        return marked

    def at(self, thresholds: FloatArray) -> ClassSets:
        """The sets at one threshold for each row."""
        return ClassSets(self, thresholds_of(thresholds, self))


class ClassSets(EntrySets):
    """Finished sets of classes."""

    nest: ClassNest

    def labels(self) -> list[list[object]]:
        """The labels in each set."""
        names = self.nest.classes
        return [names[inside].tolist() for inside in self.members]

    def geometry(self) -> dict[str, Any]:
        """One column for each class: whether it is in the set."""
        names = self.nest.classes.tolist()
        return {f"has_{name}": self.members[:, place] for place, name in enumerate(names)}


def _probabilities(values: ArrayLike) -> FloatArray:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] < 2:
        raise InputError(
            "probabilities",
            "one row for each input, one column for each class",
            f"shape {found.shape}",
            "for two classes pass both probabilities",
        )
    inside = (found >= 0) & (found <= 1 + _SUM)
    _checks.demand(
        "probabilities", found, inside, "values from 0 to 1", "apply softmax to the logits"
    )
    sums = found.sum(axis=1)
    near = np.abs(sums - 1) <= _SUM
    repair = "several labels may be true at once? then use Masks; else normalise"
    _checks.demand("sums of probabilities", sums, near, "1", repair)
    return found


def _named(classes: Sequence[object] | ArrayLike) -> Array:
    """Labels as they are: numbers beside text stay numbers."""
    names = np.asarray(classes)
    mixed = names.dtype.kind in "US" and not all(isinstance(each, str) for each in classes)  # type: ignore[union-attr]
    return np.asarray(classes, dtype=object) if mixed else names


def _scores(score: LabelScore, probabilities: FloatArray, draws: Draws) -> FloatArray:
    """The score of every class, checked: a score may be the user's own."""
    entries = _checks.floats("scores", score.entries(probabilities, draws))
    if entries.shape != probabilities.shape:
        expected, got = f"shape {probabilities.shape}", f"shape {entries.shape}"
        raise InputError("scores", expected, got, "one score for each class of each row")
    repair = "shift the score: only the order of its values matters"
    _checks.demand("scores", entries, entries >= 0, "scores of at least 0", repair)
    return entries


def _ranking(probabilities: FloatArray) -> Array:
    """The classes of each row from the most probable one on; equal ones in their order."""
    return np.argsort(-probabilities, axis=1, kind="stable")


def _in_order_of_classes(ranked: FloatArray, order: Array) -> FloatArray:
    found = np.empty_like(ranked)
    np.put_along_axis(found, order, ranked, axis=1)
    return found
