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
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        prompt: str | None = None,
        output: Mapping[str, Any] = {},
        batch_prompt: str | None = None,
        max_batch_size: int | None = None,
        calibrate: bool = False,
        num_calibration_docs: int = 10,
        input: str | Sequence[str] = (),
        drop_keys: str | Sequence[str] = (),
        cite: bool = False,
    ) -> Self:
        """Add the fields of `schema` to each row, in written order; then drop `drop_keys`.

        `samples` answers make as many rows of each row. Without a prompt, map only drops keys.
        `probabilities` names further fields: the probability of a choice (engine.operators.probabilities).
        With `cite`, each field names the lines of the text that it comes from, and is null where they do not hold it.
        A field of `schema` may be in `drop_keys`: it is written for the model's benefit and kept in no row.

        Inside output: schema, probabilities, n.
        """

    def parallel_map(
        self,
        name: str | None = None,
        *,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        prompts: Sequence[Any] = (),
        output: Mapping[str, Any] = {},
        input: str | Sequence[str] = (),
        drop_keys: str | Sequence[str] = (),
    ) -> Self:
        """Add the fields of `schema` to each row, each answered by the prompt that has it in `output_keys`.

        Each prompt is a map of its own fields and knows nothing of the other answers. Where prompts begin with the same
        text (the document), the model reads it once. A row whose prompts are not all answered, fails.

        Inside output: schema.
        """

    def filter(
        self,
        name: str | None = None,
        *,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        prompt: str | None = None,
        output: Mapping[str, Any] = {},
        batch_prompt: str | None = None,
        max_batch_size: int | None = None,
        calibrate: bool = False,
        num_calibration_docs: int = 10,
        input: str | Sequence[str] = (),
        drop_keys: str | Sequence[str] = (),
        correct_lean: Literal['none', 'anchors', 'content_free', 'batch', 'reviewed'] = 'none',
        reviewed: Sequence[Any] = (),
        condition: str | None = None,
        readings: str | Sequence[str] = (),
        add: str | Sequence[str] = (),
        margin: float = 0.0,
        vote: str | None = None,
        keep_decision: bool = False,
    ) -> Self:
        """Decide each row by the one boolean of `schema`; rejected rows stay in the ledger with the reason.

        Further fields, such as a quote before the boolean (evidence first), are added to the rows that stay. The boolean
        is true in all of these and left out unless `keep_decision`. `drop_keys` are dropped from the rows that stay.
        With `condition`, an expression over `input`, code decides and no model is asked:
        `input.outcome in ["sustained", "admitted"]`. With `readings`, fields that hold probabilities (map's
        output.probabilities), rows are kept whose vote over all rows (engine.operators.bias), plus the votes in the fields
        `add`, is above `margin`; `vote` names a field to write the sum to. `probabilities` names further fields of the
        rows that stay: the probability of a choice (engine.operators.probabilities), of the boolean that decides the
        corrected one (DecidingNode).

        Inside output: schema, probabilities.
        """

    def extract(
        self,
        name: str | None = None,
        *,
        prompt: str,
        document_keys: str | Sequence[str],
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        extraction_method: Literal['line_number', 'regex'] = 'line_number',
        format_extraction: bool = True,
        extraction_key_suffix: str | None = None,
    ) -> Self:
        """Write `{document_key}{suffix}`: what the text of that field holds of what `prompt` asks for, word for word.

        By `line_number` the model names lines; by `regex` it writes patterns, which are matched in linear time. The
        suffix is `_extracted_{name}` unless `extraction_key_suffix` says otherwise. The field is one text, an empty line
        between passages, or a list of them without `format_extraction`. The document lines of each are kept (Row.copied).
        In `validate` and `gleaning`, `output` has these fields.
        """

    def answer(
        self,
        name: str | None = None,
        *,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        question: str | None = None,
        questions: Sequence[Any] = (),
        text_key: str = 'text',
        contract: Literal['minimal', 'rich'] = 'minimal',
        signals: Mapping[str, Any] = {},
        quote: bool = False,
        accept: Sequence[Any] = ('verbatim', 'inferred'),
        retrieval: Literal['hybrid', 'fts', 'embedding', 'whole'] = 'hybrid',
        passage_tokens: int = 2000,
        rounds: int = 2,
        max_items: int = 40,
        second_look: bool = True,
        keep_signals: bool = False,
    ) -> Self:
        """Answer `question`, or each of `questions`, from the text in `text_key`, by a model that names the lines.

        For a question `name` it writes `{name}` (the value; `answer` for `question`), `{name}_status` (found, partial,
        none, conflict or clarify), `{name}_note` (caveats, and what to ask back) and `{name}_items` (each value with its
        lines, page and snippet); with `keep_signals` also `_{name}_signals`. `contract` says how much the model tells of
        its own answer, `signals` adds to it.
        `accept` are the ways of coming by a value that may be kept. A text of up to `passage_tokens` is shown whole, else
        the passages that `retrieval` finds; `rounds` are how often it looks. `second_look` asks of each item, by itself,
        whether it answers the question. In `validate` and
        `gleaning`, `output` has what the model wrote as values, under the question's name.
        """

    def unnest(
        self,
        name: str | None = None,
        *,
        unnest_key: str,
        sample: int | None = None,
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
        sample: int | None = None,
        method_kwargs: Mapping[str, Any] = {},
        num_splits_to_group: int | None = None,
    ) -> Self:
        """Cut `split_key` by `token_count` (at most `num_tokens` a chunk), at each `delimiter`, by page or by section.

        Method `page` puts `num_pages` pages into a chunk. Method `section` cuts before each heading, `max_level` being the
        lowest kind that counts (None: all), and writes each chunk's headings to `{name}_headers`, as gather takes them.
        Where a text is not that of a document, form feeds end pages, and headings are found by how they are written.

        `num_splits_to_group` pieces between delimiters make one chunk; a delimiter between chunks is in neither. Peers
        document that key both inside and beside `method_kwargs`; both places are read. `model` names the model whose tokens
        are counted.

        Inside method_kwargs: num_tokens, delimiter, num_splits_to_group, num_pages, max_level, model.
        """

    def gather(
        self,
        name: str | None = None,
        *,
        content_key: str,
        doc_id_key: str,
        order_key: str,
        sample: int | None = None,
        peripheral_chunks: Mapping[str, Any] = {},
        doc_header_key: str | None = None,
        main_chunk_start: str = '--- Begin Main Chunk ---',
        main_chunk_end: str = '--- End Main Chunk ---',
    ) -> Self:
        """Write `{content_key}_rendered`: the chunk `content_key` among the chunks with the same `doc_id_key`.

        `main_chunk_start` and `main_chunk_end` are the lines around it. Chunks are ordered by `order_key`. `doc_header_key`
        holds each chunk's headings: [{header, level}, ...].
        """

    def resolve(
        self,
        name: str | None = None,
        *,
        output: Mapping[str, Any],
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        correct_lean: Literal['none', 'anchors', 'content_free', 'batch', 'reviewed'] = 'anchors',
        reviewed: Sequence[Any] = (),
        blocking_threshold: float | None = None,
        blocking_target_recall: float = 0.95,
        blocking_conditions: str | Sequence[str] = (),
        limit_comparisons: int | None = None,
        compare_batch_size: int | None = None,
        comparison_model: str | None = None,
        comparison_prompt: str | None = None,
        resolution_prompt: str | None = None,
        input: Mapping[str, Any] = {},
        blocking_keys: str | Sequence[str] = (),
        rules: str | Sequence[str] = (),
        same_as: Sequence[Any] = (),
        keep_apart: Sequence[Any] = (),
        similarity_threshold: float | None = None,
        canonical: str | None = None,
        resolution_model: str | None = None,
    ) -> Self:
        """Replace the fields of `schema` by a canonical value for all rows that mean the same.

        Distinct values are compared, not rows. Who decides, in this order: `keep_apart` and `same_as` (pairs of values),
        then `rules`, then `similarity_threshold`, then the model with `comparison_prompt` (`input1`, `input2`) on the pairs
        that are proposed. What the user or a rule keeps apart never meets through third parties.

        With `similarity_threshold` values are the same whose rows are on average so alike, by the embeddings of their
        `blocking_keys`: a cosine, inclusive (engine.operators.average_linkage).

        Pairs are proposed by `rules`, or as in all operators that compare (ComparingNode): conditions over `left` and
        `right`, embeddings of `blocking_keys` (default: the resolved fields).

        The canonical value is written by the model from `resolution_prompt` (`inputs`: one row per distinct value, of which
        it sees the fields `input`, or all), or is
        the value of most rows (`most_common`), or the fullest (`longest`, under the rule person_name the name with most
        whole words). A field `X_original` in the schema receives the value that X had, and a field `X_entity`
        a number from 1, the same for all rows that were found to mean the same: as a reduce key it keeps apart what has one
        name without being one.

        Inside output: schema; input: schema.
        """

    def equijoin(
        self,
        right: Pipeline,
        name: str | None = None,
        *,
        comparison_prompt: str,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        correct_lean: Literal['none', 'anchors', 'content_free', 'batch', 'reviewed'] = 'anchors',
        reviewed: Sequence[Any] = (),
        blocking_threshold: float | None = None,
        blocking_target_recall: float = 0.95,
        blocking_conditions: str | Sequence[str] = (),
        limit_comparisons: int | None = None,
        compare_batch_size: int | None = None,
        comparison_model: str | None = None,
        blocking_keys: Mapping[str, Any] = {},
        limits: Mapping[str, Any] = {},
        how: Literal['inner', 'left'] = 'inner',
        output: Mapping[str, Any] = {},
    ) -> Self:
        """Ask about pairs of a left and a right row with `comparison_prompt` (`left`, `right`); merge those that match.

        Pairs are proposed as in all operators that compare (ComparingNode), by embeddings of `left_keys` and `right_keys`
        (default: the fields that the prompt reads). A left row matches at most `most_left` right rows and a right row at
        most `most_right` left rows, the most similar ones. `how` left keeps a left row without a match, with null for
        the right fields. `probabilities` names fields of the merged rows: how likely it is that they match
        (`{p_same: same}`), null without a match. `output` is what DocETL pipelines may say of the merged rows; it changes
        nothing.

        Inside blocking_keys: left, right; limits: left, right; output: schema, probabilities.
        """

    def link_resolve(
        self,
        name: str | None = None,
        *,
        comparison_prompt: str,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        correct_lean: Literal['none', 'anchors', 'content_free', 'batch', 'reviewed'] = 'anchors',
        reviewed: Sequence[Any] = (),
        blocking_threshold: float | None = None,
        blocking_target_recall: float = 0.95,
        blocking_conditions: str | Sequence[str] = (),
        limit_comparisons: int | None = None,
        compare_batch_size: int | None = None,
        comparison_model: str | None = None,
        id_key: str = 'title',
        link_key: str = 'related_to',
    ) -> Self:
        """Replace each value of `link_key` that is no row's `id_key` by the id that means the same, if there is one.

        `comparison_prompt` sees `link_value`, `id_value` and `item`, the row of that id. Ids are compared with a link from
        the most similar on, until the model finds one the same. Pairs are proposed as in all operators that compare
        (ComparingNode), by embeddings of the link and the id; in conditions `left` is `{link_value}` and `right` the row.
        """

    def dedup(
        self,
        name: str | None = None,
        *,
        sample: int | None = None,
        keys: str | Sequence[str] = (),
        text_threshold: float | None = None,
        embedding_threshold: float | None = None,
        keep: Literal['first', 'longest'] = 'first',
        count_key: str | None = None,
    ) -> Self:
        """Keep the first (or the longest) of rows whose fields `keys` (default: all) are nearly the same.

        Rows are duplicates when their texts share at least the part `text_threshold` of their pieces of 5 letters
        (Jaccard), or the cosine of their embeddings is at least `embedding_threshold`; with neither given, text at 0.8.
        Each row that is dropped is that similar to the one that is kept. Rows without text are kept.
        `count_key` receives the number of rows that one stands for.
        """

    def sim_join(
        self,
        right: Pipeline,
        name: str | None = None,
        *,
        left_key: str,
        right_key: str,
        sample: int | None = None,
        k: int = 1,
        min_similarity: float | None = None,
        score_key: str = 'similarity',
        how: Literal['inner', 'left'] = 'inner',
        exact: bool = False,
    ) -> Self:
        """Merge each left row with the `k` right rows whose `right_key` is most similar to its `left_key`.

        Pairs with a cosine below `min_similarity` do not count. The cosine is written to `score_key`. `how` left keeps
        a left row without a match, with null for the right fields and the score.

        Beyond 100,000 right rows an index answers, if there are many left rows: it may miss a few, and the ledger says how
        many about. With `exact` every pair is compared.
        """

    def search(
        self,
        name: str | None = None,
        *,
        query: str,
        sample: int | None = None,
        keys: str | Sequence[str] = (),
        top_k: int = 10,
        mode: Literal['fts', 'embedding', 'hybrid'] = 'hybrid',
        score_key: str | None = None,
    ) -> Self:
        """Keep the `top_k` rows whose fields `keys` (default: all) answer `query` best, the best first.

        `mode`: fts ranks by the words they share (BM25), embedding by meaning, hybrid by both (reciprocal rank fusion).
        A row without any word of the query is no answer under fts. The score is written to `score_key` if given; scores of
        different modes cannot be compared.
        """

    def reduce(
        self,
        name: str | None = None,
        *,
        reduce_key: str | Sequence[str],
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        prompt: str | None = None,
        output: Mapping[str, Any] = {},
        input: str | Sequence[str] | Mapping[str, Any] = (),
        fold_prompt: str | None = None,
        fold_batch_size: int | None = None,
        merge_prompt: str | None = None,
        merge_batch_size: int | None = None,
        value_sampling: Mapping[str, Any] | None = None,
        pass_through: bool = False,
        associative: bool = True,
        persist_intermediates: bool = False,
        synthesize_resolve: bool = True,
        aggregate: Mapping[str, Any] = {},
    ) -> Self:
        """Make one row of each group with equal values of `reduce_key` (`_all`: one group of everything).

        The row has the keys, with `pass_through` the first row's other fields, then the fields of `schema`, which the model
        writes from `prompt` (`inputs`, `reduce_key`), then those of `aggregate`, which code computes. Either may be absent:

            aggregate: {acts: collect, first_date: {min: date}, records: {count: filename}}

        `input` names the fields that prompts see, as a list or as DocETL's `{schema: {field: type}}`; `value_sampling` the
        rows. `lineage` names fields of all rows of the group to list in `<name>_lineage`.

        A group larger than `fold_batch_size`, or than the context, is folded in order with `fold_prompt` (`inputs`,
        `output`, `reduce_key`). With `merge_prompt` (`outputs`, `reduce_key`) or `merge_batch_size`, parts of it are folded
        at once and merged, if it is `associative`. A prompt that is absent is made from `prompt`. Rows keep their order in
        all cases. `persist_intermediates` lists the results on the way in `_<name>_intermediates`. A group that fails,
        fails all its rows. `synthesize_resolve: false` tells the optimizer to put no resolve before it.

        Inside output: schema, lineage.
        """

    def cluster(
        self,
        name: str | None = None,
        *,
        embedding_keys: str | Sequence[str],
        summary_schema: SchemaLike,
        summary_prompt: str,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        output_key: str = 'clusters',
        collapse: float | None = None,
        num_clusters: int | None = None,
        distance_threshold: float | None = None,
        max_batch_size: int | None = None,
    ) -> Self:
        """Write into `output_key` of each row the clusters it is in, the smallest first, the one of all rows last.

        Rows are embedded by the values of `embedding_keys` and merged in pairs (Ward's criterion); one without any text
        there is in no cluster. Each cluster is named by the fields of `summary_schema`, which the model writes from
        `summary_prompt`; its `inputs` are what the cluster was merged from: rows, or named clusters. An entry of
        `output_key` has the `distance` at which the cluster was merged, and the name.

        `collapse` (0 to 1) leaves out the share of clusters that are hardly nearer than the one above. With `num_clusters`
        or `distance_threshold` the clusters are flat: each row has one entry, and a cluster's `inputs` are its rows.
        `max_batch_size` bounds the clusters that are named at once.
        """

    def sample(
        self,
        name: str | None = None,
        *,
        method: Literal['uniform', 'first', 'outliers', 'custom', 'top_embedding', 'top_fts'],
        sample: int | None = None,
        samples: int | float | Sequence[Any] | None = None,
        stratify_key: str | Sequence[str] = (),
        samples_per_group: bool = False,
        random_state: int | None = None,
        weight: Literal['size'] | None = None,
        method_kwargs: Mapping[str, Any] = {},
    ) -> Self:
        """Take `samples` rows: a number of them, a fraction, or for method custom the rows that match one of a list.

        `stratify_key` shares the number out over the groups of rows with equal values there, or takes it from each group
        with `samples_per_group`. `weight: size` makes long rows more likely. `random_state` None stands for the
        pipeline's seed, so that a run that resumes draws the same rows.

        Inside method_kwargs: embedding_keys, std, samples, keep, center, keys, query.
        """

    def scan(
        self,
        name: str | None = None,
        *,
        dataset_name: str,
        sample: int | None = None,
    ) -> Self:
        """Give the rows of the dataset `dataset_name`: the step that begins with it reads them and needs no `input`."""

    def add_uuid(
        self,
        name: str | None = None,
        *,
        sample: int | None = None,
        id_key: str | None = None,
    ) -> Self:
        """Write a UUID to `id_key`, `{name}_id` if not given: version 5 of RFC 9562, from how the row was made."""

    def unnest_columns(
        self,
        name: str | None = None,
        *,
        unnest_key: str,
        sample: int | None = None,
        keys: str | Sequence[str] = (),
        drop_source: bool = True,
    ) -> Self:
        """Make a field of each entry of the dictionary in `unnest_key`, or of the entries `keys`, null where missing.

        The dictionary goes, unless `drop_source` is false. Null counts as a dictionary without entries.
        """

    def compute(
        self,
        name: str | None = None,
        *,
        fields: Mapping[str, Any],
        sample: int | None = None,
        rates: Sequence[Any] = (),
        basis: bool = True,
    ) -> Self:
        """Add a field for each expression of `fields`, in written order: `output` is the row with those before it.

        `rates` is the table that `convert` uses. With `basis`, `NAME_basis` says of the field NAME by which expression and
        which rates it was computed, and why it is null.
        """

    def code_map(
        self,
        name: str | None = None,
        *,
        code: str,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        output: Mapping[str, Any] = {},
        concurrent_thread_count: int | None = None,
        limit: int | None = None,
        timeout_seconds: float = 60.0,
        memory_bytes: int = 1073741824,
        drop_keys: str | Sequence[str] = (),
    ) -> Self:
        """Add the dictionary that `transform(doc)` returns to each row, then drop `drop_keys`.

        With `limit`, only the first rows are worked on; the others are rejected.

        Inside output: schema.
        """

    def code_filter(
        self,
        name: str | None = None,
        *,
        code: str,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        output: Mapping[str, Any] = {},
        concurrent_thread_count: int | None = None,
        limit: int | None = None,
        timeout_seconds: float = 60.0,
        memory_bytes: int = 1073741824,
    ) -> Self:
        """Keep the rows for which `transform(doc)` returns what Python counts as true; the others are rejected.

        With `limit`, rows are looked at until so many have been kept, the rest is rejected.

        Inside output: schema.
        """

    def code_reduce(
        self,
        name: str | None = None,
        *,
        code: str,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        output: Mapping[str, Any] = {},
        concurrent_thread_count: int | None = None,
        limit: int | None = None,
        timeout_seconds: float = 60.0,
        memory_bytes: int = 1073741824,
        reduce_key: str | Sequence[str] = ('_all',),
        pass_through: bool = False,
    ) -> Self:
        """Make one row of each group with equal values of `reduce_key` (`_all`: one group of everything).

        The row has the keys, with `pass_through` the first row's other fields, and what `transform(items)` returns, which
        wins over both. With `limit`, only the smallest groups are worked on; rows of the others are rejected.

        Inside output: schema.
        """

    def rank(
        self,
        name: str | None = None,
        *,
        prompt: str,
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
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
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
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
        sample: int | None = None,
        on_error: Literal['record', 'fail_run'] = 'record',
        skip_on_error: bool | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        validate: str | Sequence[str] = (),
        num_retries_on_validate_failure: int = 2,
        gleaning: Mapping[str, Any] | None = None,
        examples: Sequence[Any] = (),
        retriever: str | None = None,
        save_retriever_output: bool = False,
        too_long: Literal['error', 'middle_out', 'head', 'head_tail', 'split'] = 'error',
        layout: Literal['as_written', 'document_first'] = 'as_written',
        agree: int | Mapping[str, Any] | None = None,
        limit: int | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
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
