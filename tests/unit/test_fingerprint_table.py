"""Tables of fingerprints: clean ones in many shapes, and every fault of a file with its answer."""

import io
import math
import sys
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shiftproof.errors import InputError, ShiftWarning
from shiftproof.localization import FingerprintTable, LocalPlane, read_parquet, write_parquet
from shiftproof.localization.sigfox import SIGFOX, sigfox_rural

HEADER = "'BS 1','BS 2','BS 3','RX Time','Latitude','Longitude'"
ROWS = [
    "-138,-200,-127,'2018-02-04T16:18:42+00:00',51.0958362,4.1329538",
    "-200,-200,-59,'2017-11-20T19:21:47+00:00',51.095691,4.1331455",
    "-148,-101,-200,'2017-12-31T23:59:59+00:00',51.2,3.7",
]


def text(header=HEADER, rows=ROWS, end="\n"):
    return (end.join([header, *rows]) + end).encode()


def parsed(content, table=SIGFOX):
    return table.parse(content, "data.csv")


class TestSigfoxText:
    def test_a_clean_file(self):
        messages = parsed(text())
        assert messages.stations == ("BS 1", "BS 2", "BS 3")
        np.testing.assert_array_equal(
            messages.rssi, [[-138, np.nan, -127], [np.nan, np.nan, -59], [-148, -101, np.nan]]
        )
        degrees = [[51.0958362, 4.1329538], [51.095691, 4.1331455], [51.2, 3.7]]
        np.testing.assert_allclose(messages.degrees, degrees, atol=1e-12)
        assert messages.times.astype("M8[s]").astype(str).tolist() == [
            "2018-02-04T16:18:42",
            "2017-11-20T19:21:47",
            "2017-12-31T23:59:59",
        ]
        assert messages.plane == LocalPlane.around(*np.transpose(degrees))

    @pytest.mark.parametrize(
        "content",
        [
            text(end="\r\n"),
            b"\xef\xbb\xbf" + text(),
            text() + b"\n\n",
            text().replace(b"'", b'"'),
            text().replace(b"'", b""),
            text().replace(b"-138,", b" '-138' ,"),
        ],
        ids=["windows", "mark", "empty lines", "double", "bare", "quoted cell"],
    )
    def test_other_spellings_of_the_same(self, content):
        expected, found = parsed(text()), parsed(content)
        np.testing.assert_array_equal(found.rssi, expected.rssi)
        np.testing.assert_array_equal(found.places, expected.places)
        np.testing.assert_array_equal(found.times, expected.times)
        assert found.stations == expected.stations

    def test_new_messages_on_the_plane_of_the_old(self):
        plane = parsed(text()).plane
        new = SIGFOX.parse(text(rows=ROWS[:1]), "new.csv", plane=plane)
        np.testing.assert_array_equal(new.places, parsed(text()).places[:1])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "a header with names of columns, got nothing"),
            (text(rows=[]), "at least one message, got a header alone"),
            (text()[:-40], "6 cells in each line, got 3 in line 4; the file was cut off"),
            (text(rows=[*ROWS, "-100"]), "got 1 in line 5"),
            (text(rows=[ROWS[0] + ",7"]), "got 7 in line 2; does a cell hold ','"),
            (text().replace(b"51.2,3.7", b"51,2,3,7"), "got 8 in line 4; .* a decimal comma"),
            (text().replace(b"-127", b"loud"), "'loud' in line 2, column 'BS 3'"),
            (text().replace(b"-127", b""), "not_heard=None takes empty cells"),
            (text().replace(b"-127", b"nan"), "got none in row 0 for 'BS 3'"),
            (text().replace(b"-200", b"100"), "got 100.0 at position 1 .*FingerprintTable"),
            (text().replace(b"-127", b"-999"), "marks what was not heard"),
            (text().replace(b"'BS 3'", b"'BS 2'"), r"\['BS 2'\] twice; two stations"),
            (text().replace(b"'BS 3'", b"BS 2"), r"\['BS 2'\] twice; two stations"),
            (text().replace(b"Latitude", b"Lat"), r"the columns \['Latitude'\], got"),
            (text().replace(b"BS ", b"GW "), r"the columns \['BS \*'\]"),
            (text().replace(b",", b";"), "separator=';'"),
            (text().replace(b"51.2,3.7", b"3.7,151.2"), "at most 250"),
            (text().replace(b"51.2,3.7", b"151.2,3.7"), "from -90 to 90, got 151.2 at position 2"),
            (text().replace(b"51.2,3.7", b"0,0"), "latitude 0 and longitude 0"),
            (text().replace(b"51.2,3.7", b"51.2,"), "'' in line 4, column 'Longitude'"),
            (text().replace(b"2017-12-31T", b"31/12/2017 "), "31/12/2017 23:59:59.* in row 2"),
            (text().replace(b"2017-12-31", b"1917-12-31"), "in row 2"),
            (text().decode().encode("utf-16"), "text in UTF-8"),
        ],
    )
    def test_each_fault_has_an_answer(self, content, message):
        with pytest.raises(InputError, match=message):
            parsed(content)

    def test_a_decimal_comma(self):
        table = FingerprintTable("BS *", -200, latitude="Latitude", longitude="Longitude")
        table = replace(table, separator=";")
        content = text().replace(b",", b";").replace(b".", b",")
        with pytest.raises(InputError, match=r"with a point: 4\.1329538$") as caught:
            parsed(content, table)
        assert caught.value.got == "'4,1329538' in line 2, column 'Longitude'"

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize(
        ("notes", "line"),
        [
            ({50: '"bad'}, 52),
            ({0: '"5 inch mast', 58: '"5 inch mast'}, 2),
            ({0: '"bad', 58: 'bad"'}, 2),
            ({99: '"bad'}, 101),
        ],
        ids=["open to the end", "open to the next", "a line break in a cell", "in the last line"],
    )
    def test_a_quote_that_is_left_open_swallows_no_rows(self, notes, line, newline):
        rows = [f"{-90 - i % 7},-200,3,4,{notes.get(i, 'ok')}" for i in range(100)]
        table = FingerprintTable("BS *", -200, x="x", y="y")
        with pytest.raises(InputError, match=f"quote in line {line} that is not closed there"):
            parsed(text("BS 1,BS 2,x,y,note", rows, newline), table)

    def test_an_open_quote_before_a_time_is_told_in_its_line(self):
        content = text().replace(b"'2018-02-04T16:18:42+00:00'", b'"2018-02-04T16:18:42+00:00')
        with pytest.raises(InputError, match="a quote in line 2 that is not closed there"):
            parsed(content)

    def test_quoted_cells_may_hold_what_parts_cells(self):
        rows = ['-90,-200,3,4,"a, ""b"""', "-91,-200,3,4,c"]
        table = FingerprintTable("BS *", -200, x="x", y="y")
        assert len(parsed(text("BS 1,BS 2,x,y,note", rows), table)) == 2
        with pytest.raises(InputError, match=r"expected after .* in line 2; mend that line"):
            parsed(text("BS 1,BS 2,x,y,note", ['-90,-200,3,4,"a"b', *rows]), table)

    def test_a_number_that_is_cut_short_is_told_by_the_end_of_its_line(self):
        whole = text("BS 1,BS 2,lat,lon", ["-90,-200,51.0,3.7", "-91,-200,51.2,4.3"])
        table = FingerprintTable("BS *", -200, latitude="lat", longitude="lon")
        for cut in (1, 2, 3):
            with pytest.warns(ShiftWarning, match=r"the last line has no end.*is .* whole\?"):
                found = parsed(whole[:-cut], table)
            assert (found.degrees[1, 1] == pytest.approx(4.3)) == (cut == 1)
        assert len(parsed(whole, table)) == 2

    def test_a_sentinel_that_is_not_said(self):
        with pytest.raises(
            InputError, match=r"-200 where a station .* got 0 in 56% of all"
        ) as caught:
            parsed(text(rows=[*ROWS[:2], ROWS[1]]).replace(b"-200", b"0"))
        assert caught.value.repair == "say not_heard=0"

    def test_everything_heard_is_no_fault(self):
        messages = parsed(text(rows=ROWS[:2]).replace(b"-200", b"-120"))
        assert messages.heard.all()  # one value in half of all cells is no proof


