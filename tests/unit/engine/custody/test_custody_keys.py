"""Ed25519 against the vectors of RFC 8032 and openssl; keys in files; signed manifests."""

import errno
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from engine.custody.keys import SigningKey, new_key, read_key
from engine.custody.verify_manifest import ORDER, is_signed
from engine.errors import UsageError

VECTORS = (
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
        "454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
        "3dca179c138ac17ad9bef1177331a704",
    ),
)
"""RFC 8032, section 7.1: secret, public key, message, signature (tests 1, 2, 3 and SHA(abc))."""

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed here")


@pytest.mark.parametrize(("secret", "public", "message", "signature"), VECTORS)
def test_signing_and_verifying_agree_with_rfc_8032(secret: str, public: str, message: str, signature: str) -> None:
    key = SigningKey(bytes.fromhex(secret))
    assert key.public.hex() == public
    assert key.sign(bytes.fromhex(message)).hex() == signature
    assert is_signed(key.public, bytes.fromhex(message), bytes.fromhex(signature))


def test_every_bit_of_a_signature_counts() -> None:
    key = SigningKey(bytes.fromhex(VECTORS[1][0]))
    signature = key.sign(b"a table")
    for bit in range(0, 512, 7):
        changed = int.from_bytes(signature, "little") ^ (1 << bit)
        assert not is_signed(key.public, b"a table", changed.to_bytes(64, "little"))
    assert not is_signed(key.public, b"another table", signature)
    assert not is_signed(SigningKey(b"\1" * 32).public, b"a table", signature)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_keys_and_signatures_of_other_lengths_verify_nothing(length: int) -> None:
    key = SigningKey(b"\7" * 32)
    assert not is_signed(bytes(length), b"", key.sign(b""))
    assert not is_signed(key.public, b"", bytes(length))
    assert not is_signed(key.public, b"", key.sign(b"") + b"\0")


def test_a_second_half_that_is_not_reduced_is_refused() -> None:
    """Section 5.1.7: else anybody could make another valid signature of the same message."""
    key = SigningKey(b"\7" * 32)
    signature = key.sign(b"")
    grown = int.from_bytes(signature[32:], "little") + ORDER
    assert not is_signed(key.public, b"", signature[:32] + grown.to_bytes(32, "little"))


@needs_openssl
def test_openssl_agrees(tmp_path: Path) -> None:
    key, message = SigningKey(b"\5" * 32), tmp_path / "message"
    message.write_bytes(b"custody")
    public, secret = tmp_path / "public.der", tmp_path / "secret.der"
    public.write_bytes(bytes.fromhex("302a300506032b6570032100") + key.public)
    secret.write_bytes(bytes.fromhex("302e020100300506032b657004220420") + key.seed)
    ours, theirs = tmp_path / "ours.sig", tmp_path / "theirs.sig"
    ours.write_bytes(key.sign(b"custody"))
    files = ["-keyform", "DER", "-rawin", "-in", str(message)]
    verify = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public), *files, "-sigfile", str(ours)]
    assert b"Verified Successfully" in subprocess.run(verify, capture_output=True, check=True).stdout
    sign = ["openssl", "pkeyutl", "-sign", "-inkey", str(secret), *files, "-out", str(theirs)]
    subprocess.run(sign, capture_output=True, check=True)
    assert theirs.read_bytes() == ours.read_bytes()


def test_a_key_is_kept_for_its_user_alone_and_under_its_passphrase(tmp_path: Path) -> None:
    open_key, hidden_key = tmp_path / "open.key", tmp_path / "hidden.key"
    made = new_key(open_key, "")
    assert read_key(open_key) == made
    hidden = new_key(hidden_key, "correct horse battery")
    assert hidden.seed.hex() not in hidden_key.read_text()
    assert read_key(hidden_key, "correct horse battery") == hidden
    with pytest.raises(UsageError, match="the passphrase does not open"):
        read_key(hidden_key, "wrong horse battery")
    if sys.platform != "win32":
        assert {stat.S_IMODE(path.stat().st_mode) for path in (open_key, hidden_key)} == {0o600}
    with pytest.raises(UsageError, match="cannot be written"):
        new_key(open_key, "")
    assert read_key(open_key) == made


