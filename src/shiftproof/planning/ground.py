"""What a bound on the size of sets stands on: a band, sizes, and what the rule asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shiftproof import theory
from shiftproof._tables import Table
from shiftproof._types import FloatArray
from shiftproof.contracts import Certainty, Ratio, WorstCase
from shiftproof.controller import RiskController
from shiftproof.errors import InputError
from shiftproof.ratios.groups import GroupRatio
from shiftproof.ratios.labels import labels_of
from shiftproof.risk import LossCurves
from shiftproof.theory import Band, SizeBound, SizeCurve
from shiftproof.theory.generalization import table_of_losses
from shiftproof.worst_case import Constant

#: The grid of thresholds: fixed by the label space and the number, before any label is seen.
_THRESHOLDS, _FINEST = 80, 1e-4

#: The part of delta that is for the risk of the model; the rest is for the inputs.
_FOR_THE_RISK = 0.9


@dataclass(frozen=True, eq=False)
class Ground:
    """A band from a labelled sample, and sizes at target inputs that it does not depend on.

    It serves every worst case: `worst` is Lworst, which the constant does not ask for.
    """

    band: Band
    sizes: SizeCurve
    ratio_max: float
    ceiling: FloatArray | None
    worst: FloatArray
    delta_inputs: float

    @classmethod
    def of(
        cls,
        controller: RiskController,
        losses: LossCurves,
        table: Table,
        nest: Any,
        weights: Any,
        delta: float,
    ) -> Ground:
        """From losses of a sample with these inputs, and a nest and weights at target inputs."""
        ratio_max = demand_known_scale(controller.ratio)
        if math.isinf(losses.bound):
            repair = "cap the loss, or bound the label space"
            raise InputError("loss", "a bounded one", "inf", repair)
        grid, share = _grid(nest, losses), delta * _FOR_THE_RISK
        return cls(
            _band(controller.ratio, table, losses, grid, share, ratio_max),
            SizeCurve.of(nest, grid, weights=np.asarray(weights)),
            ratio_max,
            _ceiling(losses, grid),
            table_of_losses(controller.loss.worst(nest), grid),
            delta - share,
        )

    def bound(self, alpha: float, n_cal: int, worst_case: WorstCase) -> SizeBound:
        """The repaired bound for so many calibration examples and this worst case.

        Directional sets reach no farther than those of the envelope, whose bound is theirs too.
        """
        return theory.repaired_bound(
            self.band,
            self.sizes,
            alpha=alpha,
            n_cal=n_cal,
            ratio_max=self.ratio_max,
            ceiling=self.ceiling,
            worst=None if isinstance(worst_case, Constant) else self.worst,
            delta_inputs=self.delta_inputs,
        )


def demand_known_scale(ratio: Ratio[Any]) -> float:
    """Wmax, of a ratio that is known with its scale; an error for others."""
    if isinstance(ratio, GroupRatio) and ratio.assumption.certainty is Certainty.GIVEN_WEIGHTS:
        largest = max(ratio.ratio_of(group) for group in ratio.groups)
        if math.isinf(largest):
            repair = "a group of the target alone gets the worst case: leave it out, and say so"
            raise InputError("ratio", "groups that the source has", "one it has not", repair)
        return largest
    if ratio.columns == () and ratio.assumption.certainty is Certainty.GIVEN_WEIGHTS:
        return 1.0
    raise InputError(
        "ratio",
        "rates of groups that are known, or NoShift",
        type(ratio).__name__,
        "a certificate needs the scale of the ratio (E w = 1) and its largest value; plan(...) "
        "says what is expected under any ratio",
    )


def _grid(nest: Any, losses: LossCurves) -> FloatArray:
    """Thresholds that the inputs and the label space alone decide, finer towards the lower end."""
    ends = nest.whole()
    far = float(np.max(ends)) if np.isfinite(ends).all() else math.inf
    if math.isinf(far) or math.isinf(losses.lower):
        repair = "give the sets a range, a box or a polygon"
        raise InputError("sets", "a label space with an end", "one without", repair)
    steps = np.geomspace(_FINEST, 1.0, _THRESHOLDS)
    return np.append(losses.lower, losses.lower + (far - losses.lower) * steps)


def _band(
    ratio: Ratio[Any],
    table: Table,
    losses: LossCurves,
    grid: FloatArray,
    delta: float,
    ratio_max: float,
) -> Band:
    """The better one of bets on weighted losses and of a band for each group."""
    if not isinstance(ratio, GroupRatio):
        return theory.betting_band(losses, grid, delta)
    bets = partial(theory.betting_band, weights=ratio.weights(table.native()), ratio_max=ratio_max)
    betting = bets(losses, grid, delta / 2)
    rates = {group: ratio.target_rate(group) for group in ratio.groups}
    try:
        groups = labels_of(ratio.group, table)
        grouped = theory.group_band(losses, groups, rates, grid, delta / 2)
    except InputError:  # losses of another form: bets alone
        return bets(losses, grid, delta)
    values = np.minimum(betting.values, grouped.values)
    basis = f"the better of {betting.basis}, and {grouped.basis}"
    return Band(grid, grouped.estimate, values, losses.bound, delta, basis)


def _ceiling(losses: LossCurves, grid: FloatArray) -> FloatArray | None:
    """The largest loss at each threshold, where a distance says it: Rmax - r."""
    plain = len(losses.slopes) and (losses.slopes == 1).all() and np.isinf(losses.heights).all()
    return np.maximum(losses.bound - (grid - losses.lower), 0.0) if plain else None
