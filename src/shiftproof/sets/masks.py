"""Sets of labels or pixels by one threshold over their scores.

Gamma(x, lam) = { k : score_k(x) >= 1 - lam },   so that label k enters at 1 - score_k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof._tables import Array, Table
from shiftproof._types import BoolArray, FloatArray
from shiftproof.contracts import Predictor, Traits
from shiftproof.errors import InputError
from shiftproof.keys import Draws
from shiftproof.sets import given
from shiftproof.sets.entries import EntryNest, EntrySets
from shiftproof.sets.finished import thresholds_of


@dataclass(frozen=True)
class Masks:
    """A family of sets for many labels at once: the labels, or pixels, that score high enough.

    Scores are what ``predict_proba`` or a function gives: (n, K) for labels, (n, height, width) for
    images, a list of two-column arrays as multi-output classifiers give them. Any numbers will do
    in which larger means likelier. Labels are 0 or 1, in the shape of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((300, 8, 8)) < 0.3                      # images of 64 pixels
    >>> image = np.clip(truth + rng.normal(0, 0.3, truth.shape), 0, 1)
    >>> controller = shp.RiskController(lambda x: x, shp.Masks(), shp.FalseNegativeRate())
    >>> masks = controller.calibrate(image[:200], truth[:200]).predict(image[200:], alpha=0.1)
    >>> masks.members.shape, float(masks.threshold[0].round(2))    # pixels of at least .6
    ((100, 8, 8), 0.4)
    """

    @property
    def makes(self) -> type:
        """Nests of masks."""
        return MaskNest

    @property
    def traits(self) -> Traits:
        """Labels without a distance."""
        return Traits(None)

    def nest(self, predictor: Predictor, table: Table, draws: Draws) -> MaskNest:
        """Where each label of each row enters."""
        scores: Array = predictor.probabilities(table, draws)
        if scores.ndim < 2 or 0 in scores.shape[1:]:
            raise InputError(
                "predictions",
                "scores of several labels for each row",
                f"shape {scores.shape}",
                "for one label of many classes use LabelSets",
            )
        flat = scores.reshape(len(scores), math.prod(scores.shape[1:]))
        return MaskNest(1.0 - flat, -np.inf, scores.shape[1:])


@dataclass(frozen=True, eq=False, repr=False)
class MaskNest(EntryNest):
    """Sets of labels or pixels, made by :class:`Masks`."""

    image: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row: one number of labels, or height and width."""
        return self.image

    def entry(self, y: object) -> FloatArray:
        """The threshold from which on all true labels are in the mask; -inf where none is true."""
        found: FloatArray = np.where(self.truth(y), self.entries, -np.inf).max(axis=1)
        return found

    def truth(self, y: object) -> BoolArray:
        """The true labels, marked; flattened rows."""
        return given.marks(y, (len(self), *self.shape))

    def at(self, thresholds: FloatArray) -> MaskSets:
        """The masks at one threshold for each row."""
        return MaskSets(self, thresholds_of(thresholds, self))


class MaskSets(EntrySets):
    """Finished masks."""

    nest: MaskNest

    def geometry(self) -> dict[str, Any]:
        """One column for each label, by position; for images the size alone."""
        if len(self.nest.shape) > 1:
            return {"size": self.size()}
        return {f"has_{place}": self.flat[:, place] for place in range(self.nest.labels)}
