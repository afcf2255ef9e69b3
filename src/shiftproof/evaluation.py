"""What finished sets did on labelled points: loss and size, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from shiftproof import _checks
from shiftproof._types import BoolArray, FloatArray
from shiftproof.confidence import probability, rate_interval
from shiftproof.contracts import Certainty


@dataclass(frozen=True)
class Measured:
    """A mean over test points, with an interval for what it estimates.

    Attributes
    ----------
    value, low, high : float
    certainty : Certainty
        CERTIFIED for Clopper-Pearson bounds on a rate; ESTIMATED for Student's interval, which is
        right for many points.
    sentence : str

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> print(shp.Measured.of(np.array([0.0, 1.0, 0.0, 0.0]), 0.05, "miscoverage", most=1.0))
    0.25 [0.00631, 0.806] miscoverage (certified at 1 - delta)
    """

    value: float
    low: float
    high: float
    certainty: Certainty
    sentence: str

    @classmethod
    def of(
        cls, values: FloatArray, delta: float, sentence: str, *, most: float = math.inf
    ) -> Measured:
        """The mean of independent values from 0 to `most`, and its interval at 1 - delta.

        Where all values are 0 or `most`, the largest that is possible, it is that of a rate: values
        in between count as coins of their mean, so it fails no more often for having been seen.
        """
        n, mean = len(values), float(np.mean(values))
        at_most = values == most
        if math.isfinite(most) and (at_most | (values == 0)).all():
            low, high = rate_interval(int(at_most.sum()), n, delta)
            return cls(mean, low * most, high * most, Certainty.CERTIFIED, sentence)
        if n < 2 or not math.isfinite(mean):
            return cls(mean, 0.0, most, Certainty.ESTIMATED, sentence)
        half = float(student.isf(delta / 2, n - 1) * values.std(ddof=1) / math.sqrt(n))
        low, high = max(mean - half, 0.0), min(mean + half, most)  # where values can lie
        return cls(mean, low, high, Certainty.ESTIMATED, sentence)

    def __str__(self) -> str:
        return (
            f"{self.value:.4g} [{self.low:.3g}, {self.high:.3g}] {self.sentence} ({self.certainty})"
        )


@dataclass(frozen=True)
class Evaluation:
    """Realised figures of one calibration on labelled test points, made by ``evaluate``.

    The promise is about the mean over calibration draws; these figures are about the one that was
    made. Its risk may lie above alpha, by chance, though the promise holds.

    Attributes
    ----------
    alpha : float
        The promise; the mean where points had their own.
    risk : Measured
    size : Measured
    whole : Measured
        The share of sets that are the whole label space.
    relative_size : Measured or None
        None where the label space has no end.
    points : int

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 1))
    >>> y = x[:, 0] + rng.normal(size=400)
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())
    >>> found = controller.calibrate(x[:200], y[:200]).evaluate(x[200:], y[200:], alpha=0.1)
    >>> found.risk.low < 0.1 < found.risk.high
    True
    >>> print(found)
    promised  0.1 on average over calibration draws; this one, on 200 test points:
    risk      0.115 [0.0743, 0.168] mean loss (certified at 1 - delta)
    size      3.131 [3.13, 3.13] mean size (estimated)
    whole     0 [0, 0.0183] share of whole label spaces (certified at 1 - delta)
    """

    alpha: float
    risk: Measured
    size: Measured
    whole: Measured
    relative_size: Measured | None
    points: int

    @classmethod
    def of(
        cls,
        alpha: FloatArray,
        losses: FloatArray,
        sizes: FloatArray,
        whole: BoolArray,
        relative: FloatArray | None,
        bound: float,
        delta: float,
    ) -> Evaluation:
        """From the losses and sizes of all points, and the largest possible loss."""
        share = probability("delta", delta)
        _checks.non_empty("points", losses, "evaluate on at least one labelled point")
        spaces = None
        if relative is not None:
            spaces = Measured.of(relative, share, "mean share of the space", most=1.0)
        wholes = whole.astype(np.float64)
        return cls(
            float(np.mean(alpha)),
            Measured.of(losses, share, "mean loss", most=bound),
            Measured.of(sizes, share, "mean size"),
            Measured.of(wholes, share, "share of whole label spaces", most=1.0),
            spaces,
            len(losses),
        )

    def __str__(self) -> str:
        lines = {
            "promised": f"{self.alpha:.4g} on average over calibration draws; this one, on "
            f"{self.points:,} test points:",
            "risk": self.risk,
            "size": self.size,
            "relative": self.relative_size,
            "whole": self.whole,
        }
        return "\n".join(f"{name:<9} {line}" for name, line in lines.items() if line is not None)
