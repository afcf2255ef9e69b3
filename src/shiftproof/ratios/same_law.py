"""Whether the rows that a ratio was fitted to as source have the law of those that calibrate.

A ratio leads from the law of its source sample to that of the target. Where calibration rows have
another law than that sample, their weights are wrong, and nothing else would show it.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence

import numpy as np

from shiftproof._tables import Column, Table
from shiftproof.errors import InputError, ShiftWarning
from shiftproof.ratios.encoding import Columns, Encoder
from shiftproof.ratios.separation import Separation

#: So many standard errors above a guess a classifier has to be. Of 590 pairs of alike samples
#: (400 of 100 rows, 150 of 300 and 40 of 2000) the farthest was at 3.3.
_SURE = 4.0

#: With fewer rows the standard error is not to be relied on.
_FEWEST = 50

#: So many rows of each sample are looked at, by so many trees: each conformalize pays for them.
_ROWS, _TREES = 2000, 25


def warn_of_two_laws(
    source: Table, calibration: Table, columns: Sequence[Column] | None = None
) -> tuple[str, ...]:
    """A ShiftWarning, and its sentence, where a classifier tells the two samples apart.

    Silence proves nothing: a small difference is not seen in small samples, and of large ones 2000
    rows each are drawn. Columns in which nothing varies, and moments, are not compared.

    Parameters
    ----------
    source, calibration : Table
    columns : sequence, optional
        Those that the ratio reads; all with one value in each row where left out.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from shiftproof._tables import Table
    >>> from shiftproof.ratios.same_law import warn_of_two_laws
    >>> rng = np.random.default_rng(0)
    >>> old, new = (Table.of("X", rng.normal(mean, 1, (300, 2))) for mean in (0.0, 0.7))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     len(warn_of_two_laws(old, old)), len(warn_of_two_laws(old, new))
    (0, 1)
    """
    if min(len(source), len(calibration)) < _FEWEST:
        return ()
    names = source.flat_names if columns is None else columns
    points = None
    rng = np.random.default_rng(0)
    source, calibration = (_drawn(table, rng) for table in (source, calibration))
    with contextlib.suppress(InputError):
        encoder = Encoder.of(Columns.of(source, calibration, names), (source, calibration))
        points = encoder(source), encoder(calibration)
    if points is None:
        return ()
    found = Separation.of(*points, trees=_TREES)
    if found.auc - 0.5 <= _SURE * found.auc_error:
        return ()
    caution = (
        "source and calibration inputs are told apart (area under the curve "
        f"{found.auc:.2f}, standard error {found.auc_error:.2g}): the ratio leads to the target "
        "from the law of its source rows, and calibration rows have another one"
    )
    warnings.warn(caution, ShiftWarning, stacklevel=4)
    return (caution,)


def _drawn(table: Table, rng: np.random.Generator) -> Table:
    """The rows that are looked at: all, or so many at random."""
    if len(table) <= _ROWS:
        return table
    return table.take(rng.choice(len(table), _ROWS, replace=False))
