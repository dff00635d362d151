"""Models carried to a computer without a network: out into a folder, in again, each compared with its hash."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_folders import write_folder
from test_install_models import EMBEDDING, FOLDER_FILES, WEIGHTS, Index, entry, use

from models import carrying
from models.cache_place import models_folder
from models.carrying import add_models, export_models, holds_models
from models.errors import ModelError, ModelMissing, WeightsCorrupt
from models.install import add, embedding_folder, find_model, install


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    use(monkeypatch, entry(), EMBEDDING)
    return Index()


def test_models_travel_to_another_computer(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("tiny", fetch=index)
    install("mini", fetch=index)
    own = tmp_path / "own.gguf"
    own.write_bytes(WEIGHTS + b"mine")
    add(own)
    stick = tmp_path / "stick"
    assert sorted(path.name for path in export_models(stick)) == ["mini", "own.gguf", "tiny.gguf"]
    assert export_models(stick, ["tiny"]) == [stick / "tiny.gguf"]  # what is there already is left as it is
    assert holds_models(stick)
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "elsewhere"))
    asked = list(index.asked)
    assert sorted(model.path.name for model in add_models(stick)) == ["mini", "own.gguf", "tiny.gguf"]
    assert index.asked == asked  # nothing was downloaded
    assert find_model("tiny").path.read_bytes() == WEIGHTS
    assert {path: (embedding_folder() / path).read_bytes() for path in FOLDER_FILES} == FOLDER_FILES
    assert not list(models_folder().glob(".adding-*"))


def test_room_is_asked_for_what_is_not_there_yet(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tiny", "mini"):
        install(name, fetch=index)
    stick = tmp_path / "stick"
    export_models(stick)
    (stick / "mini" / "config.json").unlink()
    asked: list[int] = []
    monkeypatch.setattr(carrying, "require_space", lambda folder, size: asked.append(size))
    export_models(stick)
    assert asked == [0, len(FOLDER_FILES["config.json"])]


def test_a_changed_file_on_the_stick_is_refused(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("mini", fetch=index)
    stick = tmp_path / "stick"
    export_models(stick)
    (stick / "mini" / "config.json").write_text("[]", encoding="utf-8")
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "elsewhere"))
    with pytest.raises(WeightsCorrupt):
        add_models(stick)
    with pytest.raises(ModelMissing):
        embedding_folder()
    (stick / "mini" / "config.json").unlink()
    with pytest.raises(ModelMissing, match=r"config\.json is not there"):
        add_models(stick)


def test_a_damaged_file_of_the_catalogue_on_the_stick_is_called_so(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("tiny", fetch=index)
    stick = tmp_path / "stick"
    export_models(stick)
    (stick / "tiny.gguf").write_bytes(WEIGHTS[:-1] + b"?")
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "elsewhere"))
    with pytest.raises(WeightsCorrupt, match="the catalogue pins"):
        add_models(stick)
    assert not (models_folder() / "tiny.gguf").exists()


def test_a_folder_of_safetensors_travels_alone(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(write_folder(tmp_path / "Own-0.5B"))
    stick = tmp_path / "stick"
    export_models(stick)
    assert holds_models(stick)
    assert not holds_models(stick / "Own-0.5B")
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "elsewhere"))
    assert [model.id for model in add_models(stick)] == ["Own-0.5B"]


def test_what_is_not_installed_and_what_is_in_the_way_is_said(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no model is installed"):
        export_models(tmp_path / "stick")
    install("tiny", fetch=index)
    with pytest.raises(ModelMissing, match="'mini' is not installed"):
        export_models(tmp_path / "stick", ["mini"])
    (tmp_path / "stick").mkdir()
    (tmp_path / "stick" / "tiny.gguf").write_bytes(b"another")
    with pytest.raises(ModelError, match="with other content"):
        export_models(tmp_path / "stick")
    assert (tmp_path / "stick" / "tiny.gguf").read_bytes() == b"another"
    assert not holds_models(tmp_path / "nowhere")


def test_a_place_that_cannot_be_written_is_an_error_with_its_name(index: Index, tmp_path: Path) -> None:
    install("tiny", fetch=index)
    (tmp_path / "file").write_text("", encoding="utf-8")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ModelError, match=r"cannot be made"):
            export_models(place)
