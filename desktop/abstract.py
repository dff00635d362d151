"""Abstract classes among Qt's: its metaclass and that of `abc` in one."""

from __future__ import annotations

from abc import ABCMeta

from PySide6.QtCore import QObject


class QtABCMeta(ABCMeta, type(QObject)):  # type: ignore[misc]
    """Metaclass of a QObject with abstract methods; making one whose methods are missing raises TypeError."""

    def __call__(cls, *args: object, **keywords: object) -> object:
        """Make an instance. Qt's own makes one without looking for methods that are missing."""
        if missing := ", ".join(sorted(cls.__abstractmethods__)):
            raise TypeError(f"{cls.__name__} lacks {missing}")
        return super().__call__(*args, **keywords)
