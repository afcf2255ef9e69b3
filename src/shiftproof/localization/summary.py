"""The figures in which a simulated network and a real one are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof.localization.fingerprints import Fingerprints, messages_of
from shiftproof.localization.splits import cells_of

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_CELL = 1.0  # kilometres


@dataclass(frozen=True)
class Summary:
    """What a set of messages looks like, in a dozen numbers.

    Attributes
    ----------
    messages, stations : int
    heard_share : float
        The share of cells, message by station, that were heard.
    stations_heard : tuple of five floats
        Stations that heard a message: quantiles at .05, .25, .5, .75 and .95.
    stations_heard_most : int
    strength : tuple of five floats
        Signals in dBm: the same quantiles.
    weakest, strongest : float
    busiest : float
        The share of messages that the busiest station heard.
    rarely : float
        The share of stations that heard less than one message in a hundred.
    in_one_cell, in_three_cells, in_ten_cells : float
        The share of messages in the one, three, ten busiest 1-km cells of the map.
    cells : int
        Cells with any message.
    width, height : float
        The box around all places, in kilometres.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Simulator, Summary
    >>> rng = np.random.default_rng(0)
    >>> summary = Summary.of(Simulator().build(rng).messages(2000, rng))
    >>> summary.messages, summary.stations_heard[2]
    (2000, 4.0)
    """

    messages: int
    stations: int
    heard_share: float
    stations_heard: tuple[float, ...]
    stations_heard_most: int
    strength: tuple[float, ...]
    weakest: float
    strongest: float
    busiest: float
    rarely: float
    in_one_cell: float
    in_three_cells: float
    in_ten_cells: float
    cells: int
    width: float
    height: float

    @classmethod
    def of(cls, fingerprints: Fingerprints) -> Summary:
        """The figures of these messages."""
        heard = messages_of("fingerprints", fingerprints).heard
        signals = _checks.non_empty(
            "fingerprints", fingerprints.rssi[heard], "no station heard any of these messages"
        )
        count, by_station = heard.sum(axis=1), heard.mean(axis=0)
        _, rows = cells_of(fingerprints.places, _CELL)
        busy = np.sort(rows)[::-1] / len(fingerprints)
        width, height = np.ptp(fingerprints.places, axis=0).tolist()
        return cls(
            messages=len(fingerprints),
            stations=len(fingerprints.stations),
            heard_share=float(heard.mean()),
            stations_heard=tuple(np.quantile(count, _SHARES).tolist()),
            stations_heard_most=int(count.max()),
            strength=tuple(np.quantile(signals, _SHARES).tolist()),
            weakest=float(signals.min()),
            strongest=float(signals.max()),
            busiest=float(by_station.max()),
            rarely=float((by_station < 0.01).mean()),
            in_one_cell=float(busy[0]),
            in_three_cells=float(busy[:3].sum()),
            in_ten_cells=float(busy[:10].sum()),
            cells=len(rows),
            width=width,
            height=height,
        )

    def rows(self) -> dict[str, str]:
        """The figures as words, for tables; lists are quantiles at .05, .25, .5, .75 and .95.

        Examples
        --------
        >>> import numpy as np
        >>> from shiftproof.localization import Fingerprints, Summary
        >>> one = Fingerprints([[-120.0, np.nan]], [[0.0, 0.0]], ["tower", "mast"])
        >>> Summary.of(one).rows()["weakest, strongest"]
        '-120, -120'
        """
        return {
            "messages": f"{self.messages:,.0f}",
            "stations": f"{self.stations:.0f}",
            "heard, of all pairs": f"{self.heard_share:.1%}",
            "stations per message": f"{_listed(self.stations_heard)}",
            "most stations": f"{self.stations_heard_most:.0f}",
            "signals, dBm": _listed(self.strength),
            "weakest, strongest": f"{self.weakest:.0f}, {self.strongest:.0f}",
            "messages at the busiest station": f"{self.busiest:.0%}",
            "stations below 1 % of messages": f"{self.rarely:.0%}",
            "in 1, 3, 10 busiest km2": (
                f"{self.in_one_cell:.0%}, {self.in_three_cells:.0%}, {self.in_ten_cells:.0%}"
            ),
            "km2 with messages": f"{self.cells:.0f}",
            "box, km": f"{self.width:.1f} x {self.height:.1f}",
        }

    def __str__(self) -> str:
        rows = self.rows()
        wide = max(map(len, rows))
        return "\n".join(f"{name:<{wide}}  {value}" for name, value in rows.items())


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.0f}" for value in values)
