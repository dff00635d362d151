"""Timestamps: our request and the check of a token, against an authority that openssl plays."""

import shutil
import subprocess
from pathlib import Path

import pytest

from engine.custody.manifest import request_of
from engine.custody.verify_manifest import imprint_of, parts_of

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed here")

CONFIG = """
[tsa]
default_tsa = own
[own]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha1
accuracy = secs:1
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = Test authority
[extensions]
extendedKeyUsage = critical,timeStamping
"""


class Authority:
    """An authority for timestamps, in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.certificate = folder / "authority.pem"
        self._config, self._key = folder / "authority.cnf", folder / "authority.key"
        self._config.write_text(CONFIG.format(folder=folder))
        (folder / "serial").write_text("01\n")
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        files = ["-config", self._config, "-keyout", self._key, "-out", self.certificate]
        self.openssl("req", "-x509", *kind, *files)

    def openssl(self, *arguments: object) -> str:
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, check=True, encoding="utf-8")
        return done.stdout + done.stderr

    def answer(self, request: Path, reply: Path, *more: str) -> Path:
        files = ["-queryfile", request, "-signer", self.certificate, "-inkey", self._key, "-out", reply]
        self.openssl("ts", "-reply", "-config", self._config, *files, *more)
        return reply


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def manifest(pipeline: Path, redwell) -> Path:
    redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv")
    return Path("out.csv.manifest.json").resolve()


def test_a_timestamp_goes_from_request_to_verification(manifest: Path, authority: Authority, redwell) -> None:
    assert redwell("custody", "timestamp", manifest, "--request", "ask.tsq").exit_code == 0
    assert redwell("custody", "timestamp", manifest, "--request", "ask.tsq").exit_code == 2
    asked = authority.openssl("ts", "-query", "-in", "ask.tsq", "-text")
    assert "Hash Algorithm: sha256" in asked
    assert "Certificate required: yes" in asked
    authority.answer(Path("ask.tsq"), Path("reply.tsr"))
    attached = redwell("custody", "timestamp", manifest, "--token", "reply.tsr")
    assert attached.exit_code == 0, attached.output
    token = manifest.with_name("out.csv.manifest.json.tsr")
    command = next(line for line in attached.output.splitlines() if line.startswith("openssl"))
    assert "-data" in command
    verified = authority.openssl("ts", "-verify", "-data", manifest, "-in", token, "-CAfile", authority.certificate)
    assert "Verification: OK" in verified
    assert redwell("verify", manifest).exit_code == 0


def test_a_token_by_itself_without_the_reply_around_it_is_read_too(manifest: Path, authority: Authority) -> None:
    query = manifest.with_name("ask.tsq")
    query.write_bytes(request_of(manifest))
    reply = authority.answer(query, manifest.with_name("reply.tsr"))
    token = authority.answer(query, manifest.with_name("token.tsr"), "-token_out")
    assert imprint_of(reply.read_bytes())[0] == imprint_of(token.read_bytes())[0]


def test_a_token_about_another_file_is_refused_and_differs(manifest: Path, authority: Authority, redwell) -> None:
    other = manifest.with_name("other.txt")
    other.write_text("another file")
    query = manifest.with_name("ask.tsq")
    query.write_bytes(request_of(other))
    reply = authority.answer(query, manifest.with_name("reply.tsr"))
    result = redwell("custody", "timestamp", manifest, "--token", reply)
    assert result.exit_code == 2
    assert "is about another file" in " ".join(result.output.split())
    shutil.copy(reply, manifest.with_name("out.csv.manifest.json.tsr"))
    assert redwell("verify", manifest).exit_code == 1


def test_a_token_with_another_digest_than_sha_256_cannot_be_checked(
    manifest: Path, authority: Authority, redwell
) -> None:
    query = manifest.with_name("ask.tsq")
    authority.openssl("ts", "-query", "-data", manifest, "-sha1", "-out", query)
    reply = authority.answer(query, manifest.with_name("reply.tsr"))
    shutil.copy(reply, manifest.with_name("out.csv.manifest.json.tsr"))
    assert redwell("verify", manifest).exit_code == 2


@pytest.mark.parametrize("cut", [0, 1, 2, 10, 100])
def test_a_token_that_is_cut_short_or_none_is_refused(manifest: Path, authority: Authority, redwell, cut: int) -> None:
    query = manifest.with_name("ask.tsq")
    query.write_bytes(request_of(manifest))
    reply = authority.answer(query, manifest.with_name("reply.tsr"))
    reply.write_bytes(reply.read_bytes()[:cut])
    result = redwell("custody", "timestamp", manifest, "--token", reply)
    assert result.exit_code == 2
    assert "is no timestamp" in " ".join(result.output.split())
    shutil.copy(reply, manifest.with_name("out.csv.manifest.json.tsr"))
    assert redwell("verify", manifest).exit_code == 2


def test_der_with_a_length_that_is_not_given_is_refused() -> None:
    with pytest.raises(ValueError, match="not DER"):
        parts_of(b"\x30\x80\x02\x01\x01\x00\x00")


def test_der_is_split_by_its_lengths() -> None:
    assert parts_of(b"\x02\x01\x05\x04\x81\x80" + b"x" * 128) == [(2, b"\x05"), (4, b"x" * 128)]


def test_two_ways_at_once_or_none_are_refused(manifest: Path, redwell) -> None:
    assert redwell("custody", "timestamp", manifest).exit_code == 2
    assert redwell("custody", "timestamp", "no.json", "--request", "a.tsq").exit_code == 2
