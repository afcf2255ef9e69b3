"""A labelled pilot in place of calibration sets that do not exist yet.

A calibration set of n examples is drawn from the pilot with replacement. An example that is drawn k
times counts k times as much, which the rule knows as a weight: the curve of the pilot is weighed
again for each draw, and sorted only once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shiftproof._tables import Table
from shiftproof._types import FloatArray, IntArray
from shiftproof.contracts import Ratio
from shiftproof.ratios.groups import GroupIntervals, GroupRatio
from shiftproof.ratios.labels import labels_of
from shiftproof.risk import LossCurves, RiskCurve, ThresholdRule


@dataclass(frozen=True, eq=False)
class Pilot:
    """The losses of labelled examples under one ratio, from which calibration sets are drawn.

    Parameters
    ----------
    losses : LossCurves
    table : Table
        Their inputs.
    ratio : Ratio
    """

    losses: LossCurves
    table: Table
    ratio: Ratio[Any]

    @cached_property
    def rule(self) -> ThresholdRule[Any]:
        """The rule of the pilot itself."""
        return self.ratio.curve(self.losses, self.table.native())

    @cached_property
    def chances(self) -> FloatArray:
        """How likely each example is to be drawn: alike, or as its group is known to be.

        Where the rates of groups in the source are known, the groups of a calibration set are drawn
        at these rates, and not at those that the pilot happens to have: what a large test weight
        costs depends on them alone.
        """
        m = len(self.losses)
        known = self.ratio.point if isinstance(self.ratio, GroupIntervals) else self.ratio
        rates = known.known_source if isinstance(known, GroupRatio) else None
        if rates is None:
            return np.full(m, 1 / m)
        labels = labels_of(known.group, self.table).tolist()  # type: ignore[union-attr]
        seen = Counter(labels)
        found = np.array([rates[label] / seen[label] for label in labels])
        return np.asarray(found / found.sum())

    def counts(self, rng: np.random.Generator, n: int) -> IntArray:
        """How often each example is in a calibration set of n."""
        found: IntArray = rng.multinomial(n, self.chances)
        return found

    def drawn(self, counts: FloatArray | IntArray) -> ThresholdRule[Any]:
        """The rule of a calibration set that has each example so often; fractions are allowed
        where the ratio gives plain weights.
        """
        if isinstance(self.rule, RiskCurve):
            return self.rule.reweighted(self.rule.weights * counts)
        rows = np.repeat(np.arange(len(self.losses)), np.rint(counts).astype(np.int64))
        return self.ratio.curve(self.losses.select(rows), self.table.take(rows).native())
