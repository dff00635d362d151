"""Every operator reads its documented YAML keys, and writes them back as they were."""

import pytest
from ruamel.yaml import YAML

from engine.errors import PipelineError
from engine.language.binding import bind, unbind
from engine.language.position import Where
from engine.operators.registry import REGISTRY

OPERATORS = """
map:
  - {name: m, prompt: "{{ input.text }}", output: {schema: {a: string}}, input: [text], drop_keys: [text]}
  - {name: m, drop_keys: [text]}
  - name: m
    prompt: "{{ input.text }}"
    batch_prompt: "{{ inputs }}"
    max_batch_size: 4
    calibrate: true
    num_calibration_docs: 3
    output: {schema: {a: boolean}, probabilities: {p: a}}
  - {name: m, prompt: "{{ input.text }}", output: {schema: {a: string}, n: 3}, temperature: 0.5}
parallel_map:
  - name: p
    prompts:
      - prompt: "{{ input.text }}"
        output_keys: [a]
        name: first
        model: small
        gleaning: {validation_prompt: "{{ output.a }}", num_rounds: 2}
      - {prompt: "{{ input.text }}", output_keys: [b]}
    output: {schema: {a: string, b: integer}}
    drop_keys: [text]
extract:
  - {name: e, prompt: Find it., document_keys: [text], extraction_method: regex, format_extraction: false}
answer:
  - {name: a, question: "{{ input.q }}", contract: rich, rounds: 3, signals: {black: {type: boolean, prompt: so}}}
  - name: a
    retrieval: fts
    accept: [verbatim]
    questions:
      - {name: since, question: Since when?, type: date(order=DMY), shape: single, keywords: [since]}
      - {name: shares, question: Which shares?, shape: table, fields: {who: person, share: number, paid: {on: date}}}
filter:
  - {name: f, prompt: "{{ input.text }}", batch_prompt: "{{ inputs }}", output: {schema: {keep: boolean}}}
  - {name: f, prompt: "{{ input.text }}", output: {schema: {quote: quote, keep: boolean}}, model: small}
unnest:
  - {name: u, unnest_key: k, keep_empty: true, expand_fields: [a], recursive: true, depth: 3}
split:
  - {name: s, split_key: t, method: token_count, method_kwargs: {num_tokens: 500, model: small}}
  - {name: s, split_key: t, method: delimiter, method_kwargs: {delimiter: ";"}, num_splits_to_group: 3}
  - {name: s, split_key: t, method: delimiter, method_kwargs: {delimiter: ";", num_splits_to_group: 3}}
gather:
  - name: g
    content_key: c
    doc_id_key: d
    order_key: o
    peripheral_chunks: {previous: {middle: {content_key: s}, tail: {content_key: c}}, next: {head: {count: 1}}}
    doc_header_key: h
resolve:
  - name: r
    comparison_prompt: "{{ input1.n }} {{ input2.n }}"
    resolution_prompt: "{% for i in inputs %}{{ i.n }}{% endfor %}"
    output: {schema: {n: string}}
    blocking_keys: [n]
    blocking_threshold: 0.8
    blocking_conditions: ["left['n'] == right['n']"]
    limit_comparisons: 10
    rules: [person_name]
    same_as: [[a, b]]
    keep_apart: [[a, c]]
    canonical: model
reduce:
  - name: r
    reduce_key: [a, b]
    prompt: "{{ reduce_key.a }} {{ inputs[0].x }}"
    output: {schema: {s: string}}
    fold_prompt: "{{ output.s }} {{ inputs[0].x }}"
    fold_batch_size: 5
    pass_through: true
    associative: false
    aggregate: {n: {count: x}, x: collect}
  - name: r
    reduce_key: [a]
    input: [x, y]
    prompt: "{{ inputs[0].x }}"
    output: {schema: {s: string}, lineage: [i]}
    merge_prompt: "{{ outputs[0].s }} {{ reduce_key.a }}"
    merge_batch_size: 3
    value_sampling: {enabled: false, method: sem_sim, sample_size: 9, embedding_keys: [y], query_text: "q"}
    persist_intermediates: true
    synthesize_resolve: false
cluster:
  - name: c
    embedding_keys: [a, b]
    summary_schema: {a: string}
    summary_prompt: "{{ inputs[0].a }}"
    output_key: kinds
    collapse: 0.5
    max_batch_size: 5
  - {name: c, embedding_keys: [a], summary_schema: {b: string}, summary_prompt: "{{ inputs }}", num_clusters: 3}
  - {name: c, embedding_keys: [a], summary_schema: {b: string}, summary_prompt: "{{ inputs }}", distance_threshold: 1.5}
"""

CASES = [(kind, case) for kind, cases in YAML(typ="safe").load(OPERATORS).items() for case in cases]


@pytest.mark.parametrize(("kind", "case"), CASES, ids=[kind for kind, _ in CASES])
def test_yaml_is_read_and_written_back(kind, case):
    node_type = REGISTRY[kind].node_type
    node = bind(node_type, case, Where())
    assert unbind(node) == case
    assert bind(node_type, unbind(node), Where()) == node
    assert (node.kind, REGISTRY[kind].node_type) == (kind, node_type)
    assert isinstance(hash(node), int)


@pytest.mark.parametrize("kind", list(REGISTRY))
def test_an_unknown_key_is_refused_with_the_valid_ones(kind):
    with pytest.raises(PipelineError, match="unknown key 'nmae'") as caught:
        bind(REGISTRY[kind].node_type, {"nmae": "x"}, Where())
    assert "'name'" in caught.value.advice


def test_a_single_reduce_key_may_be_written_as_text():
    node = bind(REGISTRY["reduce"].node_type, {"name": "r", "reduce_key": "_all", "aggregate": {"n": "sum"}}, Where())
    assert (node.reduce_key, node.keys) == (("_all",), ())
