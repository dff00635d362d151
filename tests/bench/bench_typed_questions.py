"""Ten plain questions on three folders, typed into the window: `redwell bench typed_questions --out FOLDER`.

From an empty profile, under Xvfb, with real drops and keys and the default model of this machine. Printed for each: the
actions of a person until the preview, seconds, the proposed table, the rows of the preview. Pictures go to FOLDER. The
folders are parts of ../shared/data, which a user's clone does not have.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shared_data import DATA
from side_by_side import Settings

ROOT = Path(__file__).parents[2]
MOST_ACTIONS = 4
MOST_SECONDS = 3_000
FOLDERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "complaints": (
        "police/sf_dpa_reports/*-0[1-3].pdf",
        (
            "complaints with date and outcome",
            "What was alleged, and was it sustained?",
            "Which police stations or units are mentioned?",
        ),
    ),
    "contracts": (
        "cuad/pdf/cuad-dev-0[01][35].pdf",
        (
            "parties and amounts of the contracts",
            "When does each contract start and end?",
            "Which law governs the contract? Quote the sentence",
        ),
    ),
    "forms": (
        "police/rochester_traffic_depositions/roch-dev-0[2468].pdf",
        (
            "Which cars are mentioned, with plate number?",
            "who was present",
            "For each form the date, the place and the offence",
            "Which officers are named, with rank?",
        ),
    ),
}


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="Xvfb is not installed (apt-get install xvfb xauth)")
@pytest.mark.parametrize("name", FOLDERS)
def test_typed_questions(name: str, tmp_path: Path) -> None:
    """Print what each question of a folder came to, and how many actions it took."""
    pattern, questions = FOLDERS[name]
    files = sorted(DATA.glob(pattern))
    if not files:
        pytest.skip(f"{DATA / pattern}: not there; these documents are not part of the repository")
    out = Settings.from_environment().out / f"typed-{name}"
    out.mkdir(parents=True, exist_ok=True)
    records = tmp_path / name
    records.mkdir()
    for file in files:
        shutil.copy(file, records)
    profile = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "QT_QPA_PLATFORM": "xcb", "PYTHONPATH": str(ROOT)}
    screen = ["xvfb-run", "-a", "-s", "-screen 0 1280x720x24 -nolisten tcp"]
    driven = [sys.executable, "-m", "tests.gui.typed_questions", str(records), str(out), *questions]
    subprocess.run([*screen, *driven], cwd=ROOT, env={**os.environ, **profile}, check=True, timeout=MOST_SECONDS)
    previews = json.loads((out / "told.json").read_text(encoding="utf-8"))
    print(f"\n{name}: {len(files)} files")
    for told in previews:
        print(
            f"  {told['question']}\n    {told['actions']} actions, draft {told['draft_seconds']:.0f} s, preview"
            f" {told['preview_seconds']:.0f} s, row {told['row'] or 'document'}: {'; '.join(told['columns'])}\n"
            f"    {told['said']}"
        )
        for cells in told["rows"][:4]:
            print(f"      {' | '.join(str(cell)[:40] for cell in cells)}")
    assert len(previews) == len(questions)
    assert all(told["rows"] and told["actions"] <= MOST_ACTIONS for told in previews)
