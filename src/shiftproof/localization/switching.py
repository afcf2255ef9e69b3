"""Base stations that are switched off together: what is heard then, and the shift that it makes.

One act for each message switches all stations of a set B off, or none of them. With p the rate of
this where labels were collected, and p' the rate in use, a message x with x_act = 1{B is off} has

    w(x) = p' / p  if x_act = 1,    (1 - p') / (1 - p)  if x_act = 0,

whatever else the network and its devices do, as long as acts do not depend on the message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from shiftproof import _checks
from shiftproof._tables import Column
from shiftproof._types import ArrayLike, BoolArray, FloatArray, IntArray
from shiftproof.errors import InputError
from shiftproof.localization.fingerprints import Fingerprints, messages_of
from shiftproof.localization.representations import Representation
from shiftproof.ratios.groups import GroupRatio
from shiftproof.risk.sums import rational


@dataclass(frozen=True)
class Switched:
    """Messages of which some were sent while the stations of B were off.

    Made by :class:`Switching`.

    Attributes
    ----------
    fingerprints : Fingerprints
        What was heard, with the stations of B silent where they were off.
    off : array (n,)
        x_act: whether they were off.
    name : str
        What x_act is called in tables.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Fingerprints, Linear, Switching
    >>> messages = Fingerprints([[-120.0, -99.0]] * 2, [[0.0, 0.0]] * 2, ["tower", "mast"])
    >>> switched = Switching(["mast"], training=0.5, use=0.9).applied(messages, [True, False])
    >>> linear = Linear().between(-148, -50)
    >>> switched.inputs(linear).round(3)  # x_act stands last
    array([[0.293, 0.   , 1.   ],
           [0.293, 0.505, 0.   ]])
    >>> switched.table(linear, "pandas").round(3)
       tower   mast  x_act
    0  0.293  0.000      1
    1  0.293  0.505      0
    """

    fingerprints: Fingerprints
    off: BoolArray
    name: str = "x_act"

    def __len__(self) -> int:
        return len(self.fingerprints)

    @property
    def places(self) -> FloatArray:
        """The labels, kilometres east and north, (n, 2)."""
        return self.fingerprints.places

    @property
    def received(self) -> BoolArray:
        """Which messages any station heard.

        Those that none heard stay in the data, as inputs of zeros. A network that never sees them
        may leave them out, of training and calibration and in use alike: ``take(received)``. The
        ratio is then the same up to one constant, which does not matter.
        """
        return self.fingerprints.received

    @property
    def column(self) -> int:
        """The place of x_act in the array of inputs: the last."""
        return len(self.fingerprints.stations)

    def take(self, rows: IntArray | BoolArray) -> Switched:
        """These messages, by position or by a mask."""
        return Switched(self.fingerprints.take(rows), self.off[rows], self.name)

    def inputs(self, representation: Representation) -> FloatArray:
        """An array of inputs, (n, d + 1): a column for each station, and x_act as the last."""
        return np.column_stack([representation.values(self.fingerprints), self.off])

    def table(self, representation: Representation, backend: str) -> Any:
        """A table of inputs: a column named for each station, and x_act.

        Parameters
        ----------
        representation : Representation
        backend : str
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
        """
        stations = self.fingerprints.stations
        if self.name in stations:
            got = f"a station called {self.name!r}"
            raise InputError("name", "a name that no station has", got, "Switching(name=...)")
        if backend not in _BACKENDS:
            expected = f"one of {', '.join(_BACKENDS)}"
            raise InputError("backend", expected, f"{backend!r}", "inputs() gives an array")
        values = representation.values(self.fingerprints)
        columns = {name: values[:, place].copy() for place, name in enumerate(stations)}
        columns[self.name] = self.off.astype(np.int64)
        try:
            frame = nw.from_dict(columns, backend=backend)  # type: ignore[arg-type] # checked
        except ImportError as cause:
            repair = f"install {backend}; inputs() gives an array and needs nothing"
            raise InputError("backend", "a library that is installed", backend, repair) from cause
        return frame.to_native()


@dataclass(frozen=True)
class Switching:
    """Which stations may be off, and how often: when labels were collected, and in use.

    Parameters
    ----------
    stations : sequence of str
        The set B. They are off together or on together.
    training : float
        Probability that they are off while labels are collected, those of calibration included.
    use : float
        Probability that they are off in use.
    name : str
        What to call x_act in tables.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Simulator, Switching
    >>> rng = np.random.default_rng(0)
    >>> messages = Simulator().build(rng).messages(1000, rng)
    >>> switching = Switching(messages.ranked[20:40], training=0.5, use=0.9)
    >>> labelled = switching.in_training(messages, rng)
    >>> silent = labelled.fingerprints.rssi[labelled.off][:, messages.positions(switching.stations)]
    >>> bool(np.isnan(silent).all())
    True
    >>> switching.largest_ratio, switching.ratio(labelled.column).ratio_of(0)
    (1.8, 0.2)
    """

    stations: tuple[str, ...]
    training: float
    use: float
    name: str = "x_act"

    def __init__(
        self, stations: Sequence[str], training: float, use: float, name: str = "x_act"
    ) -> None:
        if isinstance(stations, str) or not len(stations):
            got = repr(stations) if isinstance(stations, str) else "none"
            raise InputError("stations", "names of stations", got, 'for example ["BS 3", "BS 17"]')
        if len(set(stations)) < len(stations):
            raise InputError("stations", "each station once", f"{list(stations)}", "drop repeats")
        if not isinstance(name, str) or not name:
            raise InputError("name", "a name", f"{name!r}", "leave it out for 'x_act'")
        object.__setattr__(self, "stations", tuple(stations))
        object.__setattr__(self, "training", _rate("training", training))
        object.__setattr__(self, "use", _rate("use", use))
        object.__setattr__(self, "name", name)

    def in_training(self, fingerprints: Fingerprints, rng: np.random.Generator) -> Switched:
        """Messages as they are where labels are collected: each an act at the rate `training`."""
        return self._drawn(fingerprints, self.training, rng)

    def in_use(self, fingerprints: Fingerprints, rng: np.random.Generator) -> Switched:
        """Messages as they are in use: each an act of its own, at the rate `use`."""
        return self._drawn(fingerprints, self.use, rng)

    def applied(self, fingerprints: Fingerprints, off: ArrayLike) -> Switched:
        """Messages with the stations of B silenced where they are off."""
        acts = _acts(off, len(messages_of("fingerprints", fingerprints)))
        return Switched(fingerprints.silenced(self.stations, acts), acts, self.name)

    def observed(self, fingerprints: Fingerprints, off: ArrayLike) -> Switched:
        """Messages of a network that did switch; an error where a station that was off heard one.

        Examples
        --------
        >>> from shiftproof.localization import Fingerprints, Switching
        >>> messages = Fingerprints([[-120.0, -99.0]], [[0.0, 0.0]], ["tower", "mast"])
        >>> Switching(["mast"], training=0.5, use=0.9).observed(messages, [True])
        Traceback (most recent call last):
        ...
        shiftproof.errors.InputError: off: expected messages that no station of B heard while off, \
