"""A network of base stations and its devices, for everyone who has no data yet.

Stations stand at random in and around a region. A signal weakens by the log-distance law. Hills and
houses add what is the same whenever a device is at a place, and the air what is new in each
message. Most messages come from a few parked devices, the others from the roads between places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray
from shiftproof.errors import InputError
from shiftproof.localization.fingerprints import Fingerprints, Times
from shiftproof.localization.pathloss import PathLoss
from shiftproof.sets.region import Box

_WAVES = 96  # random waves that make up one shadow map
_START, _DAYS = np.datetime64("2018-01-01", "us"), 80


@dataclass(frozen=True, eq=False)
class Simulator:
    """A recipe for networks: how many stations, how signals weaken, how devices live.

    The defaults are set so that the figures of :class:`Summary` come near to those of the rural
    Sigfox data.

    Parameters
    ----------
    region : Box
        Where devices are, in kilometres.
    stations : int
    margin : float
        Stations stand in the region and so many kilometres around it.
    path_loss : PathLoss
        Its spread is that of shadows: fixed for a station and a place.
    shadow_length : float
        Kilometres over which shadows change.
    gain_spread : float
        dB by which stations differ in height and antennas.
    device_spread : float
        dB by which one message differs from another at all stations: how a device lies.
    fading : float
        dB by which one message differs from the next from the same place, at each station anew.
    sensitivity, softness : float
        A station hears a message where its signal, plus noise of so many dB, exceeds this in dBm.
    parked : sequence of float
        The share of messages from each parked device; the rest come from roads.
    roads : int
        Straight ones, between random places.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Simulator
    >>> rng = np.random.default_rng(0)
    >>> network = Simulator(stations=40).build(rng)
    >>> network.messages(500, rng)
    Fingerprints(500 messages at 40 stations)
    """

    region: Box = field(default_factory=lambda: Box([-22.5, -17.0], [22.5, 17.0]))
    stations: int = 137
    margin: float = 40.0
    path_loss: PathLoss = field(default_factory=lambda: PathLoss(-98.0, 4.2, 9.0))
    shadow_length: float = 1.0
    gain_spread: float = 4.0
    device_spread: float = 5.0
    fading: float = 3.0
    sensitivity: float = -139.0
    softness: float = 2.5
    parked: tuple[float, ...] = (0.32, 0.30, 0.22, 0.07, 0.02, 0.02)
    roads: int = 6

    def __post_init__(self) -> None:
        region = _checks.instance("region", self.region, Box, "pass a Box in kilometres")
        if region.dimension != 2:
            got = f"a box of dimension {region.dimension}"
            raise InputError("region", "a box in the plane", got, "Box([0, 0], [40, 30])")
        _checks.instance("path_loss", self.path_loss, PathLoss, "pass a PathLoss")
        object.__setattr__(self, "stations", _checks.whole("stations", self.stations, 1, "say 137"))
        object.__setattr__(self, "roads", _checks.whole("roads", self.roads, 1, "say 8"))
        for name in (
            "margin",
            "shadow_length",
            "gain_spread",
            "device_spread",
            "fading",
            "softness",
        ):
            value = _checks.scalar(name, getattr(self, name), "pass kilometres or dB")
            least = np.nextafter(0, 1) if name == "shadow_length" else 0.0
            if not least <= value < math.inf:
                raise InputError(name, "a finite number above 0", f"{value!r}", "pass km or dB")
            object.__setattr__(self, name, value)
        level = _checks.scalar("sensitivity", self.sensitivity, "pass dBm, for example -139")
        object.__setattr__(self, "sensitivity", level)
        shares = _checks.vector("parked", self.parked)
        if (shares < 0).any() or shares.sum() > 1 + 1e-9:
            got = f"{shares.tolist()}"
            raise InputError("parked", "shares that sum to at most 1", got, "the rest is on roads")
        object.__setattr__(self, "parked", tuple(shares.tolist()))

    def build(self, rng: np.random.Generator) -> Network:
        """One network: where stations, parked devices and roads are, and the shadows."""
        _checks.instance("rng", rng, np.random.Generator, "pass numpy.random.default_rng(seed)")
        low, high = self.region.low, self.region.high
        around = np.full(2, self.margin)
        towers = rng.uniform(low - around, high + around, (self.stations, 2))
        return Network(
            self,
            towers=towers,
            gains=self.gain_spread * rng.standard_normal(self.stations),
            homes=rng.uniform(low, high, (len(self.parked), 2)),
            roads=rng.uniform(low, high, (self.roads, 2, 2)),
            waves=rng.standard_normal((2, _WAVES)) / self.shadow_length,
            shadows=rng.standard_normal((2 * _WAVES, self.stations)) / math.sqrt(_WAVES),
        )


@dataclass(frozen=True, eq=False)
class Network:
    """A simulated network, made by :meth:`Simulator.build`.

    Attributes
    ----------
    simulator : Simulator
    towers : array (d, 2)
        Where stations stand, in kilometres.
    gains : array (d,)
        What each station hears more than another, in dB.
    homes : array (k, 2)
        Where devices are parked.
    roads : array (m, 2, 2)
        Both ends of each road.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Simulator
    >>> rng = np.random.default_rng(0)
    >>> network = Simulator().build(rng)
    >>> network.signals(network.homes, rng).shape
    (6, 137)
    """

    simulator: Simulator
    towers: FloatArray
    gains: FloatArray
    homes: FloatArray
    roads: FloatArray
    waves: FloatArray
    shadows: FloatArray

    @property
    def stations(self) -> tuple[str, ...]:
        """Their names, BS 1 and so on."""
        return tuple(f"BS {number}" for number in range(1, len(self.towers) + 1))

    def messages(self, count: int, rng: np.random.Generator) -> Fingerprints:
        """So many messages that at least one station heard; others leave no trace in data."""
        wanted = _checks.whole("count", count, 1, "pass the number of messages")
        _checks.instance("rng", rng, np.random.Generator, "pass numpy.random.default_rng(seed)")
        places, signals = [], []
        sent = there = 0
        while there < wanted:
            where = self.places(min(max(wanted, 256), _AT_ONCE), rng)
            rssi = self.received(self.signals(where, rng), rng)
            kept = ~np.isnan(rssi).all(axis=1)
            places.append(where[kept])
            signals.append(rssi[kept])
            sent, there = sent + len(where), there + int(kept.sum())
            if sent >= _PATIENCE and there < sent / 100:
                got = f"{there:,} of {sent:,} messages heard"
                repair = "stations are too few, too far or too deaf: add some, lower sensitivity"
                raise InputError("simulator", "a network that hears its devices", got, repair)
        return Fingerprints(
            np.concatenate(signals)[:wanted],
            np.concatenate(places)[:wanted],
            self.stations,
            _moments(wanted, rng),
        )

    def places(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Where messages are sent from, heard or not."""
        shares = np.array([*self.simulator.parked, 0.0])
        shares[-1] = max(0.0, 1 - shares.sum())
        device = rng.choice(len(shares), count, p=shares / shares.sum())
        start, end = self.roads[rng.integers(0, len(self.roads), count)].swapaxes(0, 1)
        found = start + rng.random((count, 1)) * (end - start)
        parked = device < len(self.homes)
        found[parked] = self.homes[device[parked]]
        found += _JITTER * rng.standard_normal((count, 2))
        return self.simulator.region.project(found)

    def signals(self, places: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Signal strengths at all stations in dBm, heard or not, (n, d)."""
        law, simulator = self.simulator.path_loss, self.simulator
        apart = np.hypot(*(places[:, None] - self.towers).transpose(2, 0, 1))
        phase = places @ self.waves
        shadow = np.concatenate([np.cos(phase), np.sin(phase)], axis=1) @ self.shadows
        fixed = law.mean(apart) + self.gains + law.spread * shadow
        device = simulator.device_spread * rng.standard_normal((len(places), 1))
        return np.asarray(fixed + device + simulator.fading * rng.standard_normal(apart.shape))

    def received(self, signals: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The same where a station hears them, NaN where it does not."""
        noise = self.simulator.softness * rng.standard_normal(signals.shape)
        heard = signals + noise > self.simulator.sensitivity
        return np.where(heard, signals, np.nan)


#: A device that is parked is found within so many kilometres.
_JITTER = 0.02

#: So many messages at a time, so that memory is bounded; and before a network counts as deaf.
_AT_ONCE, _PATIENCE = 30_000, 25_600


def _moments(count: int, rng: np.random.Generator) -> Times:
    span = rng.uniform(0, _DAYS * 86_400e6, count).astype(np.int64)
    return _START + span.astype("timedelta64[us]")
