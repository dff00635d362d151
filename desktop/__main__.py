"""Start the app: `python -m desktop [--network] [--passphrase-on-stdin] [CASE]`."""

from __future__ import annotations

import sys

from engine.disk import private_umask
from engine.fencing import begin

NETWORK, PASSPHRASE = "--network", "--passphrase-on-stdin"

if __name__ == "__main__":
    private_umask()
    # Before Qt is loaded, and the worker started, which is fenced with the window.
    begin(["worker", *sys.argv[1:]])
    from desktop.app import main

    passphrase = sys.stdin.buffer.readline().decode().removesuffix("\n") if PASSPHRASE in sys.argv else ""
    arguments = [word for word in sys.argv if word not in (NETWORK, PASSPHRASE)]
    sys.exit(main(arguments, passphrase=passphrase, network=NETWORK in sys.argv))
