"""A certificate: how large sets will be at most, with confidence, and all that it rests on.

It can be written down, read again, and recomputed from the same data; a changed number in it, or a
changed row in the data, is found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof.confidence import probability
from shiftproof.controller import Calibrated, RiskController
from shiftproof.errors import InputError
from shiftproof.planning.ground import Ground, demand_known_scale
from shiftproof.ratios.roles import row_digests
from shiftproof.risk import LossCurves
from shiftproof.runs import digest_of

_FORM = 1


@dataclass(frozen=True)
class Certificate:
    """What is certified of sets that have not been calibrated yet, and under which assumptions.

    Attributes
    ----------
    size : float
        With confidence 1 - delta the expected relative size is at most this; 1 says nothing.
    terms : mapping of str to float
        What it is made of.
    alpha : float
        The expected loss is at most this, on average over calibration draws and test points.
    n_cal : int
        The number of calibration examples that it is for.
    delta : float
    rule : str
        The worst case.
    labels, inputs : int
        The numbers of labelled examples and of target inputs that it was computed from.
    basis : tuple of str
        The inequalities.
    assumptions : tuple of str
        What has to be true.
    unchecked : tuple of str
        What was not, or cannot be, checked.
    data : mapping of str to str
        A digest of each table, of the labels, and of the losses.
    version : str
        Of shiftproof.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([rng.random(3000) < 0.5, rng.uniform(0, 10, 3000)])
    >>> y = np.clip(x[:, 1] + np.where(x[:, 0] > 0, 1.0, 0.3) * rng.normal(size=3000), 0, 10)
    >>> ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 0.1, 1: 0.9})
    >>> controller = shp.RiskController(
    ...     lambda x: x[:, 1], shp.Intervals(0, 10), shp.Miscoverage(), ratio
    ... )
    >>> target = np.column_stack([rng.random(2000) < 0.9, rng.uniform(0, 10, 2000)])
    >>> paper = shp.certify(controller, x, y, target, alpha=0.1, n_cal=1000)
    >>> round(paper.size, 2), paper.says_nothing
    (0.36, False)
    >>> shp.Certificate.from_json(paper.to_json()) == paper
    True
    """

    size: float
    terms: Mapping[str, float]
    alpha: float
    n_cal: int
    delta: float
    rule: str
    labels: int
    inputs: int
    basis: tuple[str, ...]
    assumptions: tuple[str, ...]
    unchecked: tuple[str, ...]
    data: Mapping[str, str]
    version: str

    @property
    def says_nothing(self) -> bool:
        """Whether the bound is 1."""
        return self.size >= 1

    @property
    def advice(self) -> str:
        """What would help, where it says nothing or much of it is not the model's."""
        culprit = max(self.terms, key=lambda name: self.terms[name])
        return _ADVICE[culprit]

    def to_json(self) -> str:
        """The certificate as text, with a digest of itself."""
        content = {"form": _FORM, **asdict(self)}
        return json.dumps({**content, "sha256": _digest(content)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """A certificate from its text; an error where it was changed."""
        try:
            content = json.loads(text)
            digest, form = content.pop("sha256"), content.get("form")
        except (ValueError, AttributeError, KeyError, TypeError) as cause:
            repair = "pass what to_json() gave"
            raise InputError("certificate", "one in JSON", "something else", repair) from cause
        if digest != _digest(content):
            got = "one that was changed since: its SHA-256 is another"
            raise InputError("certificate", "the text as it was written", got, "take the original")
        if form != _FORM:
            got, repair = f"form {form!r}", "upgrade shiftproof, or certify again"
            raise InputError("certificate", f"form {_FORM}", got, repair)
        del content["form"]
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in content.items()
        }
        return cls(**fields)

    def verify(
        self,
        controller: RiskController,
        X: object,
        y: object,
        X_target: object,
        *,
        seed: int | None = None,
    ) -> None:
        """Raise unless the same data and the same controller give this very certificate.

        Examples
        --------
        >>> import numpy as np
        >>> import shiftproof as shp
        >>> x = np.linspace(0, 1, 200)[:, None]
        >>> controller = shp.RiskController(
        ...     lambda x: x[:, 0], shp.Intervals(0, 1), shp.Miscoverage()
        ... )
        >>> paper = shp.certify(controller, x, x[:, 0] ** 2, x, alpha=0.2, n_cal=500)
        >>> paper.verify(controller, x, x[:, 0] ** 2, x)
        >>> try:
        ...     paper.verify(controller, x, x[:, 0] ** 3, x)
        ... except shp.InputError as error:
        ...     print(error.got)
        other labels, losses
        """
        again = certify(
            controller,
            X,
            y,
            X_target,
            alpha=self.alpha,
            n_cal=self.n_cal,
            delta=self.delta,
            seed=seed,
        )
        changed = [name for name in self.data if again.data.get(name) != self.data[name]]
        if changed:
            got, repair = f"other {', '.join(changed)}", "pass what it was computed from"
            raise InputError("data", "the data that were certified", got, repair)
        if replace(again, version=self.version) != self:
            differing = [
                name for name, value in asdict(self).items() if asdict(again)[name] != value
            ]
            raise InputError(
                "certificate",
                "one that these data and this controller give",
                f"another {', '.join(differing)}",
                "it was made with another controller, or by another version",
            )

    def __str__(self) -> str:
        said = (
            f"with confidence {1 - self.delta:.6g} the expected relative size is at most "
            f"{self.size:.4g}"
        )
        if self.says_nothing:
            said = f"nothing can be certified of the size; {self.advice}"
        lines = [
            f"at alpha = {self.alpha:.6g} and n_cal = {self.n_cal}, {self.rule}: {said};",
            f"the expected loss is at most {self.alpha:.6g}, {_AVERAGE}",
        ]
        lines += [f"  {value:.4g}  {name}" for name, value in self.terms.items()]
        lines += [f"  given {one}" for one in (*self.basis, *self.assumptions)]
        lines += [f"  not checked: {one}" for one in self.unchecked]
        return "\n".join(lines)


def certify(
    controller: RiskController,
    X: object,
    y: object,
    X_target: object,
    *,
    alpha: float,
    n_cal: int,
    delta: float = 0.1,
    seed: int | None = None,
) -> Certificate:
    """Bound the expected relative size of sets that are still to be calibrated.

    Parameters
    ----------
    controller : RiskController
        With the ratio of groups at known rates, or no shift. Its predictor has not seen the rows.
    X : table or array (m, d)
        Inputs of a hold-out or pilot sample from P.
    y : array
        Its labels.
    X_target : table or array (k, d)
        Inputs from P', independent of that sample.
    alpha : float
        Chosen before looking at these data.
    n_cal : int
        The number of calibration examples that will be labelled, other ones than these.
    delta : float
        9/10 of it for the risk of the model, 1/10 for the inputs.
    seed : int, optional
        Needed where something draws at random.

    Returns
    -------
    Certificate

    Notes
    -----
    The band on the risk is the best of two, at half of their delta each: bets on weighted losses
    (:func:`~shiftproof.theory.betting_band`), and where they apply one for each group
    (:func:`~shiftproof.theory.group_band`).

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(0, 1), shp.Miscoverage())
    >>> paper = shp.certify(controller, x, x[:, 0] ** 2, x, alpha=0.3, n_cal=500)
    >>> round(paper.size, 2), paper.advice
    (0.53, 'the model is what it is: train it on more examples, or promise less (a larger alpha)')
    """
    probability("delta", delta)
    demand_known_scale(controller.ratio)
    calibrated = controller.calibrate(X, y, seed=seed)
    losses, table, target = calibrated.losses, Table.of("X", X), Table.of("X_target", X_target)
    level = _checks.scalar("alpha", alpha, "one level")
    prepared = calibrated.prepare(target)
    ground = Ground.of(controller, losses, table, prepared.nest, prepared.weights, delta)
    bound = ground.bound(level, n_cal, controller.worst_case)
    return Certificate(
        bound.total,
        dict(bound.terms),
        level,
        n_cal,
        delta,
        type(controller.worst_case).__name__,
        len(table),
        len(target),
        bound.basis,
        _assumptions(calibrated),
        (*_UNCHECKED, *_shared(table, target)),
        _digests(table, y, target, losses),
        version("shiftproof"),
    )


_AVERAGE = "on average over calibration draws and test points"

_ADVICE = {
    "model": "the model is what it is: train it on more examples, or promise less (a larger alpha)",
    "band": "more labels in this sample would help most, or a cap on the loss",
    "test_mass": "more calibration examples would help most, or the envelope in place of the "
    "constant",
    "calibration": "more calibration examples would help most, or a cap on the loss",
    "inputs": "more unlabelled inputs would help most",
}

_UNCHECKED = (
    "that the law of the label given the input is the same in use",
    "that alpha, n_cal and the shift were chosen before looking at these data",
    "that the predictor has not seen these labels",
)


def _assumptions(calibrated: Calibrated) -> tuple[str, ...]:
    found = calibrated.assumption
    return (
        f"{found.certainty}: {found.basis}",
        "the sample and the calibration examples are independent draws from the same law",
        *found.cautions,
    )


def _shared(table: Table, target: Table) -> tuple[str, ...]:
    """Rows of the target inputs that are in the sample too."""
    if set(table.names) != set(target.names):
        return ()
    names = table.flat_names
    shared = int(np.isin(row_digests(target, names), row_digests(table, names)).sum())
    return (f"{shared} target inputs have the values of rows in the sample",) if shared else ()


def _digests(table: Table, y: object, target: Table, losses: LossCurves) -> dict[str, str]:
    return {
        "sample": digest_of(row_digests(table, table.flat_names)),
        "labels": digest_of(row_digests(Table.of("labels", y))),
        "inputs": digest_of(row_digests(target, target.flat_names)),
        "losses": digest_of(losses.tail, losses.owner, losses.knots, losses.slopes, losses.heights),
    }


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
