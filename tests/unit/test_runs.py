"""Long work: answers are kept as they come, and nothing is computed twice."""

from __future__ import annotations

import json

import numpy as np
import pytest

import shiftproof as shp
from shiftproof.runs import Run, digest_of, read_result, seed_of

CELLS = [{"x": x, "seed": seed_of(0, x)} for x in range(6)]


class Counted:
    """Squares, counting how often it was asked; stops after some."""

    def __init__(self, most=100):
        self.asked, self.most = [], most

    def __call__(self, cell):
        if len(self.asked) >= self.most:
            raise KeyboardInterrupt
        self.asked.append(cell["x"])
        return {"square": cell["x"] ** 2}


def run(tmp_path, **config):
    return Run(tmp_path / "squares.json", config=config, progress=False)


def squares(result):
    return [one["answer"]["square"] for one in result["answers"]]


def test_what_was_interrupted_is_taken_up_where_it_ended(tmp_path):
    first, second = Counted(most=4), Counted()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path).complete(CELLS, first)
    assert not (tmp_path / "squares.json").exists()
    result = run(tmp_path).complete(CELLS, second)
    assert squares(result) == [0, 1, 4, 9, 16, 25]
    assert sorted(first.asked + second.asked) == list(range(6))
    assert [path.name for path in tmp_path.iterdir()] == ["squares.json"]


def test_a_line_that_was_cut_is_computed_again(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path).complete(CELLS, Counted(most=4))
    part = tmp_path / "squares.json.part"
    part.write_bytes(part.read_bytes()[:-5])
    again = Counted()
    assert squares(run(tmp_path).complete(CELLS, again)) == [0, 1, 4, 9, 16, 25]
    assert again.asked == [3, 4, 5]


def test_another_configuration_or_other_data_start_afresh(tmp_path):
    run(tmp_path, power=2).complete(CELLS, Counted())
    other = Counted()
    run(tmp_path, power=3).complete(CELLS, other)
    assert len(other.asked) == 6
    same = Counted()
    run(tmp_path, power=3).complete(CELLS, same)
    assert same.asked == []
    moved = Counted()
    Run(tmp_path / "squares.json", {"power": 3}, data="other", progress=False).complete(
        CELLS, moved
    )
    assert len(moved.asked) == 6


def test_a_part_of_another_configuration_is_not_used(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, power=2).complete(CELLS, Counted(most=4))
    other = Counted()
    run(tmp_path, power=3).complete(CELLS, other)
    assert len(other.asked) == 6


def test_more_cells_compute_what_is_new(tmp_path):
    run(tmp_path).complete(CELLS[:4], Counted())
    more = Counted()
    assert squares(run(tmp_path).complete(CELLS, more)) == [0, 1, 4, 9, 16, 25]
    assert more.asked == [4, 5]


def test_results_say_what_made_them(tmp_path):
    run(tmp_path, power=2).complete(CELLS, Counted())
    result = read_result(tmp_path / "squares.json")
    assert result["config"] == {"power": 2}
    assert result["data"] == "simulated"
    assert result["versions"]["shiftproof"] == shp.__version__


def square(cell):
    return cell["x"] ** 2


def test_processes_change_nothing(tmp_path):
    one = Run(tmp_path / "one.json", progress=False).complete(CELLS, square)
    two = Run(tmp_path / "two.json", jobs=2, progress=False).complete(CELLS, square)
    assert one == two


def test_progress_says_how_far_it_is(tmp_path, capsys):
    Run(tmp_path / "squares.json").complete(CELLS, Counted())
    assert "6 of 6, 0 s left" in capsys.readouterr().err


def test_what_cannot_be_run_is_refused_before_anything_is_computed(tmp_path):
    idle = Counted()
    with pytest.raises(shp.InputError, match="cells that differ"):
        run(tmp_path).complete([{"x": 1}, {"x": 1}], idle)
    with pytest.raises(shp.InputError, match="a folder that exists"):
        Run(tmp_path / "absent" / "a.json").complete(CELLS, idle)
    (tmp_path / "squares.json").write_text("[1, 2")
    with pytest.raises(shp.InputError, match="a result of a run"):
        run(tmp_path).complete(CELLS, idle)
    assert (tmp_path / "squares.json").read_text() == "[1, 2"
    (tmp_path / "squares.json").write_text(json.dumps({"answers": [1]}))
    with pytest.raises(shp.InputError, match="a result of a run"):
        run(tmp_path).complete(CELLS, idle)
    assert idle.asked == []


def test_seeds_and_digests_tell_things_apart():
    assert len({seed_of(0, name, n) for name in "ab" for n in range(100)}) == 200
    assert seed_of(1, "a") != seed_of(0, "a")
    zeros = np.zeros(4)
    assert digest_of(zeros) != digest_of(zeros.reshape(2, 2)) != digest_of(zeros.astype("f4"))
