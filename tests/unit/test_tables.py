"""Tables of any kind: the same values give the same columns, digests and weights."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shiftproof._tables import Table
from shiftproof.errors import InputError
from shiftproof.ratios.known import DensityRatio, KnownRatio
from shiftproof.ratios.roles import row_digests

NAN = float("nan")
KINDS = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas, objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "arrow": pa.table,
    "arrow, one batch": lambda columns: pa.table(columns).to_batches()[0],
}
COLUMNS = {
    "whole": [3, 1, 2],
    "huge": [2**53 + 1, -(2**62) - 1, 2**53],
    "real": [0.1, -0.0, 2.5],
    "gaps": [1.5, None, 2.5],
    "whole with gaps": [7, None, 9],
    "yes": [True, False, True],
    "yes with gaps": [True, None, False],
    "money": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
    "word": ["a", None, "c"],
    "day": [dt.date(2020, 1, 1), None, dt.date(2021, 5, 5)],
    "moment": [dt.datetime(2020, 1, 1, 12), None, dt.datetime(2021, 5, 5)],  # noqa: DTZ001
    "empty": [None, None, None],
}
NUMBERS = [name for name in COLUMNS if name not in ("word", "day", "moment", "empty")]


def plain(values):
    """Numbers as they are, gaps as None: what a comparison can compare."""
    return [None if value is None or value != value else value for value in values.tolist()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_what_was_put_in(name, kind):
    table = Table.of("X", KINDS[kind]({name: COLUMNS[name]}))
    expected = [float(v) if isinstance(v, decimal.Decimal) else v for v in COLUMNS[name]]
    assert plain(table.column(name)) == expected
    assert (table.column(name).dtype == object) == (name not in NUMBERS) or name == "empty"


@pytest.mark.parametrize("name", COLUMNS)
def test_an_array_of_objects_gives_the_same(name):
    objects = np.array(COLUMNS[name], dtype=object)[:, None]
    assert plain(Table.of("X", objects).column(0)) == plain(
        Table.of("X", pl.DataFrame({name: COLUMNS[name]}, strict=False)).column(name)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_digests_do_not_depend_on_the_kind(kind):
    expected = row_digests(KINDS["polars"](COLUMNS))
    assert len(set(expected.tolist())) == 3
    assert row_digests(KINDS[kind](COLUMNS)).tolist() == expected.tolist()


def test_digests_of_arrays_are_those_of_tables():
    columns = {"a": [1, 2, 3], "b": [0.5, NAN, -0.0], "c": [1, 1, 0]}
    matrix = np.column_stack(list(columns.values()))
    objects = np.array(list(zip(*columns.values(), strict=True)), dtype=object)
    expected = row_digests(pl.DataFrame(columns)).tolist()
    for same in (matrix, objects, matrix.tolist(), pd.DataFrame(matrix), matrix.astype("f4")):
        assert row_digests(same).tolist() == expected


@pytest.mark.parametrize(
    "missing", [None, NAN, np.nan, pd.NA, pd.NaT, np.datetime64("NaT")], ids=str
)
def test_missing_values_of_every_kind_are_one(missing):
    frame = pd.DataFrame({"a": pd.Series(["x", missing], dtype=object)})
    assert Table.of("X", frame).column("a").tolist() == ["x", None]
    cells = np.empty((2, 1), dtype=object)
    cells[:, 0] = ["x", missing]
    assert Table.of("X", cells).column(0).tolist() == ["x", None]
    assert row_digests(frame).tolist() == row_digests(pl.DataFrame({"a": ["x", None]})).tolist()


def test_moments_of_any_precision_are_moments():
    days = np.array(["2020-01-01T12", "NaT"], dtype="M8[ns]")
    for values in (days, days.astype("M8[us]"), days.astype("M8[h]")):
        assert Table.of("X", values).column(0).tolist() == [dt.datetime(2020, 1, 1, 12), None]  # noqa: DTZ001
    spans = np.array([1, "NaT"], dtype="m8[ns]")
    assert Table.of("X", spans).column(0).tolist() == [dt.timedelta(0), None]


@pytest.mark.parametrize("make", [pd.Categorical, lambda v: pl.Series(v, dtype=pl.Categorical)])
def test_categories_are_their_labels(make):
    labels = ["u", None, "v"]
    frame = pd.DataFrame if make is pd.Categorical else pl.DataFrame
    table = frame({"a": make(labels)})
    assert Table.of("X", table).column("a").tolist() == labels
    assert row_digests(table).tolist() == row_digests(pa.table({"a": labels})).tolist()


def test_integers_beyond_floats_keep_apart():
    near = [2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2]
    digests = row_digests(np.array(near)).tolist()
    assert len(set(digests)) == 4
    assert row_digests(np.array(near, dtype=np.uint64)).tolist() == digests
    assert row_digests(pl.DataFrame({"a": near})).tolist() == digests
    assert row_digests([[value] for value in near]).tolist() == digests
    wide = pl.DataFrame({"a": pl.Series([2**70, 1], dtype=pl.Int128)})
    assert Table.of("X", wide).column("a").tolist() == [2.0**70, 1.0]


def test_numbers_beside_text_stay_numbers():
    table = Table.of("X", [[1, "a"], [2, "b"]])
    assert table.numbers(0).tolist() == [1.0, 2.0]
    assert table.column(1).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "one_column",
    [
        [1.0, 2.0],
        (1, 2),
        np.array([1, 2]),
        pd.Series([1, 2]),
        pd.Series([1, 2], name="a"),
        pl.Series("a", [1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
    ],
    ids=lambda x: type(x).__module__ + str(getattr(x, "name", "")),
)
def test_a_sequence_is_one_column(one_column):
    table = Table.of("X", one_column)
    assert len(table) == 2
    assert table.numbers(table.names[0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "arrow, one batch"])
def test_weights_do_not_depend_on_the_kind(kind):
    rng = np.random.default_rng(0)
    columns = {"b": rng.normal(size=50), "a": rng.normal(size=50), "c": ["x"] * 50}
    ratio = KnownRatio(lambda a, b: np.exp(a - 2 * b), columns=["a", "b"])
    expected = np.exp(columns["a"] - 2 * columns["b"])
    assert ratio.weights(KINDS[kind](columns)).tolist() == expected.tolist()
    array = np.column_stack([columns["a"], columns["b"]])
    by_place = KnownRatio(ratio.function, columns=[0, 1])
    assert by_place.weights(array).tolist() == expected.tolist()


def test_rows_are_taken_by_place_or_mask_whatever_the_index():
    frames = (
        pd.DataFrame({"a": [10, 20, 30]}, index=[7, 7, 7]),
        pl.DataFrame({"a": [10, 20, 30]}),
        pa.table({"a": [10, 20, 30]}),
    )
    for frame in frames:
        table = Table.of("X", frame)
        assert table.take(np.array([2, 0, 2])).column("a").tolist() == [30, 10, 30]
        assert table.take(np.array([True, False, True])).column("a").tolist() == [10, 30]
        assert type(table.take(np.array([0])).native()) is type(frame)


def test_no_rows_are_no_weights():
    for empty in (np.empty((0, 2)), pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), []):
        table = Table.of("X", empty)
        assert len(table) == 0
        assert table.column(table.names[0]).tolist() == []
        assert len(row_digests(empty)) == 0


DOUBLED = pd.DataFrame([[1, 2]], columns=["a", "a"])
BAD = {
    "nothing": (lambda: Table.of("X", None), "got NoneType"),
    "a word": (lambda: Table.of("X", "rows"), "got str"),
    "columns in a dict": (lambda: Table.of("X", {"a": [1]}), "got dict"),
    "a function": (lambda: Table.of("X", len), "got builtin"),
    "one number": (lambda: Table.of("X", 5), r"int of shape \(\)"),
    "a generator": (lambda: Table.of("X", (i for i in range(3))), "got generator"),
    "ragged": (lambda: Table.of("X", [[1, 2], [1]]), "rows of different lengths"),
    "structured": (
        lambda: Table.of("X", np.array([(1, 2)], dtype=[("a", int), ("b", int)])),
        "a structured array",
    ),
    "complex": (lambda: Table.of("X", np.array([1j])), "complex numbers"),
    "masked": (lambda: Table.of("X", np.ma.masked_equal([1, 2], 2)), "no masked entries"),
    "lazy": (lambda: Table.of("X", pl.DataFrame({"a": [1]}).lazy()), r"collect\(\) it first"),
    "one name twice": (lambda: Table.of("X", DOUBLED), "one column of each name, got 'a', 'a'"),
    "one name twice, arrow": (
        lambda: Table.of("X", pa.table([[1], [2]], names=["a", "a"])),
        "one column of each name, got 'a', 'a'",
    ),
    "numbers for names": (
        lambda: Table.of("X", pd.DataFrame([[1, 2]], columns=[1, 2])),
        "names of columns as text",
    ),
    "names in levels": (
        lambda: Table.of("X", pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))),
        "names of columns as text",
    ),
    "a name that is not there": (
        lambda: Table.of("X", pd.DataFrame({"a": [1]})).column("b"),
        "the columns 'b', got columns 'a'",
    ),
    "a name of an array": (lambda: Table.of("X", [[1]]).column("a"), "names need a table"),
    "a position of a table": (
        lambda: Table.of("X", pl.DataFrame({"a": [1]})).column(0),
        "positions belong to arrays",
    ),
    "a position beyond": (lambda: Table.of("X", [[1, 2]]).column(2), "array of 2 columns"),
    "truth for a position": (lambda: Table.of("X", [[1, 2]]).column(True), "the columns True"),
    "words for numbers": (
        lambda: Table.of("X", pl.DataFrame({"a": ["u", None]})).numbers("a"),
        "column 'a' of X: expected numbers, got 'u'",
    ),
    "gaps": (
        lambda: Table.of("X", pl.DataFrame({"a": [1, None, None]})).numbers("a"),
        "2 missing, the first in row 1",
    ),
    "too large": (lambda: Table.of("X", [[10**400]]).numbers(0), "one beyond floats"),
    "lists in cells": (
        lambda: Table.of("X", pl.DataFrame({"a": [None, [1]]})).column("a"),
        "a list in row 1",
    ),
    "arrays in cells": (
        lambda: Table.of("X", pd.DataFrame({"a": [np.ones(2), np.ones(2)]})).column("a"),
        "a ndarray in row 0",
    ),
    "no column for densities": (
        lambda: DensityRatio(*[_Flat()] * 2).weights(pd.DataFrame(index=range(3))),
        "at least one column",
    ),
}


class _Flat:
    def logpdf(self, x):
        return np.zeros(len(x))


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_with_a_reason(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message) as caught:
        call()
    error = caught.value
    assert all((error.name, error.expected, error.got, error.repair))


def test_columns_that_are_numbered_make_an_array():
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2))
    assert Table.of("X", frame).names == (0, 1)
    assert KnownRatio(lambda x: x[:, 1]).weights(frame).tolist() == [1.0, 3.0, 5.0]
    gaps = pd.DataFrame([[1, pd.NA], [2, 3]], dtype="Int64")
    assert plain(Table.of("X", gaps).column(1)) == [None, 3.0]


def test_masks_that_hide_nothing_are_no_matter():
    assert Table.of("X", np.ma.masked_equal([1, 2], 9)).numbers(0).tolist() == [1.0, 2.0]


def test_images_have_the_columns_of_flattened_rows():
    images = np.arange(24.0).reshape(2, 3, 4)
    table = Table.of("X", images)
    assert len(table) == 2
    assert table.names == tuple(range(12))
    assert table.column(5).tolist() == [5.0, 17.0]
    assert table.native() is images
    assert table.take(np.array([1])).native().shape == (1, 3, 4)
    assert table.select([0, 11]).native().tolist() == [[0.0, 11.0], [12.0, 23.0]]
    assert KnownRatio(lambda x: x[:, 2, 3]).weights(images).tolist() == [11.0, 23.0]
