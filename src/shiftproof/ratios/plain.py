"""What every ratio shares whose weights are numbers: checks at the border, and the plain curve."""

from __future__ import annotations

from abc import ABC, abstractmethod

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import ArrayLike, FloatArray, KeyArray
from shiftproof.contracts import Assumption
from shiftproof.errors import InputError
from shiftproof.ratios.roles import Ledger, note_calibration
from shiftproof.risk import LossCurves, RiskCurve

_CALIBRATION = "calibration inputs"


class PlainRatio(ABC):
    """A ratio with one number for each row; a subclass gives `columns`, `assumption`, `_ratio`.

    Examples
    --------
    >>> import shiftproof as shp
    >>> isinstance(shp.ColumnRatio("w"), shp.PlainRatio)
    True
    """

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...] | None:
        """The columns that are read; None for all."""

    @property
    @abstractmethod
    def assumption(self) -> Assumption:
        """What the weights rest on."""

    @property
    def ledger(self) -> Ledger:
        """The rows that the ratio was made from; of none for a ratio that is known.

        ``ratio.ledger.plus(calibration=X)`` says what they share with calibration inputs.
        """
        return Ledger(self.columns or None)

    @abstractmethod
    def _ratio(self, table: Table) -> ArrayLike:
        """W for each row of a table that has the columns."""

    def weights(self, X: object, keys: KeyArray | None = None) -> FloatArray:
        """W at test points: at least 0, inf outside the support of the source.

        Parameters
        ----------
        X : table or array (m, d)
        keys : array (m,), optional
            Not used by ratios that draw nothing.
        """
        del keys
        return self._checked(Table.of("X", X))

    def curve(self, losses: LossCurves, X: object) -> RiskCurve:
        """The risk curve of calibration examples with these inputs, weighed by w.

        An error where they are the rows that the ratio was made from, a ShiftWarning where some
        of them are.

        Parameters
        ----------
        losses : LossCurves
            One curve per row.
        X : table or array (n, d)
        """
        return RiskCurve(losses, self.calibration_weights(X, len(losses)))

    def calibration_weights(self, X: object, count: int) -> FloatArray:
        """W at the inputs of `count` calibration examples, from rows the ratio may be used for."""
        table = Table.of(_CALIBRATION, X)
        if len(table) != count:
            raise InputError(
                _CALIBRATION, f"{count} rows, one per loss", f"{len(table)}", "pass the same rows"
            )
        note_calibration(self.ledger, table)
        return _checks.calibration_weights(
            f"weights of the {_CALIBRATION}", self._checked(table), count
        )

    def _checked(self, table: Table) -> FloatArray:
        if self.columns is not None:
            table.require(self.columns)
        name = f"weights of {table.what}"
        return _checks.test_weights(
            name, _checks.vector(name, self._ratio(table), length=len(table))
        )
