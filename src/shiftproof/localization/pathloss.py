"""How signals weaken with distance, and how that is learnt from what was heard and what was not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.errors import InputError

#: Closer than this a device is as good as at the station, in kilometres.
_NEAREST = 0.02


@dataclass(frozen=True)
class PathLoss:
    """The log-distance law: at r kilometres a signal has, in dBm,

        x  =  at_one_km  -  10 exponent log10(r)  +  N(0, spread^2).

    Parameters
    ----------
    at_one_km : float
        dBm.
    exponent : float
        2 in free space, 3 to 4 over land.
    spread : float
        dB.

    Examples
    --------
    >>> from shiftproof.localization import PathLoss
    >>> PathLoss(at_one_km=-90.0, exponent=3.5, spread=6.0).mean([1.0, 10.0])
    array([ -90., -125.])
    """

    at_one_km: float
    exponent: float
    spread: float

    def __post_init__(self) -> None:
        for name in ("at_one_km", "exponent", "spread"):
            value = _checks.scalar(name, getattr(self, name), "pass dBm, a power, and dB")
            if not math.isfinite(value) or (name != "at_one_km" and value < 0):
                raise InputError(name, "a finite number", f"{value!r}", "spreads are at least 0")
            object.__setattr__(self, name, value)

    def mean(self, distance: ArrayLike) -> FloatArray:
        """The signal without its spread, in dBm; below 20 m it is that at 20 m."""
        apart = _checks.floats("distance", distance)
        _checks.demand("distance", apart, apart >= 0, "kilometres, at least 0", "pass lengths")
        return np.asarray(
            self.at_one_km - 10 * self.exponent * np.log10(np.maximum(apart, _NEAREST))
        )

    @classmethod
    def fit(
        cls,
        distance: ArrayLike,
        rssi: ArrayLike,
        sensitivity: float,
        softness: float = 0.0,
    ) -> PathLoss:
        """The law of most likelihood, with what was not heard counted as too weak to be heard.

        Least squares of what was heard alone has an exponent that is far too small: of the signals
        at the end of the range only the strong ones are heard. With m(r) the mean, and signals
        taken as independent,

            sum_heard log N(x; m, spread^2)  +  sum_not log Phi((sensitivity - m) / s),

        s^2 = spread^2 + softness^2.

        Parameters
        ----------
        distance : array
            Kilometres between sender and station.
        rssi : array
            dBm; NaN where it was not heard.
        sensitivity : float
            dBm below which a station does not hear; -inf where everything was heard.
        softness : float
            The spread, in dB, of sensitivities around it.

        Examples
        --------
        >>> import numpy as np
        >>> from shiftproof.localization import PathLoss
        >>> rng = np.random.default_rng(0)
        >>> distance = rng.uniform(1, 40, 4000)
        >>> rssi = PathLoss(-90, 3.5, 6).mean(distance) + 6 * rng.normal(size=4000)
        >>> rssi[rssi < -140] = np.nan
        >>> found = PathLoss.fit(distance, rssi, sensitivity=-140)
        >>> round(found.at_one_km, 1), round(found.exponent, 2), round(found.spread, 1)
        (-90.3, 3.47, 6.1)
        """
        apart = _checks.floats("distance", distance).ravel()
        strength = np.asarray(rssi, dtype=np.float64).ravel()
        if strength.shape != apart.shape:
            expected, got = f"{len(apart)} values, one per distance", f"{len(strength)}"
            raise InputError("rssi", expected, got, "pass both alike")
        heard = ~np.isnan(strength)
        if len(np.unique(apart[heard])) < 3:
            got = "fewer"
            raise InputError("rssi", "signals heard at three distances", got, "pass more of them")
        floor = _checks.scalar("sensitivity", sensitivity, "pass dBm, -inf where all was heard")
        blur = _checks.scalar("softness", softness, "pass dB, 0 where the limit is sharp")
        if not heard.all() and math.isinf(floor):
            got = f"{int((~heard).sum())} not heard"
            raise InputError("sensitivity", "a level above -inf", got, "say what stations hear")
        if not blur and (strength[heard] < floor).any():
            got = f"{float(strength[heard].min()):g} heard"
            repair = "lower it, or say how it varies: softness"
            raise InputError("sensitivity", "a level below all that was heard", got, repair)
        decades = 10 * np.log10(np.maximum(apart, _NEAREST))

        def surprise(parameters: FloatArray) -> float:
            level, exponent, log_spread = parameters
            spread = math.exp(log_spread)
            mean = level - exponent * decades
            silent = norm.logcdf((floor - mean[~heard]) / math.hypot(spread, blur))
            return -float(norm.logpdf(strength[heard], mean[heard], spread).sum() + silent.sum())

        design = np.column_stack([np.ones(heard.sum()), -decades[heard]])
        start, *_ = np.linalg.lstsq(design, strength[heard])
        spread = float(np.std(strength[heard] - design @ start)) or 1e-9
        found = minimize(surprise, [*start, math.log(spread)], method="Nelder-Mead", options=_TIGHT)
        level, exponent, log_spread = found.x
        return cls(float(level), float(exponent), math.exp(log_spread))


_TIGHT = {"xatol": 1e-6, "fatol": 1e-6, "maxiter": 4000, "maxfev": 4000}