got message 0, heard by 'mast'; is 1 meant for on, or is a clock wrong?
        """
        acts = _acts(off, len(messages_of("fingerprints", fingerprints)))
        heard = fingerprints.heard[:, fingerprints.positions(self.stations)] & acts[:, None]
        if heard.any():
            row, station = np.argwhere(heard)[0]
            got = f"message {row}, heard by {self.stations[station]!r}"
            expected = "messages that no station of B heard while off"
            raise InputError("off", expected, got, "is 1 meant for on, or is a clock wrong?")
        return Switched(fingerprints, acts, self.name)

    def under(self, use: float) -> Switching:
        """The same stations, off at another rate in use."""
        return replace(self, use=use)

    def ratio(self, column: Column | None = None) -> GroupRatio:
        """The likelihood ratio, read from x_act alone.

        Parameters
        ----------
        column : str or int, optional
            Where x_act stands: its name in tables, which need none said, or its place in arrays,
            ``Switched.column``.
        """
        return GroupRatio(
            self.name if column is None else column,
            source={1: self.training, 0: _complement(self.training)},
            target={1: self.use, 0: _complement(self.use)},
        )

    def scenarios(
        self, rates: Mapping[str, float] | Sequence[float], column: Column | None = None
    ) -> dict[str | float, GroupRatio]:
        """A ratio for each of several rates in use, for ``calibrated.under(ratio)``.

        Parameters
        ----------
        rates : mapping from name to rate, or sequence of rates
        column : str or int, optional
            As for :meth:`ratio`.

        Examples
        --------
        >>> from shiftproof.localization import Switching
        >>> switching = Switching(["mast"], training=0.5, use=0.5)
        >>> found = switching.scenarios({"day": 0.5, "night": 0.9})
        >>> {name: ratio.ratio_of(1) for name, ratio in found.items()}
        {'day': 1.0, 'night': 1.8}
        """
        named: dict[str | float, float] = {}
        try:
            named.update(rates if isinstance(rates, Mapping) else zip(rates, rates, strict=True))
        except TypeError as cause:
            got, repair = f"{rates!r}", "for example [.5, .75, .9]; under(.9).ratio() is one alone"
            raise InputError("rates", "a sequence or a mapping of rates", got, repair) from cause
        if not named:
            raise InputError("rates", "at least one rate", "none", "for example [.5, .75, .9]")
        return {name: self.under(rate).ratio(column) for name, rate in named.items()}

    @property
    def largest_ratio(self) -> float:
        """Wmax = max(p' / p, (1 - p') / (1 - p)); inf where a state occurs in use alone."""
        ratio = self.ratio()
        return max(ratio.ratio_of(act) for act in (0, 1))

    def _drawn(self, fingerprints: Fingerprints, rate: float, rng: np.random.Generator) -> Switched:
        _checks.instance("rng", rng, np.random.Generator, "pass numpy.random.default_rng(seed)")
        count = len(messages_of("fingerprints", fingerprints))
        return self.applied(fingerprints, rng.random(count) < rate)


_BACKENDS = ("pandas", "polars", "pyarrow")


def _rate(name: str, value: float) -> float:
    rate = _checks.scalar(name, value, "pass the share of time in which stations are off")
    if not 0 <= rate <= 1:
        raise InputError(name, "a probability", f"{value!r}", "pass a share, not a per cent")
    return rate


def _complement(rate: float) -> float:
    """1 - rate, both read as the decimals that they print as: 1 - .9 is .1."""
    return float(1 - rational(rate))


def _acts(off: ArrayLike, count: int) -> BoolArray:
    """One truth value for each message, from truth values or from 0 and 1."""
    raw = np.asarray(off)
    array = _checks.vector("off", raw.astype(np.int64) if raw.dtype == bool else raw, length=count)
    good = (array == 0) | (array == 1)
    _checks.demand("off", array, good, "0 or 1", "1 where the stations of B are off")
    acts: BoolArray = array == 1
    return acts
