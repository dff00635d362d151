"""Networks: what stands in the same row, nothing else; expected links are counted by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from engine.errors import UsageError
from engine.results.layout import lay_out
from engine.results.network import Network, NetworkChoice, NetworkRow, Node, make_network
from engine.results.network_files import entity_id, network_format, write_network

ROWS = (
    NetworkRow("r1", {"officer": "Ruiz", "others": ["Harmon", "Lee"], "place": "Oak Street"}, ("d1",)),
    NetworkRow("r2", {"officer": "Harmon", "others": ["Ruiz"], "place": "Oak Street"}, ("d1", "d2")),
    NetworkRow("r3", {"officer": "Oak Street", "others": [], "place": ""}, ("d2",)),
    NetworkRow("r4", {"officer": None, "others": [], "place": ""}, ("d3",)),
)
PEOPLE = NetworkChoice(people=("officer", "others"), with_documents=False)
FILES = {"d1": 'a "one".pdf', "d2": "b & two.pdf", "d3": "c.pdf"}


def pairs(network: Network) -> dict[frozenset[str], tuple[str, ...]]:
    return {frozenset((network.nodes[k.first].label, network.nodes[k.second].label)): k.rows for k in network.links}


def test_values_of_the_same_row_are_linked_and_lists_are_split() -> None:
    network = make_network(ROWS, PEOPLE)
    assert [(node.label, node.rows) for node in network.nodes] == [
        ("Harmon", ("r1", "r2")),
        ("Ruiz", ("r1", "r2")),
        ("Lee", ("r1",)),
        ("Oak Street", ("r3",)),
    ]
    assert pairs(network) == {
        frozenset(("Ruiz", "Harmon")): ("r1", "r2"),
        frozenset(("Ruiz", "Lee")): ("r1",),
        frozenset(("Harmon", "Lee")): ("r1",),
    }
    assert {node.label: node.columns for node in network.nodes}["Ruiz"] == ("officer", "others")


def test_a_thing_is_another_node_than_a_person_of_the_same_name() -> None:
    network = make_network(ROWS, NetworkChoice(("officer",), (), ("place",), with_documents=False))
    assert sorted((n.kind, n.label) for n in network.nodes if n.label == "Oak Street") == [
        ("person", "Oak Street"),
        ("thing", "Oak Street"),
    ]
    things = NetworkChoice(things=("officer", "place"), with_documents=False)
    assert len([node for node in make_network(ROWS, things).nodes if node.label == "Oak Street"]) == 2


def test_each_value_is_linked_with_its_documents_and_a_row_that_names_nobody_with_none() -> None:
    network = make_network(ROWS, NetworkChoice(people=("officer",)))
    assert pairs(network) == {
        frozenset(("Ruiz", "d1")): ("r1",),
        frozenset(("Harmon", "d1")): ("r2",),
        frozenset(("Harmon", "d2")): ("r2",),
        frozenset(("Oak Street", "d2")): ("r3",),
    }
    assert "d3" not in {node.label for node in network.nodes}


def test_the_largest_part_keeps_what_most_rows_name() -> None:
    part = make_network(ROWS, PEOPLE).largest(2, 5)
    assert [node.label for node in part.nodes] == ["Harmon", "Ruiz"]
    assert pairs(part) == {frozenset(("Ruiz", "Harmon")): ("r1", "r2")}
    assert len(make_network(ROWS, PEOPLE).largest(9, 1).links) == 1


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (NetworkChoice(), "no column is chosen"),
        (NetworkChoice(people=("oficer",)), "no column 'oficer'"),
        (NetworkChoice(people=("officer",), things=("officer",)), "names 'officer' twice"),
    ],
)
def test_choices_that_mean_nothing_are_refused(choice: NetworkChoice, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choice.check(("officer", "others", "place"))


def test_graphml_has_every_node_and_link(tmp_path: Path) -> None:
    network = make_network([*ROWS, NetworkRow("r5", {"officer": "A\x01<B>"}, ("d1",))], NetworkChoice(("officer",)))
    write_network(network, FILES, tmp_path / "n.graphml")
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ElementTree.parse(tmp_path / "n.graphml").getroot()
    nodes, edges = root.findall(f".//{space}node"), root.findall(f".//{space}edge")
    assert (len(nodes), len(edges)) == (len(network.nodes), len(network.links))
    labels = {node.find(f"{space}data[@key='label']").text for node in nodes}  # type: ignore[union-attr]
    assert labels == {"Ruiz", "Harmon", "Oak Street", "A�<B>", FILES["d1"], FILES["d2"]}
    ids = {node.get("id") for node in nodes}
    assert all(edge.get("source") in ids and edge.get("target") in ids for edge in edges)


@pytest.mark.parametrize("suffix", [".graphml", ".ftm.json"])
def test_half_a_character_in_a_name_does_not_end_an_export(tmp_path: Path, suffix: str) -> None:
    network = make_network([NetworkRow("r1", {"officer": "Ann\ud83d"}, ("d1",))], NetworkChoice(("officer",)))
    write_network(network, {"d1": "M\udcfcller.txt"}, tmp_path / f"n{suffix}")
    assert (tmp_path / f"n{suffix}").read_text(encoding="utf-8").count("Ann") == 1


def test_follow_the_money_has_entities_and_links_with_ids_that_stay(tmp_path: Path) -> None:
    network = make_network(ROWS, NetworkChoice(("officer",), ("others",), ("place",)))
    files = [tmp_path / "a.ftm.json", tmp_path / "b.FTM.json"]
    for file in files:
        write_network(network, FILES, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    entities = [json.loads(line) for line in files[0].read_text(encoding="utf-8").splitlines()]
    by_id = {entity["id"]: entity for entity in entities}
    assert len(by_id) == len(entities) == len(network.nodes) + len(network.links)
    # the ranges of FollowTheMoney's schemas: subject, object and entity are things, document is a document
    for entity in entities:
        properties = entity["properties"]
        match entity["schema"]:
            case "UnknownLink":
                ends = {by_id[properties[end][0]]["schema"] for end in ("subject", "object")}
                assert ends <= {"Person", "Organization", "Asset"}
            case "Documentation":
                assert by_id[properties["document"][0]]["schema"] == "Document"
                assert by_id[properties["entity"][0]]["schema"] in ("Person", "Organization", "Asset")
            case "Document":
                assert properties["fileName"][0] in FILES.values()
            case schema:
                assert schema in ("Person", "Organization", "Asset") and properties["name"]
        assert all(isinstance(values, list) for values in properties.values())


def test_the_id_of_a_node_depends_on_what_it_is_alone() -> None:
    ruiz = Node("person", "Ruiz", ("officer",), ("r1",))
    assert entity_id(ruiz) == entity_id(Node("person", "Ruiz", ("others",), ("r7", "r8")))
    assert entity_id(ruiz) != entity_id(Node("organization", "Ruiz", ("officer",), ("r1",)))
    assert entity_id(Node("thing", "x", ("a",), ())) != entity_id(Node("thing", "x", ("b",), ()))


def test_the_name_of_a_file_names_the_format() -> None:
    names = ("a.graphml", "a.FTM.JSON", "a.json", "a.csv", "ftm.json")
    assert [network_format(Path(name)) for name in names] == [".graphml", ".ftm.json", "", "", ""]


def test_linked_nodes_are_nearer_than_others_and_the_same_network_has_the_same_places() -> None:
    triangles = [(a + n, b + n, 1.0) for n in (0, 3) for a, b in ((0, 1), (1, 2), (0, 2))]
    places = lay_out(6, triangles)
    inside = max(math.dist(places[a], places[b]) for a, b, _ in triangles)
    between = min(math.dist(places[a], places[b]) for a in (0, 1, 2) for b in (3, 4, 5))
    assert inside < between
    assert lay_out(6, triangles) == places
    assert lay_out(0, []) == []
    assert len(lay_out(1, [])) == 1


def test_many_nodes_have_places_of_their_own() -> None:
    links = [(0, n, 1.0) for n in range(1, 900)]
    places = lay_out(900, links)
    assert len(set(places)) == 900
    assert all(math.isfinite(x) and math.isfinite(y) for x, y in places)
