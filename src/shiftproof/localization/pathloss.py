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
from shiftproof.localization.fingerprints import signals_of


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
    nearest : float
        Kilometres below which the law says nothing: a device closer to the station is heard as from
        there. Where left out 20 m; indoors metres are wanted.

    Examples
    --------
    >>> from shiftproof.localization import PathLoss
    >>> PathLoss(at_one_km=-90.0, exponent=3.5, spread=6.0).mean([1.0, 10.0])
    array([ -90., -125.])
    """

    at_one_km: float
    exponent: float
    spread: float
    nearest: float = 0.02

    def __post_init__(self) -> None:
        for name in ("at_one_km", "exponent", "spread"):
            value = _checks.scalar(name, getattr(self, name), "pass dBm, a power, and dB")
            if not math.isfinite(value) or (name != "at_one_km" and value < 0):
                expected = "a finite number" + ("" if name == "at_one_km" else " of at least 0")
                raise InputError(name, expected, f"{value!r}", "pass dBm, a power, and dB")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "nearest", _above_zero("nearest", self.nearest))

    def mean(self, distance: ArrayLike) -> FloatArray:
        """The signal without its spread, in dBm; below `nearest` it is that at `nearest`."""
        apart = _checks.floats("distance", distance)
        _checks.demand("distance", apart, apart >= 0, "kilometres, at least 0", "pass lengths")
        return np.asarray(
            self.at_one_km - 10 * self.exponent * np.log10(np.maximum(apart, self.nearest))
        )

    @classmethod
    def fit(
        cls,
        distance: ArrayLike,
        rssi: ArrayLike,
        sensitivity: float,
        softness: float = 0.0,
        nearest: float = 0.02,
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
            Kilometres between sender and station, none below `nearest`.
        rssi : array
            dBm; NaN where it was not heard.
        sensitivity : float
            dBm below which a station does not hear; -inf where everything was heard.
        softness : float
            The spread, in dB, of sensitivities around it.
        nearest : float
            As for the class.

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
        closest = _above_zero("nearest", nearest)
        apart = _checks.floats("distance", distance).ravel()
        strength = signals_of(rssi).ravel()
        if strength.shape != apart.shape:
            expected, got = f"{len(apart)} values, one per distance", f"{len(strength)}"
            raise InputError("rssi", expected, got, "pass both alike")
        _checks.demand(
            "distance",
            apart,
            (apart >= closest) & np.isfinite(apart),
            f"finite kilometres of at least {closest:g}, the nearest that the law is for",
            "drop these pairs, or say nearest=.001 where it holds to a metre",
        )
        heard = ~np.isnan(strength)
        sound = ~heard | np.isfinite(strength)
        _checks.demand("rssi", strength, sound, "finite dBm", "pass NaN where it was not heard")
        if len(np.unique(apart[heard])) < 3:
            got = "fewer"
            raise InputError("rssi", "signals heard at three distances", got, "pass more of them")
        floor = _checks.scalar("sensitivity", sensitivity, "pass dBm, -inf where all was heard")
        blur = _checks.scalar("softness", softness, "pass dB, 0 where the limit is sharp")
        if not 0 <= blur < math.inf:
            repair = "pass dB, 0 where the limit is sharp"
            raise InputError("softness", "a finite number of at least 0", f"{blur!r}", repair)
        if not heard.all() and math.isinf(floor):
            got = f"{int((~heard).sum())} not heard"
            raise InputError("sensitivity", "a level above -inf", got, "say what stations hear")
        if not blur and (strength[heard] < floor).any():
            got = f"{float(strength[heard].min()):g} heard"
            repair = "lower it, or say how it varies: softness"
            raise InputError("sensitivity", "a level below all that was heard", got, repair)
        decades = 10 * np.log10(apart)

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
        if not found.success:
            repair = "are these signals of one law? plot them over log distance"
            raise InputError("rssi", "signals with a law of most likelihood", found.message, repair)
        level, exponent, log_spread = found.x
        if exponent < 0:
            got = f"signals that grow with it, exponent {exponent:.3g}"
            repair = "are distances and signals in one order, over a wide enough range?"
            raise InputError("rssi", "signals that weaken with distance", got, repair)
        return cls(float(level), float(exponent), math.exp(log_spread), closest)


def _above_zero(name: str, kilometres: float) -> float:
    value = _checks.scalar(name, kilometres, "pass kilometres, such as .02")
    if not 0 < value < math.inf:
        raise InputError(name, "a finite number above 0", f"{value!r}", "pass kilometres")
    return value


_TIGHT = {"xatol": 1e-6, "fatol": 1e-6, "maxiter": 4000, "maxfev": 4000}
