"""Which part of a number of labels to train with: the split between training and calibration.

More training gives a better model and fewer calibration examples. A learning curve says what the
first is worth: the predictor is fitted again to parts of the pilot, and what is left of the pilot
stands in for calibration sets. Nothing is said of training sizes that the pilot cannot show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof.confidence import probability
from shiftproof.contracts import Ratio
from shiftproof.controller import RiskController
from shiftproof.errors import InputError
from shiftproof.planning.planner import Outlook, Plan, plan
from shiftproof.runs import Run, seed_of

#: So many rows at least have to be left of the pilot to stand in for calibration sets.
_FEWEST = 50


def plan_splits(
    controller: RiskController,
    X: object,
    y: object,
    *,
    refit: Callable[[Any, Any], object],
    total: int,
    n_train: Sequence[int],
    alpha: float,
    ratios: Mapping[str, Ratio[Any]] | None = None,
    rules: Sequence[str] | None = None,
    repeats: int = 10,
    delta: float = 0.1,
    seed: int = 0,
    run: Run | None = None,
) -> Plan:
    """The expected relative size of each split of `total` labels, from refits to parts of a pilot.

    Parameters
    ----------
    controller : RiskController
        Its sets, loss and ratio are used; its predictor gives way to those that are fitted.
    X : table or array (m, d)
        Inputs of a labelled pilot, from P.
    y : array
        Its labels.
    refit : callable
        From inputs and labels, in the kind in which they came, to a fitted predictor. A fast one
        will do, if its learning curve is like that of the one that will be used.
    total : int
        n = n_train + n_cal, so many labels there will be.
    n_train : sequence of int
        Training sizes to try; none so large that fewer than 50 rows of the pilot are left.
    alpha, ratios, rules, delta, seed
        As in :func:`shiftproof.plan`.
    repeats : int
        Refits for each training size, to other rows.
    run : Run, optional
        To compute refits in parallel, and to take up what was interrupted.

    Returns
    -------
    Plan
        With `n_train` in every outlook; ``best(rule, shift)`` is the recommended split.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, (600, 2))
    >>> y = np.sin(x[:, 0]) + 0.1 * x[:, 1] + 0.1 * rng.normal(size=600)
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(-2, 4), shp.Miscoverage())
    >>> splits = shp.plan_splits(
    ...     controller, x, y, refit=lambda x, y: KNeighborsRegressor(5).fit(x, y),
    ...     total=400, n_train=[20, 200, 390], alpha=0.1, repeats=3,
    ... )
    >>> splits.best("paper", "as given").n_train
    200
    """
    labels, table = _labels(y), Table.of("X", X)
    _checks.same_rows("labels", len(labels), len(table))
    sizes = _sizes(n_train, len(table), _checks.whole("total", total, 2, "all labels together"))
    _checks.whole("repeats", repeats, 1, "say 10")
    probability("delta", delta)

    def once(cell: Mapping[str, int]) -> list[dict[str, Any]]:
        """One refit: the outlooks of its split."""
        size, number = cell["n_train"], cell["repeat"]
        order = np.random.default_rng(seed_of(seed, "split", size, number)).permutation(len(table))
        fitted, left = order[:size], order[size:]
        predictor = refit(table.take(fitted).native(), labels[fitted])
        found = plan(
            replace(controller, predictor=predictor),
            table.take(left).native(),
            labels[left],
            alpha=alpha,
            n_cal=[total - size],
            ratios=ratios,
            rules=rules,
            delta=delta,
            seed=seed_of(seed, "draws", size, number),
        )
        return [asdict(one) | {"n_train": size} for one in found.outlooks]

    cells = [{"n_train": n, "repeat": r} for n in sizes for r in range(repeats)]
    if run is None:
        told = [once(cell) for cell in cells]
    else:
        told = [one["answer"] for one in run.complete(cells, once)["answers"]]
    shifts = {"as given": controller.ratio} if ratios is None else dict(ratios)
    assumptions = {name: ratio.assumption for name, ratio in shifts.items()}
    found = _averaged([Outlook(**one) for many in told for one in many], delta)
    return Plan(tuple(found), alpha, delta, len(table), assumptions)


def _averaged(outlooks: Sequence[Outlook], delta: float) -> list[Outlook]:
    """One outlook for each choice: means over refits, with intervals that add both spreads."""
    groups: dict[tuple[Any, ...], list[Outlook]] = {}
    for one in outlooks:
        groups.setdefault((one.rule, one.shift, one.n_train, one.n_cal), []).append(one)
    found = []
    for (rule, shift, n_train, n_cal), many in groups.items():
        expected = np.array([one.expected for one in many])
        within = np.mean([((one.high - one.low) / 2) ** 2 for one in many])
        between = (
            norm.isf(delta / 2) ** 2 * expected.var(ddof=1) / len(many) if len(many) > 1 else 0
        )
        half = float(np.sqrt(within + between))
        mean, whole = float(expected.mean()), float(np.mean([one.whole for one in many]))
        low, high = max(mean - half, 0.0), min(mean + half, 1.0)
        found.append(Outlook(rule, shift, n_train, n_cal, mean, low, high, whole))
    return found


def _sizes(n_train: Sequence[int], rows: int, total: int) -> list[int]:
    """Training sizes that the pilot can show."""
    sizes = [_checks.whole("n_train", n, 1, "training sizes to try") for n in n_train]
    if not sizes:
        raise InputError("n_train", "at least one training size", "none", "for example 3 of them")
    for n in sizes:
        if n >= total:
            got, repair = f"{n} of {total}", "leave some labels for calibration"
            raise InputError("n_train", "fewer than all labels", got, repair)
        if rows - n < _FEWEST:
            raise InputError(
                "n_train",
                f"sizes up to {max(rows - _FEWEST, 0)}, as the pilot has {rows} rows",
                f"{n}",
                "a split that the pilot cannot show is not recommended: label more, or ask less",
            )
    return sizes


def _labels(y: object) -> Any:
    """Labels as an array, a row for each example."""
    source = Table.of("labels", y)
    if isinstance(source.source, np.ndarray):
        return source.source[:, 0] if source.source.shape[1:] == (1,) else source.source
    columns = [source.column(name) for name in source.names]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
