#!/usr/bin/env python3
"""Check an export of Redwell with nothing but Python 3.9 or later. This file needs no other.

    python3 verify_manifest.py results.csv.manifest.json [FOLDER OF THE SOURCE FILES]

Beside the manifest lie the export (results.csv) and a copy of the custody log (results.csv.custody.jsonl), and perhaps
a signature (...manifest.json.sig) and a timestamp (...manifest.json.tsr). What is checked, in this order:

 export     its SHA-256 is the one in the manifest
 log        each line of the log names the SHA-256 of the line before; that of the last is the "head" in the manifest
 record     the log has an entry for this export, for the results it was written from, and for each source file
 sources    each file in the folder has the SHA-256 in the manifest
 signature  Ed25519 (RFC 8032) over the bytes of the manifest
 timestamp  the token (RFC 3161) is about the SHA-256 of the manifest; who made it is checked with openssl

It ends with 0 if all that could be checked agrees, 1 if something differs, 2 if something could not be checked.
It shows that these files belong together. That they were so at a certain time is shown only by what the other side
could not change since: a timestamp, or a manifest (or its SHA-256) that left their hands earlier (--earlier).
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

OK, DIFFERS, UNKNOWN, NOTE = "ok", "DIFFERS", "CANNOT CHECK", "-"
MOST_SHOWN = 50  # lines about single source files; all are counted

Say = list[tuple[str, str, str]]  # what was checked, OK or DIFFERS or UNKNOWN or NOTE, text
Entry = dict[str, Any]
Point = tuple[int, int, int, int]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def beside(manifest: Path, name: str) -> Path:
    """Return the file of that name in the folder of the manifest; a name may not lead elsewhere."""
    if Path(name).name != name:
        raise ValueError(f"{name!r} is not the name of a file")
    return manifest.parent / name


def check_export(say: Say, path: Path, wanted: str) -> None:
    """Compare the export with the manifest."""
    if not path.is_file():
        say.append(("export", UNKNOWN, f"{path}: there is no such file"))
    elif sha256_of(path) != wanted:
        say.append(("export", DIFFERS, f"{path}: it is not the file that the manifest is about"))
    else:
        say.append(("export", OK, f"{path.name}: SHA-256 {wanted}"))


def read_log(path: Path) -> list[Entry]:
    """Read the entries of a log and check every link; raises ValueError naming the first that is wrong."""
    entries, previous = [], "0" * 64
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        entry = json.loads(line)
        if entry["number"] != number or entry["previous"] != previous:
            raise ValueError(f"entry {number} does not follow the one before")
        previous = hashlib.sha256(line).hexdigest()
        entries.append({**entry["body"], "time": entry["time"], "digest": previous})
    return entries


def check_log(say: Say, path: Path, custody: Entry) -> list[Entry] | None:
    """Check the chain and that it ends as the manifest says; return its entries, None if something is wrong."""
    if not path.is_file():
        say.append(("log", UNKNOWN, f"{path}: there is no such file"))
        return None
    try:
        entries = read_log(path)
        if (entries[-1]["digest"] if entries else "") != custody["head"]:
            raise ValueError("its last entry is not the head in the manifest")
    except (ValueError, KeyError, TypeError) as error:
        say.append(("log", DIFFERS, f"{path.name}: {error}"))
        return None
    if not entries:
        say.append(("log", NOTE, "the case had none: nothing vouches for the results"))
        return entries
    say.append(("log", OK, f"{path.name}: {len(entries)} entries, each linked to the one before"))
    if entries[0].get("documents_before") or entries[0].get("runs_before"):
        say.append(("log", NOTE, f"it began on {entries[0]['time'][:10]}; the case had documents or runs before"))
    return entries


def check_record(say: Say, body: Entry, log: list[Entry]) -> None:
    """Check that the log tells of this export, of the results in it, and of every source file."""
    export, run = body["export"], body["run"]
    if any(e["event"] == "export" and (e["file"], e["sha256"]) == (export["file"], export["sha256"]) for e in log):
        say.append(("record", OK, f"the log has this export, by {export['by']}"))
    else:
        state = DIFFERS if body["custody"]["has_this_export"] else NOTE
        say.append(("record", state, "the log has no entry for this export"))
    results = [e["sha256"] for e in log if e["event"] == "results" and e["run"] == run["id"]][:1] or [""]
    started = [e["pipeline_sha256"] for e in log if e["event"] == "run_start" and e["run"] == run["id"]][:1]
    if results[0] != run["results_sha256"] or (started and started[0] != run["pipeline_sha256"]):
        say.append(("record", DIFFERS, f"the results or the pipeline of run {run['id']} are not those in the log"))
    elif results[0]:
        say.append(("record", OK, f"the log has the results of run {run['id']}"))
    else:
        say.append(("record", NOTE, f"the log has no results of run {run['id']}: nothing vouches for them"))
    logged = {e.get("sha256") for e in log if e["event"] in ("ingest", "unreadable", "data")}
    strange = [source["path"] for source in body["sources"] if source["sha256"] not in logged]
    text = f"the log has {len(body['sources']) - len(strange)} of {len(body['sources'])} source files"
    state = NOTE if log[0].get("documents_before") else DIFFERS  # those may have been read before it began
    say.append(("record", state if strange else OK, text + (f", not {strange[0]}" if strange else "")))


def check_earlier(say: Say, earlier: Path, log: list[Entry]) -> None:
    """Check that this log goes on from the one of an earlier manifest: nothing before that was written anew."""
    try:
        custody = json.loads(earlier.read_bytes())["custody"]
        count, head = custody["entries"], custody["head"]
        goes_on = not count or any(e["digest"] == head for e in log[count - 1 : count])
    except (OSError, ValueError, KeyError, TypeError) as error:
        say.append(("earlier", UNKNOWN, f"{earlier}: {type(error).__name__}: {error}"))
        return
    text = "goes on from" if goes_on else "is not a later state of"
    say.append(("earlier", OK if goes_on else DIFFERS, f"this log {text} that of {earlier.name}"))


def check_sources(say: Say, sources: list[Entry], folder: Path) -> None:
    """Compare the files in the folder with the manifest. Files inside mails and archives count with these."""
    outer = [s for s in sources if not s.get("inside") and s["sha256"]]
    wrong = []
    for source in outer:
        name = Path(source["path"])
        places = [place for place in (folder / name, folder / Path(source["folder"]).name / name) if place.is_file()]
        if name.is_absolute() or ".." in name.parts:
            wrong.append((DIFFERS, f"{name}: this path leads out of the folder"))
        elif not places:
            wrong.append((UNKNOWN, f"{name}: there is no such file"))
        elif source["sha256"] not in [sha256_of(place) for place in places]:
            wrong.append((DIFFERS, f"{name}: it has changed since it was read"))
    wrong.sort()  # those that are missing first, then those that differ
    for state, text in wrong[-MOST_SHOWN:]:
        say.append(("sources", state, text))
    others = f"{len(sources) - len(outer)} more are inside of files or could not be opened when they were read"
    say.append(("sources", NOTE if wrong else OK, f"{len(outer) - len(wrong)} of {len(outer)} are as read; {others}"))


# -- The signature: Ed25519, RFC 8032, section 5.1. A point is (X, Y, Z, T) with x = X/Z, y = Y/Z, x*y = T/Z. --------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a: Point, b: Point) -> Point:
    """Add two points (section 5.1.4)."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return ((f - e) * (h - g) % P, (h + g) * (f + e) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P)


