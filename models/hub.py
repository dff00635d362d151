"""Bring one GGUF file from a model hub, when the user asks for it online. The only module that connects to one.

The hub is asked for the file's size and SHA-256 first (Git LFS metadata); the file is taken in only if it has both, and
its address, commit and hash stay pinned beside it. Nothing is sent but the address of the file: no name, no token.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from filelock import FileLock, Timeout

from models.cache_place import made_models_folder, make_private_folder
from models.catalog import catalog
from models.errors import ModelError, ModelMissing, WeightsCorrupt
from models.gguf import BadModelFile, read_header
from models.install import InstalledModel
from models.own_models import checked_name, pin_path, refuse_name_of_folder, refuse_taken_name
from models.placing import require_space
from models.verification import (
    CHUNK_BYTES,
    InstallProgress,
    Progress,
    no_progress,
    record_path,
    remember,
    seal,
    sha256_of,
    verified_hash,
)

HUB = "https://huggingface.co"
TIMEOUT_SECONDS = 60.0
MOST_REDIRECTS = 5
KEPT_SECONDS = 30 * 24 * 3600.0
"""A download that was broken off and has not gone on for so long is thrown away."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_ADDRESS = re.compile(r"hf:([\w.-]+)/([\w.-]+)/([\w./-]+\.gguf)(?:@([\w./-]+))?", re.ASCII)
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$")

Tell = Callable[[str], None]
"""Told the name of each host before it is contacted."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a hub, by owner, repository, path and revision."""

    owner: str
    repository: str
    path: str
    revision: str = "main"

    @classmethod
    def parse(cls, address: str) -> HubFile:
        """Read `hf:OWNER/REPO/FILE.gguf`, with `@REVISION` or not. Raises ModelError."""
        match = _ADDRESS.fullmatch(address)
        words = re.split("[/@]", address.removeprefix("hf:"))
        if match is None or {"", ".", ".."} & set(words):
            raise ModelError(
                f"{address!r} is no address of a model file", advice="Write hf:OWNER/REPO/FILE.gguf, or with @REVISION."
            )
        if _PART.search(match[3]):
            raise ModelError(
                f"{match[3]} is one part of a model in several files, which cannot be read",
                advice="Choose a file of the repository that holds the whole model.",
            )
        return cls(match[1], match[2], match[3], match[4] or "main")

    @property
    def name(self) -> str:
        """Return the file's name without folders."""
        return self.path.rpartition("/")[2]

    def url(self, revision: str) -> str:
        """Return where the file is at a revision."""
        return f"{hub_address()}/{self.owner}/{self.repository}/resolve/{quote(revision, safe='')}/{quote(self.path)}"


@dataclass(frozen=True, slots=True)
class Pin:
    """What the hub said a file is, kept beside it."""

    source: str
    commit: str
    sha256: str
    bytes: int


def hub_address() -> str:
    """Return the hub: REDWELL_HUB if set (a mirror of your own), else HUB. Raises ModelError for what is not https."""
    address = os.environ.get("REDWELL_HUB", "").rstrip("/") or HUB
    if not _is_allowed(address, address):
        raise ModelError(
            f"REDWELL_HUB is {address!r}, not an https address",
            advice="Set it to https://HOST, or unset it. Plain http is allowed to this machine itself only.",
        )
    return address