class TestSecondMarkers:
    """Ten stations, of which some mark what they did not hear in a way of their own."""

    TABLE = FingerprintTable("WAP*", 100, x="x", y="y")

    def table(self, rows=100, strange=5, heard=0.1, marker=-128):
        rng = np.random.default_rng(1)
        rssi = rng.integers(-104, -30, (rows, 10))
        silent = rng.random((rows, 10)) > heard
        rssi[silent] = 100
        own = rssi[:, :strange]
        own[silent[:, :strange]] = marker
        columns = {f"WAP{i}": rssi[:, i] for i in range(10)}
        return pd.DataFrame(columns).assign(x=rng.uniform(0, 99, rows), y=0.0)

    def test_most_of_what_seems_heard(self):
        with pytest.raises(InputError, match=r"got -128 in \d+% of heard cells") as caught:
            self.TABLE.of(self.table())
        assert caught.value.repair.startswith("write 100 in its place, or Fingerprints(rssi, ...)")

    def test_one_station(self):
        table = self.table(strange=1, heard=0.05, rows=200)
        others = np.random.default_rng(2).integers(-104, -30, (200, 9))
        table[[f"WAP{i}" for i in range(1, 10)]] = others
        with pytest.warns(ShiftWarning, match=r"always: 'WAP0' -128 in 9\d%; does it mark") as seen:
            self.TABLE.of(table)
        assert seen[0].filename == __file__, "it points to the line that read the table"

    def test_gaps_beside_a_marker(self):
        table = self.table(marker=-128).astype(float).replace(100.0, np.nan)
        gaps = FingerprintTable("WAP*", None, x="x", y="y")
        with pytest.raises(InputError, match="write empty cells in its place"):
            gaps.of(table)

    def test_one_marker_is_no_fault(self):
        assert len(self.TABLE.of(self.table(strange=0))) == 100

    def test_few_alike_are_no_fault(self):
        table = pd.DataFrame({"WAP1": [-90] * 3, "WAP2": [100, 100, -80], "x": 0, "y": 0})
        assert self.TABLE.of(table).heard.sum() == 4