def times(factor: int, point: Point) -> Point:
    """Multiply a point."""
    total = (0, 1, 1, 0)
    while factor:
        total = add(total, point) if factor & 1 else total
        point, factor = add(point, point), factor >> 1
    return total


def point_of(data: bytes) -> Point:
    """Read a point from its 32 bytes (section 5.1.3); raises ValueError where they are none."""
    sign, y = data[31] >> 7, int.from_bytes(data, "little") & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        raise ValueError("no point of the curve")
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Verify a signature (section 5.1.7)."""
    second = int.from_bytes(signature[32:], "little")
    if len(public) != 32 or len(signature) != 64 or second >= ORDER:
        return False
    try:
        key, first = point_of(public), point_of(signature[:32])
    except ValueError:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    a, b = times(second, BASE), add(first, times(challenge, key))
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def check_signature(say: Say, manifest: Path, path: Path, wanted: str) -> None:
    """Verify the signature if there is one; there must be one by the key `wanted` if that is not empty."""
    if not path.is_file():
        say.append(("signature", DIFFERS if wanted else NOTE, "there is none"))
        return
    try:
        body = json.loads(path.read_bytes())
        public, signature = bytes.fromhex(body["public_key"]), bytes.fromhex(body["signature"])
    except (ValueError, KeyError, TypeError) as error:
        say.append(("signature", DIFFERS, f"{path.name} is no signature, or it is damaged: {error}"))
        return
    if not is_signed(public, manifest.read_bytes(), signature):
        say.append(("signature", DIFFERS, "it is not a signature of this manifest by the key that it names"))
    elif wanted and wanted != body["public_key"]:
        say.append(("signature", DIFFERS, f"it was made with another key, {body['public_key']}"))
    else:
        ask = "" if wanted else ": ask the signer, by another way, whether that is their key"
        say.append(("signature", OK, f"made with the key {body['public_key']}{ask}"))


# -- The timestamp: what a token of RFC 3161 is about stands at a fixed place in its DER. ------------------------------


def parts_of(data: bytes) -> list[tuple[int, bytes]]:
    """Split DER into pairs of tag and content; raises ValueError or IndexError where it is none."""
    parts, at = [], 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        is_open, size = length == 0x80, length & 0x7F
        if length & 0x80:  # `size` bytes of length follow
            length, at = int.from_bytes(data[at : at + size], "big"), at + size
        if is_open or at + length > len(data):
            raise ValueError("it is cut short, or not DER")
        parts.append((tag, data[at : at + length]))
        at += length
    return parts


def imprint_of(token: bytes) -> tuple[bytes, str]:
    """Return the SHA-256 that a token is about, and its time; raises ValueError or IndexError."""
    reply = parts_of(parts_of(token)[0][1])
    content = reply if reply[0][0] == 0x06 else parts_of(reply[1][1])  # a token by itself, or a reply that holds one
    signed_data = parts_of(parts_of(content[1][1])[0][1])
    info = parts_of(parts_of(parts_of(parts_of(signed_data[2][1])[1][1])[0][1])[0][1])
    algorithm, digest = parts_of(info[2][1])
    if parts_of(algorithm[1])[0][1] != bytes.fromhex("608648016503040201"):
        raise ValueError("its digest is not SHA-256")
    return digest[1], info[4][1].decode("ascii")


def check_timestamp(say: Say, manifest: Path, path: Path) -> None:
    """Check that the token is about this manifest."""
    if not path.is_file():
        say.append(("timestamp", NOTE, "there is none"))
        return
    try:
        digest, time = imprint_of(path.read_bytes())
    except (ValueError, IndexError) as error:
        say.append(("timestamp", UNKNOWN, f"{path.name} cannot be read: {error}"))
        return
    if digest.hex() != sha256_of(manifest):
        say.append(("timestamp", DIFFERS, f"{path.name} is about another file than this manifest"))
        return
    say.append(("timestamp", OK, f"{path.name} is about this manifest and says {time}. Whether its authority made it:"))
    say.append(("", NOTE, f'openssl ts -verify -data "{manifest}" -in "{path}" -CAfile AUTHORITY.pem'))


def check(say: Say, given: argparse.Namespace) -> None:
    """Check all that there is; raises OSError, ValueError, KeyError, ... for a manifest that is none."""
    manifest, body = given.manifest, json.loads(given.manifest.read_bytes())
    if body["format"] != "redwell manifest 1":
        raise ValueError(f"the format {body['format']!r} is not known here")
    check_export(say, beside(manifest, body["export"]["file"]), body["export"]["sha256"])
    log = check_log(say, beside(manifest, body["custody"]["file"]), body["custody"])
    if log:
        check_record(say, body, log)
    if log is not None and given.earlier:
        check_earlier(say, given.earlier, log)
    if given.folder and not given.folder.is_dir():
        say.append(("sources", UNKNOWN, f"{given.folder} is not a folder"))
    elif given.folder:
        check_sources(say, body["sources"], given.folder)
    else:
        say.append(("sources", NOTE, f"no folder was named; none of {len(body['sources'])} files was compared"))
    check_signature(say, manifest, manifest.with_name(manifest.name + ".sig"), given.public_key)
    check_timestamp(say, manifest, manifest.with_name(manifest.name + ".tsr"))
    for warning in body["warnings"]:
        say.append(("warning", NOTE, warning))


def public_key(text: str) -> str:
    """Return the 64 hexadecimal digits of a key, or nothing for any key."""
    key = text.strip().lower()
    if key and not (len(key) == 64 and set(key) <= set("0123456789abcdef")):
        raise argparse.ArgumentTypeError("this is no key: write the 64 hexadecimal digits that its owner gave you")
    return key


def main(arguments: list[str] | None = None) -> int:
    """Check what the arguments name, print a table, return the exit code."""
    parser = argparse.ArgumentParser(description="Check an export of Redwell, without Redwell.")
    parser.add_argument("manifest", type=Path, metavar="MANIFEST", help="such as results.csv.manifest.json")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="the source files, to compare them too")
    parser.add_argument(
        "--public-key", type=public_key, default="", metavar="HEX", help="the key that must have signed"
    )
    parser.add_argument("--earlier", type=Path, metavar="MANIFEST", help="an earlier manifest of the same case")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # it may have no letters for the name of a file
        sys.stdout.reconfigure(errors="backslashreplace")
    say: Say = []
    try:
        check(say, options)
    except OSError as error:
        say.append(("manifest", UNKNOWN, f"{error.filename or options.manifest} cannot be read: {error.strerror}"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        text = "this is not the manifest of an export (RESULTS.manifest.json), or it is damaged"
        say.append(("manifest", UNKNOWN, f"{options.manifest}: {text}: {type(error).__name__}: {error}"))
    for what, state, text in say:
        plain = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)  # nothing steers the terminal
        sys.stdout.write(f"{what:<10} {state:<13} {plain}\n")
    states = {state for _, state, _ in say}
    return 1 if DIFFERS in states else 2 if UNKNOWN in states else 0


if __name__ == "__main__":
    sys.exit(main())
