"""What can be done with a page, for whichever viewer is in sight: a shortcut can be taken only once."""

from __future__ import annotations

from collections.abc import Callable

from desktop.actions import Actions
from desktop.viewer import ZOOM_STEP, Viewer


def add_page_actions(actions: Actions, find: Callable[[], Viewer], copy: Callable[[], bool]) -> None:
    """Add the menu Page, and copying. `find` returns the viewer that an action is for.

    `copy` puts what is selected elsewhere in the place on the clipboard; where it returns False, the page's text is.
    """

    def page(text: str, do: Callable[[Viewer], object], shortcut: str, icon_name: str) -> None:
        actions.add(text, lambda: do(find()), menu="Page", shortcut=shortcut, icon_name=icon_name)

    page("&Next page", lambda viewer: viewer.go_to_page(viewer.page + 1), "Ctrl+PgDown", "next")
    page("&Previous page", lambda viewer: viewer.go_to_page(viewer.page - 1), "Ctrl+PgUp", "previous")
    page("Zoom &in", lambda viewer: viewer.zoom_by(ZOOM_STEP), "Ctrl++", "zoom_in")
    page("Zoom &out", lambda viewer: viewer.zoom_by(1 / ZOOM_STEP), "Ctrl+-", "zoom_out")
    page("&Fit the width", lambda viewer: viewer.fit(), "Ctrl+0", "fit")
    page("&Turn", lambda viewer: viewer.rotate(), "Ctrl+R", "rotate")
    page("Show the &text that was read", lambda viewer: viewer.toggle_text(), "Ctrl+T", "text")
    page("&Find in the document…", lambda viewer: viewer.focus_search(), "Ctrl+G", "search")
    actions.add("&Copy", lambda: None if copy() else find().view.copy(), menu="Edit", shortcut="Ctrl+C")
    actions.add("Select &page", lambda: _select_all(find()), menu="Edit", shortcut="Ctrl+Shift+A")


def _select_all(viewer: Viewer) -> None:
    viewer.view.select_all()
