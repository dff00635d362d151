"""The places of the window. To add one: a module here, and its class in the list below."""

from __future__ import annotations

from desktop.place import Place
from desktop.places.documents import DocumentsPlace
from desktop.places.export import ExportPlace
from desktop.places.improve import ImprovePlace
from desktop.places.models import ModelsPlace
from desktop.places.question import QuestionPlace
from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.places.settings import SettingsPlace
from desktop.places.start import StartPlace

PLACES: tuple[type[Place], ...] = (
    StartPlace,
    DocumentsPlace,
    QuestionPlace,
    RunPlace,
    ResultsPlace,
    ImprovePlace,
    ExportPlace,
    ModelsPlace,
    SettingsPlace,
)
"""In the order of the side bar; Alt+1 leads to the first."""