def get(address: str, *, tell: Tell, progress: Progress = no_progress) -> InstalledModel:
    """Download a model file, check it and take it in; does nothing if it is there and sound.

    An interrupted download goes on where it stopped; others that did not go on for 30 days are thrown away. Raises
    ModelError (network, disk, name), ModelMissing (no such file), WeightsCorrupt or BadModelFile; then no part of the
    file is to be seen among the models.
    """
    wanted = HubFile.parse(address)
    pin = look_up(wanted, tell)
    root = made_models_folder()
    entry = next((e for e in catalog() if not e.folder and e.files[0].sha256 == pin.sha256), None)
    target = root / (entry.place if entry else _own_name(wanted.name))
    _remove_abandoned(root, but=pin.sha256)
    with _turn(root, pin.sha256):
        if not (target.exists() and verified_hash(target, root, progress=progress) == pin.sha256):
            if entry is None:  # a damaged copy of a catalogue model gives way
                refuse_name_of_folder(target)
                if target.exists():
                    refuse_taken_name(target)
            partial = root / ".partial" / f"hub-{pin.sha256}" / "weights"
            make_private_folder(partial.parent)
            require_space(root, pin.bytes - (partial.stat().st_size if partial.exists() else 0))
            _download(wanted, pin, partial, tell, progress)
            _check(partial, pin, progress)
            partial.replace(target)
            shutil.rmtree(partial.parent)
            remember(record_path(root, target.name), {target.name: seal(target, pin.sha256)})
        if entry is None:
            pin_path(target).write_text(json.dumps(asdict(pin), indent=1) + "\n", encoding="utf-8")
    title = entry.title if entry else read_header(target).name or target.stem
    return InstalledModel(target, pin.sha256, title, entry)


def _turn(root: Path, sha256: str) -> FileLock:
    """Return the lock of who downloads a file."""
    return FileLock(root / f".hub-{sha256[:16]}.lock")


def _remove_abandoned(root: Path, *, but: str) -> None:
    """Remove what is left of downloads that nobody went on with, other than that of one file."""
    for partial in (root / ".partial").glob("hub-*/"):
        sha256 = partial.name.removeprefix("hub-")
        with contextlib.suppress(Timeout, OSError):  # who holds its turn goes on with it, or removes it
            changed = max(path.stat().st_mtime for path in (partial, *partial.iterdir()))
            if sha256 != but and time.time() - changed > KEPT_SECONDS:
                with _turn(root, sha256).acquire(timeout=0):
                    shutil.rmtree(partial)


def _own_name(name: str) -> str:
    """Check the name of a file that is none of the catalogue's, which others of that name must not replace."""
    try:
        checked_name(name)
    except ModelError as error:
        advice = "Download the file yourself and give it another name: `redwell models add FILE --name NAME`."
        raise ModelError(str(error), advice=advice) from error
    return name


def look_up(wanted: HubFile, tell: Tell) -> Pin:
    """Ask the hub for the commit, size and SHA-256 of a file. Raises ModelMissing or ModelError."""
    url = wanted.url(wanted.revision)
    for _ in range(MOST_REDIRECTS):
        with _ask("HEAD", url, {}, tell) as answer:
            headers = answer.headers
        sha256 = (headers.get("X-Linked-Etag") or "").removeprefix("W/").strip('"')
        elsewhere = urljoin(url, headers.get("Location") or url)
        # A repository that was renamed is another address of the same hub; the store of the bytes is another host.
        if sha256 or elsewhere == url or urlsplit(elsewhere).netloc != urlsplit(url).netloc:
            break
        url = elsewhere
    size, commit = headers.get("X-Linked-Size") or "", headers.get("X-Repo-Commit") or ""
    if not re.fullmatch("[0-9a-f]{64}", sha256) or not size.isdecimal() or not re.fullmatch("[0-9a-f]{40,64}", commit):
        raise ModelError(
            f"the hub does not say the SHA-256, size and commit of {wanted.path}",
            advice="Download the file with a browser, and then: redwell models add FILE.",
        )
    source = f"hf:{wanted.owner}/{wanted.repository}/{wanted.path}"
    return Pin(source, commit, sha256, int(size))


