"""What English texts say that there is nothing, and which only look like it."""

import pytest

from engine.text.nothing import says_nothing


@pytest.mark.parametrize(
    "text",
    [
        *("N/A", "n/a.", "None", "null", "Not specified", "not specified in the text", "Not explicitly mentioned"),
        *("No such clause", "No date specified", "no information", "None mentioned in this document", "Nothing found"),
        *("It is not stated in the police report.", "No badge number is given"),
    ],
)
def test_there_is_nothing(text):
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "No", "Unknown", "Nona Available", "Not guilty", "not specified by the Buyer until May", "No contest"),
        *("None of the officers", "no weapon", "Given", "The date is not specified, but it was a Monday"),
    ],
)
def test_there_is_something(text):
    assert not says_nothing(text)
