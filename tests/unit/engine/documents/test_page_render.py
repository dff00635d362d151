from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from PIL import Image

from engine.documents.document import Box
from engine.documents.options import ParseOptions
from engine.documents.render import Child, render_page
from engine.errors import DocumentError


def edge_at(path: Path, x: float, y: float) -> bool:
    """Say whether the picture (72 dpi) is red at this point."""
    with Image.open(path) as image:
        red, green, blue = image.convert("RGB").getpixel((x, y))  # type: ignore[misc]
    return red > 150 and green < 90 and blue < 90


def test_pdf_page_with_a_box(make_pdf: Callable[..., Path], tmp_path: Path) -> None:
    path = make_pdf("a.pdf", [[], [(72, 100, "text")]], rotation=90)
    out = tmp_path / "page.png"
    render_page(path, 2, boxes=[Box(100, 200, 300, 250)], dpi=72, out=out)
    with Image.open(out) as image:
        assert image.size == (792, 612)
    assert edge_at(out, 200, 198.5)
    assert not edge_at(out, 200, 225)


def test_attachment_of_a_mail(make_pdf: Callable[..., Path], tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["From"] = "a@example.org"
    mail.set_content("x")
    data = make_pdf("a.pdf", [[(72, 100, "text")]]).read_bytes()
    mail.add_attachment(data, maintype="application", subtype="pdf", filename="a.pdf")
    path = tmp_path / "m.eml"
    path.write_bytes(mail.as_bytes())
    out = tmp_path / "page.png"
    render_page(path, 1, boxes=[], dpi=36, out=out, member="a.pdf")
    with Image.open(out) as image:
        assert image.size == (306, 396)


def test_attachment_of_a_mail_in_an_archive(make_pdf: Callable[..., Path], tmp_path: Path) -> None:
    """The mail has few headers: that it is one is known by its name."""
    mail = EmailMessage()
    mail["From"] = "a@example.org"
    mail.set_content("x")
    data = make_pdf("a.pdf", [[(72, 100, "text")]]).read_bytes()
    mail.add_attachment(data, maintype="application", subtype="pdf", filename="a.pdf")
    path, out = tmp_path / "all.zip", tmp_path / "page.png"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in/m.eml", mail.as_bytes())
    render_page(path, 1, boxes=[], dpi=36, out=out, member="in/m.eml/a.pdf")
    with Image.open(out) as image:
        assert image.size == (306, 396)


def test_two_attachments_of_one_name(tmp_path: Path) -> None:
    """In cases of earlier versions both are called `a.png`; then the digest tells which is meant."""
    pictures = []
    mail = EmailMessage()
    mail["From"] = "a@example.org"
    mail.set_content("x")
    for size in ((40, 20), (60, 30)):
        Image.new("RGB", size).save(tmp_path / "a.png", dpi=(72, 72))
        pictures.append((tmp_path / "a.png").read_bytes())
        mail.add_attachment(pictures[-1], maintype="image", subtype="png", filename="a.png")
    path, out = tmp_path / "m.eml", tmp_path / "page.png"
    path.write_bytes(mail.as_bytes())
    first, second = (hashlib.sha256(data).hexdigest() for data in pictures)
    for member, digest, size in (
        ("a.png", None, (40, 20)),
        ("a (2).png", None, (60, 30)),
        ("a.png", first, (40, 20)),
        ("a.png", second, (60, 30)),
    ):
        render_page(path, 1, boxes=[], out=out, member=member, member_id=digest)
        with Image.open(out) as image:
            assert image.size == size
    with pytest.raises(DocumentError, match="has no 'a.png' in it"):
        render_page(path, 1, boxes=[], out=out, member="a.png", member_id="0" * 64)


def test_what_has_no_picture(make_pdf: Callable[..., Path], tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("x")
    for path, page in ((text, 1), (make_pdf("a.pdf", [[]]), 2)):
        with pytest.raises(DocumentError) as caught:
            render_page(path, page, boxes=[], out=tmp_path / "page.png")
        assert caught.value.reason == "no_page_image"


def test_one_child_draws_many_pages_and_a_dead_one_is_replaced(make_pdf: Callable[..., Path], tmp_path: Path) -> None:
    paths = [make_pdf(name, [[(72, 100, "text")]]) for name in ("a.pdf", "b.pdf")]
    text = tmp_path / "a.txt"
    text.write_text("x")
    out = tmp_path / "page.png"
    (tmp_path / "scratch").mkdir()
    with Child(ParseOptions(), tmp_path / "scratch", [*paths, text]) as child:
        started = []
        for path in paths:
            render_page(path, 1, boxes=[], out=out, child=child)
            started.append(child._process)
            out.unlink()
        with pytest.raises(DocumentError) as caught:
            render_page(text, 1, boxes=[], out=out, child=child)
        assert caught.value.reason == "no_page_image"
        assert started[0] is started[1] is child._process is not None
        child._process.kill()
        with pytest.raises(DocumentError) as caught:
            render_page(paths[0], 1, boxes=[], out=out, child=child)
        assert caught.value.reason == "crashed"
        render_page(paths[0], 1, boxes=[], out=out, child=child)
        assert out.is_file()
    assert list((tmp_path / "scratch").iterdir()) == []