def _download(wanted: HubFile, pin: Pin, partial: Path, tell: Tell, progress: Progress) -> None:
    """Append what is missing. The address names the commit that the hash belongs to."""
    done = partial.stat().st_size if partial.exists() else 0
    if done > pin.bytes:
        partial.unlink()
        done = 0
    if done == pin.bytes:
        return
    try:
        with _follow(wanted.url(pin.commit), {"Range": f"bytes={done}-"} if done else {}, tell) as answer:
            if answer.status == http.client.OK:
                done = 0  # the whole file: this server does not go on in the middle
            elif not (answer.headers.get("Content-Range") or "").startswith(f"bytes {done}-"):
                raise ModelError("the hub sent another part of the file than was asked for", advice="Try again later.")
            with partial.open("ab" if done else "wb") as file:
                while chunk := answer.read(CHUNK_BYTES):
                    done += len(chunk)
                    if done > pin.bytes:
                        break
                    file.write(chunk)
                    progress(InstallProgress("download", done, pin.bytes))
    except (OSError, http.client.HTTPException) as error:
        raise _broken_off(partial, error) from error
    if done > pin.bytes:
        partial.unlink()
        raise WeightsCorrupt(f"{wanted.path} is larger than the hub says", advice="Nothing was kept.")
    if done < pin.bytes:
        raise _broken_off(partial, None)


def _broken_off(partial: Path, error: Exception | None) -> ModelError:
    done = partial.stat().st_size if partial.exists() else 0
    return ModelError(
        f"the download ended after {done / 1e6:,.0f} MB" + (f": {error}" if error else ""),
        advice="Give the same command again: it goes on where it stopped.",
    )


def _check(partial: Path, pin: Pin, progress: Progress) -> None:
    """Compare with what the hub said, and see that it is a model; else throw it away."""
    try:
        actual = sha256_of(partial, progress=progress)
        if actual != pin.sha256:
            raise WeightsCorrupt(
                f"{pin.source} has SHA-256 {actual}, but the hub says {pin.sha256}",
                advice="Nothing was kept. Download it again; if that repeats, do not use it.",
            )
        read_header(partial)
    except (WeightsCorrupt, BadModelFile):
        shutil.rmtree(partial.parent)
        raise


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are followed here, one by one, so that every host is named before it is contacted."""

    def redirect_request(self, *_: Any) -> None:
        return None


@contextmanager
def _follow(url: str, headers: dict[str, str], tell: Tell) -> Iterator[http.client.HTTPResponse]:
    """Get the bytes at an address, over as many redirects as are usual."""
    for _ in range(MOST_REDIRECTS):
        with _ask("GET", url, headers, tell) as answer:
            location = answer.headers.get("Location")
            if answer.status not in (301, 302, 303, 307, 308) or not location:
                yield answer
                return
        elsewhere = urljoin(url, location)
        if not _is_allowed(elsewhere, url):
            raise ModelError(f"the hub points to {urlsplit(elsewhere).netloc!r} without https", advice="Do not go on.")
        url = elsewhere
    raise ModelError("the hub points from one address to the next without end", advice="Try again later.")


@contextmanager
def _ask(method: str, url: str, headers: dict[str, str], tell: Tell) -> Iterator[http.client.HTTPResponse]:
    host = urlsplit(url).netloc
    tell(host)
    request = urllib.request.Request(url, headers={"User-Agent": "redwell", **headers}, method=method)
    try:
        answer = urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if not 300 <= error.code < 400:
            raise _refusal(host, url, error) from error
        answer = error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ModelError(f"{host} cannot be reached: {reason}", advice="Check the network and try again.") from error
    with answer:
        yield answer


def _refusal(host: str, url: str, error: urllib.error.HTTPError) -> ModelError:
    path = urlsplit(url).path
    with error:
        if error.code in (401, 403):
            return ModelError(
                f"{host} wants to know who you are before it gives out {path} ({error.code})",
                advice="Download it with a browser where you are logged in, and then: redwell models add FILE.",
            )
        if error.code == http.client.NOT_FOUND:
            return ModelMissing(f"{host} has no {path}", advice="Look at the files of the repository in a browser.")
        return ModelError(f"{host} answered {error.code} {error.reason}", advice="Try again later.")


def _is_allowed(url: str, before: str) -> bool:
    """Say whether an address may be contacted: https, or plain http from this machine to itself."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return True
    return parts.scheme == "http" and parts.hostname in LOOPBACK and urlsplit(before).hostname in LOOPBACK
