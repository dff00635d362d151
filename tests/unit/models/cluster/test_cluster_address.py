from __future__ import annotations

import importlib.util

import pytest

from models.addresses import ClusterAddress, HostPort, read_cluster
from models.cluster.backend import Cluster
from models.errors import AddressRefused, ModelError, RuntimeMissing


def test_reads_the_four_forms() -> None:
    assert read_cluster("local") == ClusterAddress(workers=2)
    assert read_cluster(" local:7 ") == ClusterAddress(workers=7)
    assert read_cluster("lab:6379") == ClusterAddress(HostPort("lab", 6379))
    assert read_cluster("ray://127.0.0.1:10001") == ClusterAddress(HostPort("127.0.0.1", 10001), is_client=True)


def test_writes_what_it_reads() -> None:
    for text in ("local:3", "lab:6379", "ray://[::1]:10001"):
        assert str(read_cluster(text)) == text


@pytest.mark.parametrize("text", ["", "local:", "local:0", "local:257", "local:-1", "auto", "ray://", "ray://lab", "x"])
def test_refuses_other_texts(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_cluster(text)
    assert "local:" in caught.value.advice


@pytest.mark.parametrize("text", ["lab:6379", "ray://lab:6379", "192.168.0.7:6379"])
def test_a_cluster_elsewhere_needs_the_very_address_allowed(text: str) -> None:
    address = read_cluster(text)
    with pytest.raises(AddressRefused) as caught:
        Cluster(address, allowed=[HostPort(address.head.host, 6380), HostPort("other", 6379)])
    assert f"--allow-host {address.head}" in caught.value.advice


def test_without_ray_it_says_what_to_install(monkeypatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else found(name))
    for cluster, allowed in (("local:2", []), ("lab:6379", [HostPort("lab", 6379)])):
        with pytest.raises(RuntimeMissing) as caught:
            Cluster(read_cluster(cluster), allowed=allowed)
        assert "pip install -e '.[ray]'" in caught.value.advice