WIFI = FingerprintTable("WAP*", not_heard=100, x="LONGITUDE", y="LATITUDE", time="TIMESTAMP")


def scans(count=50, points=20):
    """A table in the shape of UJIIndoorLoc: WAPs, 100 for not heard, metres, seconds since 1970."""
    rng = np.random.default_rng(0)
    rssi = rng.integers(-104, -30, (count, points))
    columns = {f"WAP{i + 1:03}": rssi[:, i] for i in range(points)}
    for values in columns.values():
        values[rng.random(count) < 0.9] = 100
    return pd.DataFrame(columns).assign(
        LONGITUDE=-7600 + rng.uniform(0, 300, count),
        LATITUDE=4864800 + rng.uniform(0, 200, count),
        FLOOR=2,
        BUILDINGID=1,
        TIMESTAMP=1371713733 + np.arange(count),
    )


class TestOtherTables:
    def test_wifi_in_metres(self):
        table = scans()
        messages = WIFI.of(table)
        assert messages.stations == tuple(f"WAP{i:03}" for i in range(1, 21))
        assert messages.plane is None
        np.testing.assert_allclose(
            messages.places, table[["LONGITUDE", "LATITUDE"]].to_numpy() / 1000, rtol=1e-15
        )
        assert messages.box().diameter(2) < 0.37
        np.testing.assert_array_equal(messages.heard, table.iloc[:, :20].to_numpy() != 100)
        assert str(messages.times[0].astype("M8[s]")) == "2013-06-20T07:35:33"

    @pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
    def test_tables_of_other_libraries(self, kind):
        expected, found = WIFI.of(scans()), WIFI.of(kind(scans()))
        np.testing.assert_array_equal(found.rssi, expected.rssi)
        np.testing.assert_array_equal(found.times, expected.times)

    def test_from_a_file_as_from_a_table(self, tmp_path):
        scans().to_csv(tmp_path / "scans.csv", index=False)
        expected, found = WIFI.of(scans()), WIFI.read(tmp_path / "scans.csv")
        np.testing.assert_array_equal(found.rssi, expected.rssi)
        np.testing.assert_array_equal(found.places, expected.places)
        np.testing.assert_array_equal(found.times, expected.times)

    def test_from_a_file_that_pandas_read_quotes_and_all(self):
        frame = pd.read_csv(io.BytesIO(text()))
        assert "'BS 1'" in frame.columns
        expected, found = parsed(text()), SIGFOX.of(frame)
        np.testing.assert_array_equal(found.rssi, expected.rssi)
        np.testing.assert_array_equal(found.places, expected.places)
        np.testing.assert_array_equal(found.times, expected.times)

    def test_gaps_as_the_marker(self, tmp_path):
        table = scans().mask(scans() == 100)
        gaps = FingerprintTable("WAP*", not_heard=None, x="LONGITUDE", y="LATITUDE")
        np.testing.assert_array_equal(gaps.of(table).rssi, WIFI.of(scans()).rssi)
        table.to_csv(tmp_path / "gaps.csv", index=False)
        np.testing.assert_array_equal(gaps.read(tmp_path / "gaps.csv").rssi, WIFI.of(scans()).rssi)

    def test_stations_by_name_in_the_order_of_the_names(self):
        two = FingerprintTable(["WAP003", "WAP001"], 100, x="LONGITUDE", y="LATITUDE").of(scans())
        assert two.stations == ("WAP003", "WAP001")
        np.testing.assert_array_equal(two.rssi, WIFI.of(scans()).rssi[:, [2, 0]])

    def test_a_pattern_does_not_catch_places(self):
        table = scans().rename(columns={"LONGITUDE": "WAP x", "LATITUDE": "WAP y"})
        messages = FingerprintTable("WAP*", 100, x="WAP x", y="WAP y").of(table)
        assert len(messages.stations) == 20

    @pytest.mark.parametrize(
        "spelled",
        [
            lambda t: t.isoformat(),
            lambda t: t,
            lambda t: t.timestamp(),
            lambda t: str(t.timestamp()),
            lambda t: t.astimezone(timezone(timedelta(hours=5))).isoformat(),
            lambda t: t.replace(tzinfo=None).isoformat(),
            pd.Timestamp,
        ],
    )
    def test_one_time_in_many_spellings(self, spelled):
        moment = datetime(2018, 2, 4, 16, 18, 42, tzinfo=UTC)
        table = scans(3).assign(TIMESTAMP=[spelled(moment)] * 3)
        assert WIFI.of(table).times[0] == np.datetime64("2018-02-04T16:18:42")

    def test_metres_taken_for_degrees(self):
        wrong = FingerprintTable("WAP*", 100, latitude="LATITUDE", longitude="LONGITUDE")
        with pytest.raises(InputError, match=r"are these metres \(columns x and y\)"):
            wrong.of(scans())

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "latitude and longitude, or x and y, got none"),
            ({"latitude": "a"}, "got half a pair"),
            ({"latitude": "a", "longitude": "b", "x": "c", "y": "d"}, "got both"),
            ({"latitude": "a", "longitude": "b", "x": "c"}, "got"),
        ],
    )
    def test_a_description_that_does_not_say_where(self, arguments, message):
        with pytest.raises(InputError, match=message):
            FingerprintTable("BS *", -200, **arguments)

    @pytest.mark.parametrize("separator", [";;", "", None, 7, '"', "'", "\n"])
    def test_what_parts_no_cells(self, separator):
        with pytest.raises(InputError, match="separator: expected one character"):
            FingerprintTable("BS *", -200, x="x", y="y", separator=separator)

    @pytest.mark.parametrize("stations", [None, 7, [], ["BS 1", 2], "", [""]])
    def test_what_names_no_stations(self, stations):
        with pytest.raises(InputError, match="stations: expected a pattern, or names of columns"):
            FingerprintTable(stations, -200, x="x", y="y")

    @pytest.mark.parametrize(
        ("stations", "columns"),
        [
            ("BS *", {"latitude": "a", "longitude": "a"}),
            ("BS *", {"x": "a", "y": "a"}),
            ("BS *", {"x": "a", "y": "b", "time": "a"}),
            (["BS 1", "a"], {"x": "a", "y": "b"}),
            (["a", "a"], {"x": "b", "y": "c"}),
        ],
    )
    def test_one_column_serves_one_end(self, stations, columns):
        with pytest.raises(InputError, match=r"columns: expected each in one use, got \['a'\]"):
            FingerprintTable(stations, -200, **columns)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: WIFI.of(scans().to_numpy()), "a table with named columns"),
            (lambda: WIFI.of(scans().drop(columns="LATITUDE")), r"the columns \['LATITUDE'\]"),
            (lambda: WIFI.of(scans().assign(TIMESTAMP="noon")), "'noon' in row 0"),
            (lambda: WIFI.of(scans().assign(TIMESTAMP=1371713733000)), "in row 0"),
            (lambda: WIFI.of(scans().assign(WAP003="loud")), "column 'WAP003' of table"),
            (lambda: WIFI.of(scans().assign(WAP003=np.nan)), "no missing values"),
            (lambda: WIFI.of(scans().head(0)), "a header alone"),
            (
                lambda: WIFI.of(scans().rename(columns={"WAP002": "'WAP001'"})),
                r"one column of each name, got one twice, quoted",
            ),
            (
                lambda: FingerprintTable("WAP*", -200, x="LONGITUDE", y="LATITUDE").of(scans()),
                "got 100 in 91% of all cells; say not_heard=100",
            ),
            (lambda: FingerprintTable("WAP*", "no", x="a", y="b"), "not_heard: expected numbers"),
            (lambda: WIFI.of(scans(), plane=LocalPlane(0, 0)), "degrees to put on it"),
        ],
    )
    def test_tables_that_are_not_as_described(self, call, message):
        with pytest.raises(InputError, match=message):
            call()


