"""A class of Qt's with abstract methods is not made while one is missing."""

from __future__ import annotations

from abc import abstractmethod

import pytest
from PySide6.QtCore import QObject

from desktop.abstract import QtABCMeta


class Shape(QObject, metaclass=QtABCMeta):
    @abstractmethod
    def area(self) -> int:
        """Return it."""


class Square(Shape):
    def area(self) -> int:
        return 4


def test_what_is_missing_is_named_and_what_is_whole_is_made() -> None:
    with pytest.raises(TypeError, match="Shape lacks area"):
        Shape()  # type: ignore[abstract]
    assert Square().area() == 4