def test_half_a_key_does_not_stay_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(body: object, file: TextIO, *, indent: int) -> None:
        file.write("{")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("engine.custody.keys.json.dump", full)
    with pytest.raises(UsageError, match="cannot be written to .*: No space left on device"):
        new_key(tmp_path / "new.key", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "redwell signing key 1"}', "\xff"])
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "no.key"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match="no signing key"):
        read_key(file)


def test_a_run_and_an_export_are_signed_and_verified(pipeline: Path, redwell, tmp_path: Path) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse battery\n")
    made = redwell("custody", "key", "new", "anna.key", "--passphrase-file", passphrase)
    assert made.exit_code == 0, made.output
    public = json.loads(Path("anna.key").read_text())["public_key"]
    assert public in made.output
    shown = redwell("custody", "key", "show", "anna.key", "--passphrase-file", passphrase)
    assert public in shown.output
    signing = ("--sign", "anna.key", "--sign-passphrase-file", passphrase)
    assert redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv", *signing).exit_code == 0
    assert redwell("export", "a.redwell", "--out", "more.csv", *signing).exit_code == 0
    for name in ("out.csv", "more.csv"):
        manifest = Path(f"{name}.manifest.json")
        assert redwell("verify", manifest, "records", "--public-key", public).exit_code == 0
        assert redwell("verify", manifest, "--public-key", "00" * 32).exit_code == 1
        assert redwell("verify", manifest, "--public-key", "anna.key").exit_code == 2  # it names no key
    Path("more.csv.manifest.json").write_bytes(Path("more.csv.manifest.json").read_bytes() + b"\n")
    assert redwell("verify", "more.csv.manifest.json").exit_code == 1
    Path("out.csv.manifest.json.sig").unlink()
    assert redwell("verify", "out.csv.manifest.json").exit_code == 0
    assert redwell("verify", "out.csv.manifest.json", "--public-key", public).exit_code == 1


def test_who_makes_a_key_is_told_of_its_own_passphrase_and_option(
    redwell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = redwell("custody", "key", "new", "anna.key")
    assert (refused.exit_code, "with --passphrase-file" in " ".join(refused.output.split())) == (2, True)
    assert not Path("anna.key").exists()
    monkeypatch.setattr("engine.cli.passphrases.has_terminal", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda *asked: "correct horse battery")
    made = redwell("custody", "key", "new", "anna.key")
    assert made.exit_code == 0, made.output
    assert "without it, nobody can sign with the key" in " ".join(made.output.split())
    assert read_key(Path("anna.key"), "correct horse battery")


@pytest.mark.parametrize("content", ["", "[]", '{"public_key": 1, "signature": "ab"}', '{"signature": "ab"}'])
def test_a_damaged_signature_is_not_taken_for_a_damaged_manifest(pipeline: Path, redwell, content: str) -> None:
    redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv")
    Path("out.csv.manifest.json.sig").write_text(content)
    checked = redwell("verify", "out.csv.manifest.json")
    assert checked.exit_code == 1
    lines = {line[:10].strip(): " ".join(line[11:].split()) for line in checked.output.splitlines()}
    assert lines["signature"].startswith("DIFFERS out.csv.manifest.json.sig is no signature, or it is damaged")
    assert lines["timestamp"] == "- there is none"
    assert "manifest" not in lines


def test_an_export_without_a_key_leaves_no_signature_of_the_one_before(pipeline: Path, redwell) -> None:
    assert redwell("custody", "key", "new", "anna.key", "--no-passphrase").exit_code == 0
    redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv", "--sign", "anna.key")
    assert Path("out.csv.manifest.json.sig").exists()
    redwell("export", "a.redwell", "--out", "out.csv")
    assert not Path("out.csv.manifest.json.sig").exists()


def test_a_key_that_is_not_there_stops_a_run_before_it_begins(pipeline: Path, redwell, models) -> None:
    result = redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv", "--sign", "no.key")
    assert result.exit_code == 2
    assert "no.key cannot be read" in " ".join(result.output.split())
    assert models.opened == []
    assert not Path("a.redwell").exists()