class TestFiles:
    def write(self, path, content):
        path.write_bytes(content)
        return path

    def zipped(self, path, **files):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name.replace("_", "."), content)
        return path

    def test_bare_and_zipped(self, tmp_path):
        bare = SIGFOX.read(self.write(tmp_path / "a.csv", text()))
        inside = SIGFOX.read(self.zipped(tmp_path / "a.zip", a_csv=text(), readme_txt=b"hello"))
        np.testing.assert_array_equal(bare.rssi, inside.rssi)
        np.testing.assert_array_equal(bare.places, inside.places)

    def test_what_a_mac_adds_to_a_zip_is_not_a_table(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("a.csv", text())
            archive.writestr("__MACOSX/._a.csv", b"resources")
        assert len(SIGFOX.read(tmp_path / "a.zip")) == 3

    def test_a_zip_with_a_password(self, tmp_path):
        whole = bytearray(self.zipped(tmp_path / "a.zip", a_csv=text()).read_bytes())
        for start in (whole.index(b"PK\x03\x04") + 6, whole.index(b"PK\x01\x02") + 8):
            whole[start] |= 1  # the flag of encryption
        with pytest.raises(InputError, match=r"a plain zip file, got .*encrypted"):
            SIGFOX.read(self.write(tmp_path / "a.zip", bytes(whole)))

    def test_faults_of_files(self, tmp_path):
        whole = self.zipped(tmp_path / "whole.zip", a_csv=text(rows=ROWS * 50)).read_bytes()
        middle = len(whole) // 3
        damaged = bytearray(whole)
        damaged[middle] ^= 0xFF
        cases = {
            "none.csv": (None, "got nothing there"),
            "cut.zip": (whole[:-40], "a whole zip file, got one without its end"),
            "damaged.zip": (bytes(damaged), "a whole zip file, got"),
        }
        for name, (content, message) in cases.items():
            if content is not None:
                self.write(tmp_path / name, content)
            with pytest.raises(InputError, match=message):
                SIGFOX.read(tmp_path / name)
        with pytest.raises(InputError, match="one csv file inside, got none"):
            SIGFOX.read(self.zipped(tmp_path / "none.zip", a_txt=text()))
        with pytest.raises(InputError, match=r"one csv file inside, got \['a.csv', 'b.csv'\]"):
            SIGFOX.read(self.zipped(tmp_path / "two.zip", a_csv=text(), b_csv=text()))
        with pytest.raises(InputError, match="a file, got a folder"):
            SIGFOX.read(tmp_path)

    def test_where_the_sigfox_file_is_looked_for(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("SHIFTPROOF_DATA", raising=False)
        with pytest.raises(InputError, match=r"got no path, and nothing in .*download=True"):
            sigfox_rural()
        with pytest.raises(InputError, match="got a folder without it"):
            sigfox_rural(tmp_path)
        file = self.write(tmp_path / "sigfox_dataset_rural (1).csv", text())
        for place in (tmp_path, str(file)):
            assert len(sigfox_rural(place, verify=False)) == 3
        self.write(tmp_path / "sigfox_dataset_rural.csv", text(rows=ROWS[:2]))
        assert len(sigfox_rural(tmp_path, verify=False)) == 2, "the plain name comes first"
        monkeypatch.setenv("SHIFTPROOF_DATA", str(tmp_path))
        assert len(sigfox_rural(verify=False)) == 2
        assert not (tmp_path / "cache").exists(), "nothing is written unasked"

    @pytest.mark.parametrize("named", ["", "nothing there"])
    def test_a_folder_that_lacks_it_does_not_end_the_search(self, tmp_path, monkeypatch, named):
        empty, home = tmp_path / "empty", tmp_path / "home" / "shiftproof"
        for folder in (empty, home):
            folder.mkdir(parents=True)
        monkeypatch.setenv("SHIFTPROOF_DATA", str(empty / named))
        monkeypatch.setenv("XDG_CACHE_HOME", str(home.parent))
        message = f"got {named or 'a folder without it'}: .*empty.*, and nothing in .*home"
        with pytest.raises(InputError, match=message):
            sigfox_rural(verify=False)
        self.write(home / "sigfox_dataset_rural.csv", text())
        assert len(sigfox_rural(verify=False)) == 3, "an earlier download"
        with pytest.raises(InputError, match=r"got a folder without it: [^,]*;"):
            sigfox_rural(empty, verify=False, download=True)

    def test_a_sigfox_file_that_is_not_the_published_one(self, tmp_path):
        file = self.write(tmp_path / "sigfox_dataset_rural.csv", text())
        with pytest.raises(InputError, match=r"bytes short with md5 .*verify=False"):
            sigfox_rural(file)

    def test_kept_as_parquet_and_read_from_there(self, tmp_path, monkeypatch):
        file = self.write(tmp_path / "sigfox_dataset_rural.csv", text())
        cache = tmp_path / "deep" / "cache"
        first = sigfox_rural(file, verify=False, cache=cache)
        (kept,) = cache.iterdir()
        monkeypatch.setattr(FingerprintTable, "parse", None)  # the text is not read again
        again = sigfox_rural(file, verify=False, cache=cache)
        np.testing.assert_array_equal(again.rssi, first.rssi)
        np.testing.assert_array_equal(again.places, first.places)
        monkeypatch.undo()
        self.write(file, text(rows=ROWS[:2]))
        assert len(sigfox_rural(file, verify=False, cache=cache)) == 2, "other text, other table"
        kept.write_bytes(kept.read_bytes()[:-100])
        self.write(file, text())
        with pytest.raises(InputError, match="a whole Parquet file"):
            sigfox_rural(file, verify=False, cache=cache)

    def test_without_pyarrow_text_is_read_and_a_cache_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.delenv("SHIFTPROOF_DATA", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        (tmp_path / "shiftproof").mkdir()
        file = self.write(tmp_path / "shiftproof" / "sigfox_dataset_rural.csv", text())
        assert len(sigfox_rural(verify=False)) == 3, "an earlier download"
        with pytest.raises(InputError, match=r"pip install 'shiftproof\[localization\]'"):
            sigfox_rural(file, verify=False, cache=tmp_path / "cache")
        assert [each.name for each in tmp_path.iterdir()] == ["shiftproof"]


class TestParquet:
    @pytest.mark.parametrize("source", [lambda: parsed(text()), lambda: WIFI.of(scans())])
    def test_all_comes_back_to_the_last_bit(self, source, tmp_path):
        messages = source()
        write_parquet(messages, tmp_path / "m.parquet")
        back = read_parquet(tmp_path / "m.parquet")
        np.testing.assert_array_equal(back.rssi, messages.rssi)
        np.testing.assert_array_equal(back.places, messages.places)
        np.testing.assert_array_equal(back.times, messages.times)
        assert (back.stations, back.plane) == (messages.stations, messages.plane)
        assert [file.name for file in tmp_path.iterdir()] == ["m.parquet"]

    def test_without_times(self, tmp_path):
        untimed = FingerprintTable("WAP*", 100, x="LONGITUDE", y="LATITUDE").of(scans())
        write_parquet(untimed, tmp_path / "m.parquet")
        assert read_parquet(tmp_path / "m.parquet").times is None

    def test_one_that_breaks_off_leaves_what_was_there(self, tmp_path, monkeypatch):
        target = tmp_path / "m.parquet"
        write_parquet(parsed(text()), target)
        before = target.read_bytes()

        def broken(_, path, **__):
            path.write_bytes(b"half")
            raise OSError("no room")

        monkeypatch.setattr("pyarrow.parquet.write_table", broken)
        with pytest.raises(OSError, match="no room"):
            write_parquet(parsed(text()), target)
        assert target.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["m.parquet"]

    def test_files_of_others(self, tmp_path):
        scans().to_parquet(tmp_path / "other.parquet")
        with pytest.raises(InputError, match="takes tables of other makes"):
            read_parquet(tmp_path / "other.parquet")
        (tmp_path / "text.parquet").write_bytes(b"no parquet")
        with pytest.raises(InputError, match="a whole Parquet file"):
            read_parquet(tmp_path / "text.parquet")

    def test_a_station_with_the_name_of_a_place(self, tmp_path):
        odd = pd.DataFrame({"east (km)": [-60, -50], "b": [100, -70], "x": [0, 1], "y": [0, 1]})
        messages = FingerprintTable(["east (km)", "b"], 100, x="x", y="y").of(odd)
        with pytest.raises(InputError, match="rename these stations"):
            write_parquet(messages, tmp_path / "m.parquet")

    def test_without_pyarrow(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(InputError, match=r"pip install 'shiftproof\[localization\]'"):
            write_parquet(parsed(text()), tmp_path / "m.parquet")
        assert not list(tmp_path.iterdir())


def test_numbers_are_those_of_the_text():
    rows = [
        f"{-100 - i / 7!r},-200,{-90 - i % 2},'2018-01-01T00:00:00',51.1,{4 + i / 99!r}"
        for i in range(50)
    ]
    messages = parsed(text(rows=rows))
    assert messages.rssi[:, 0].tolist() == [-100 - i / 7 for i in range(50)]
    assert math.isclose(messages.degrees[-1, 1], 4 + 49 / 99, abs_tol=1e-12)
