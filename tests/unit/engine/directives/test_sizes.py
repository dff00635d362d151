"""Sizes of chunks and batches, and what is shown around a chunk."""

from engine.directives.batched_folding import batch_sizes
from engine.directives.document_chunking import BASE_WINDOWS, Window, chunk_sizes, windows


def test_chunks_take_from_a_fifth_to_four_fifths_of_the_context():
    assert chunk_sizes(10_000) == (2_000, 4_000, 6_000, 8_000)


def test_a_document_hardly_longer_than_a_chunk_is_read_with_the_base_windows():
    assert windows(1_200, 1_000) == BASE_WINDOWS == (Window(0, 0), Window(1, 0), Window(1, 1))


def test_more_context_by_the_square_root_of_the_documents_length_in_chunks():
    # 9 chunks: root 3, so up to three before and one after
    assert windows(9_000, 1_000) == (*BASE_WINDOWS, Window(2, 0), Window(3, 0), Window(3, 1))


def test_five_before_and_two_after_at_most():
    found = windows(1_000_000, 1_000)
    assert max(w.previous for w in found) == 5
    assert max(w.following for w in found) == 2
    assert Window(5, 2) in found


def test_what_does_not_fit_a_prompt_is_left_out_but_for_the_chunk_alone():
    assert windows(1_000_000, 1_000, room_tokens=2_500) == (Window(0, 0), Window(1, 0))
    assert windows(1_000_000, 1_000, room_tokens=10) == (Window(0, 0),)


def test_batches_are_from_a_fifth_to_all_of_the_rows_that_fit():
    assert batch_sizes(50) == (10, 20, 30, 40, 50)
    assert batch_sizes(3) == (1, 2, 3)
    assert batch_sizes(0) == (1,)
