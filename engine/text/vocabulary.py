"""Word lists of police and court English: where full stops do not end sentences, words that name nobody."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


NEVER_LAST = word_set(
    """
    sgt sgts ofc ofcs off ofcr lt lieut det dets insp inv capt cpt cpl pfc ptl ptlm maj col cmdr chf supt dep dpty
    tpr agt
    mr mrs ms dr messrs prof hon rev gen gov sen rep pres atty attys asst assoc
    vs v cf viz al eg ie e.g i.e seq sect par para fig figs ex exh tr dkt app id op cir crim civ evid fed
    u.s.c m.g.l stat ann supp cal ill wash penn approx ph tel ext fmr dist
    jan feb mar apr jun jul aug sept sep oct nov dec
    """
)
"""Titles, citations and months: a name, a number or the rest of a citation follows."""

NUMBER_FOLLOWS = word_set("nos p pp c ch vol apt ste rm bldg pg ln item art sec rt rte hwy unit badge star")
"""Not a sentence's end when a number follows ('Apt. 2')."""

SOMETIMES_LAST = word_set(
    """
    st ave blvd rd ct pl pkwy hwy jr sr ii iii esq inc corp co ltd llc llp bros dept div pct precinct etc
    mt ft lbs lb oz in hr hrs min mins sec yr yrs govt natl intl bldg
    """
)
"""A sentence's end only when a word follows that starts sentences ('on Main St. He left.')."""

STARTERS = word_set(
    """
    the a an he she it they we i you this that these those there his her its their our my
    on in at as after before when while during upon once then if although because since however moreover
    furthermore additionally also no not by for from with according both all one neither
    officer officers sergeant detective lieutenant defendant defendants plaintiff plaintiffs complainant
    """
)
"""Words that, capitalised, most likely start a sentence."""

BEFORE_NAMES = word_set(
    "yesterday today tomorrow later afterwards eventually meanwhile nevertheless unlike did does was were is"
)
"""Words that, capitalised, stand before a name and are no part of it ('Yesterday Harmon left.')."""

TIMES = word_set("a.m p.m am pm")

TIME_OPENERS = word_set("on at by around about approximately after before since until from sometime")
"""First words of a sentence that opens with a time ('At 11:30 p.m. Ofc. Doe arrived.')."""

AFTER_TIME = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december est edt cst cdt mst mdt pst pdt et ct
    """
)
"""Words that go on with the time before them ('8:30 p.m. Friday')."""

NOT_NAMES = word_set(
    """
    department office city county state court district division unit report complaint complainants force use
    excessive unknown allegation allegations incident internal affairs conduct misconduct arrest false search seizure
    sustained exonerated unfounded street avenue road station university hospital bureau board commission review
    neglect duty policy violation unlawful detention battery assault suspension reprimand written termination
    form address telephone email signature statement supporting deposition information notice affidavit
    schedule appendix exhibit attachment enclosure section paragraph chapter subsection agreement contract summary
    narrative findings conclusion recommendation background vehicle registration license licence plate traffic citation
    ticket summons warrant docket evidence hearing versus vs
    """
)
"""Words that are capitalised in records but are no part of a person's name."""
