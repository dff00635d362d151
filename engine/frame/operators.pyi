# Made by `python -m engine.frame.stub`; do not edit.
"""One method per registered operator."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from engine.frame.pipeline import Pipeline

SchemaLike = Mapping[str, Any] | type[Any]

class OperatorMethods:
    """A method per operator, by its `type`."""

    def map(
        self,
        name: str | None = None,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        prompt: str | None = None,
        output: Mapping[str, Any] = {},
        input: str | Sequence[str] = (),
        drop_keys: str | Sequence[str] = (),
    ) -> Self:
        """Add the fields of `schema` to each row, in written order; then drop `drop_keys`.

        `input` lists the fields the prompt may see (empty: all). Without a prompt, map only drops keys.
        `probabilities` names further fields: the probability of a choice (engine.operators.probabilities).
        A field of `schema` may be in `drop_keys`: it is written for the model's benefit and kept in no row.

        Inside output: schema, probabilities.
        """

    def filter(
        self,
        name: str | None = None,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        prompt: str | None = None,
        output: Mapping[str, Any] = {},
        condition: str | None = None,
        readings: str | Sequence[str] = (),
        add: str | Sequence[str] = (),
        margin: float = 0.0,
        vote: str | None = None,
        input: str | Sequence[str] = (),
        keep_decision: bool = False,
    ) -> Self:
        """Decide each row by the one boolean of `schema`; rejected rows stay in the ledger with the reason.

        Further fields, such as a quote before the boolean (evidence first), are added to the rows that stay. The boolean
        is true in all of these and left out unless `keep_decision`. `input` lists the fields the prompt may see.
        With `condition`, an expression of the template language over `input`, code decides and no model is asked:
        `input.outcome in ["sustained", "admitted"]`. With `readings`, fields that hold probabilities (map's
        output.probabilities), rows are kept whose vote over all rows (engine.operators.vote), plus the votes in the fields
        `add`, is above `margin`; `vote` names a field to write the sum to.

        Inside output: schema.
        """

    def unnest(
        self,
        name: str | None = None,
        *,
        unnest_key: str,
        keep_empty: bool = False,
        expand_fields: str | Sequence[str] = (),
        recursive: bool = False,
        depth: int | None = None,
    ) -> Self:
        """Replace the list in `unnest_key` by its elements, one row each; keep a dictionary and lift its fields.

        `expand_fields` are lifted from a dictionary, or from each element of a list of dictionaries; a field that an
        element lacks is null. Without it a dictionary's fields are all lifted, and a list's elements stay whole unless
        `recursive`. `recursive` goes into lists inside lists and lifts the fields of dictionaries found there,
        `depth` levels in all (None: to the end). An empty list is rejected, or one row with null if `keep_empty`.
        """

    def split(
        self,
        name: str | None = None,
        *,
        split_key: str,
        method: str,
        method_kwargs: Mapping[str, Any] = {},
        num_splits_to_group: int | None = None,
    ) -> Self:
        """Cut `split_key` by `token_count` (at most `num_tokens` a chunk) or after each `delimiter`.

        `num_splits_to_group` pieces between delimiters make one chunk. Peers document that key both inside and beside
        `method_kwargs`; both places are read. `model` names the model whose tokens are counted.

        Inside method_kwargs: num_tokens, delimiter, num_splits_to_group, model.
        """

    def gather(
        self,
        name: str | None = None,
        *,
        content_key: str,
        doc_id_key: str,
        order_key: str,
        peripheral_chunks: Mapping[str, Any] = {},
        doc_header_key: str | None = None,
    ) -> Self:
        """Write `{content_key}_rendered`: the chunk `content_key` among the chunks with the same `doc_id_key`.

        Chunks are ordered by `order_key`. `doc_header_key` holds each chunk's headings: [{header, level}, ...].
        """

    def resolve(
        self,
        name: str | None = None,
        *,
        output: Mapping[str, Any],
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        comparison_prompt: str | None = None,
        resolution_prompt: str | None = None,
        blocking_keys: str | Sequence[str] = (),
        blocking_threshold: float | None = None,
        blocking_conditions: str | Sequence[str] = (),
        limit_comparisons: int | None = None,
        rules: str | Sequence[str] = (),
        same_as: Sequence[Any] = (),
        keep_apart: Sequence[Any] = (),
        canonical: str | None = None,
    ) -> Self:
        """Replace the fields of `schema` by a canonical value for all rows that mean the same.

        Distinct values are compared, not rows. Who decides, in this order: `keep_apart` and `same_as` (pairs of values),
        then `rules`, then the model with `comparison_prompt` (`input1`, `input2`) on the pairs that are proposed. What the
        user or a rule keeps apart never meets through third parties.

        Pairs are proposed by `rules`, by `blocking_conditions` (expressions over `left` and `right`), and by embeddings of
        `blocking_keys` (default: the resolved fields) with a cosine of at least `blocking_threshold`; with none of these
        three given, embeddings at 0.5. At most `limit_comparisons` pairs are asked, the most alike first.

        The canonical value is written by the model from `resolution_prompt` (`inputs`: one row per distinct value), or is
        the value of most rows (`most_common`), or the fullest (`longest`, under the rule person_name the name with most
        whole words). A field `X_original` in the schema receives the value that X had, and a field `X_entity`
        a number from 1, the same for all rows that were found to mean the same: as a reduce key it keeps apart what has one
        name without being one.

        Inside output: schema.
        """

    def reduce(
        self,
        name: str | None = None,
        *,
        reduce_key: str | Sequence[str],
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        prompt: str | None = None,
        output: Mapping[str, Any] = {},
        fold_prompt: str | None = None,
        fold_batch_size: int | None = None,
        pass_through: bool = False,
        associative: bool = True,
        aggregate: Mapping[str, Any] = {},
    ) -> Self:
        """Make one row of each group with equal values of `reduce_key` (`_all`: one group of everything).

        The row has the keys, with `pass_through` the first row's other fields, then the fields of `schema`, which the model
        writes from `prompt` (`inputs`, `reduce_key`), then those of `aggregate`, which code computes. Either may be absent:

            aggregate: {acts: collect, first_date: {min: date}, records: {count: filename}}

        A group larger than `fold_batch_size`, or than the context, is folded in order with `fold_prompt` (`inputs`,
        `output`, `reduce_key`); without one, the fold prompt is made from `prompt`. Rows keep their order in all cases, so
        `associative: false` only forbids the optimizer to reorder. A group that fails, fails all its rows.

        Inside output: schema.
        """

    def rank(
        self,
        name: str | None = None,
        *,
        prompt: str,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        input_keys: str | Sequence[str] = (),
        direction: Literal['asc', 'desc'] = 'desc',
        initial_ordering_method: Literal['likert', 'embedding', 'calibrated_embedding'] = 'likert',
        batch_size: int = 1,
        num_calibration_docs: int = 5,
        rerank_call_budget: int | None = None,
        call_budget: int | None = None,
        num_top_items_per_window: int = 3,
        overlap_fraction: float = 0.5,
        window_size: int | None = None,
        k: int | None = None,
    ) -> Self:
        """Order all rows by the criterion `prompt` (plain text), and number them from 1 in the field `_rank`.

        The first order is by ratings of 1 to 7 that the model gives to `batch_size` rows at once (`likert`), by the cosine
        of criterion and row (`embedding`), or by the ratings of a sample, carried over to the rows that are like them
        (`calibrated_embedding`). Then windows of rows are shown to the model from the bottom to the top; its
        `num_top_items_per_window` picks move to the front of the window. At most `rerank_call_budget` windows are asked
        about; 0 leaves the first order as it is. A window is as small as the budget allows for all rows to be reached, and
        has at most `window_size` rows: then those at the bottom may stay where they are. `k` says that only the first k
        places matter. `direction` desc puts what matches most first. `input_keys` are the fields compared, none: all.
        """

    def order(
        self,
        name: str | None = None,
        *,
        prompt: str,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        input_keys: str | Sequence[str] = (),
        direction: Literal['asc', 'desc'] = 'desc',
        initial_ordering_method: Literal['likert', 'embedding', 'calibrated_embedding'] = 'likert',
        batch_size: int = 1,
        num_calibration_docs: int = 5,
        rerank_call_budget: int | None = None,
        call_budget: int | None = None,
        num_top_items_per_window: int = 3,
        overlap_fraction: float = 0.5,
        window_size: int | None = None,
        k: int | None = None,
    ) -> Self:
        """Do what `rank` does; DocETL has called it so, and pipelines still do."""

    def topk(
        self,
        name: str | None = None,
        *,
        method: Literal['embedding', 'fts', 'hybrid', 'llm_compare'],
        k: float,
        keys: str | Sequence[str],
        query: str,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stratify_key: str | Sequence[str] = (),
        rerank_call_budget: int = 10,
        num_top_items_per_window: int = 3,
        batch_size: int = 10,
    ) -> Self:
        """Keep the best `k` rows (a share of the rows if below 1) for `query`, in order; reject the others.

        `fts` scores the words of the fields `keys` (BM25), `embedding` their meaning, `hybrid` both; none asks the model.
        `llm_compare` orders the rows as `rank` does, from a first order by embeddings, with at most `rerank_call_budget`
        windows of `batch_size` rows; its query is plain text. `query` may read fields of the rows: those with the same
        query, `{{ input.question }}`, compete. With `stratify_key`, k rows are kept of each group of equal values. The
        fields `_<name>_rank` (from 1) and, unless the model compares, `_<name>_score` are added.
        """
