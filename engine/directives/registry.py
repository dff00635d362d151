"""The directives there are, in the order in which they are tried; a search knows none by name."""

from __future__ import annotations

from engine.directives.base import AnyDirective, Blocked, Facts, Place, Site
from engine.directives.batched_folding import BatchedFolding
from engine.directives.chaining import Chaining
from engine.directives.chunk_filtering import ChunkFiltering
from engine.directives.clarify_instructions import ClarifyInstructions
from engine.directives.document_chunking import DocumentChunking
from engine.directives.duplicate_key_resolution import DuplicateKeyResolution
from engine.directives.flattening import Flattening
from engine.directives.gleaning import GleaningMap, GleaningReduce
from engine.directives.header_lineage import HeaderLineage
from engine.directives.held_types import HeldTypes
from engine.directives.isolating import Isolating
from engine.directives.located_items import LocatedItems
from engine.directives.metadata_before_split import MetadataBeforeSplit
from engine.directives.multi_level_aggregation import MultiLevelAggregation
from engine.directives.pre_aggregation import PreAggregation
from engine.directives.pre_joining import PreJoining
from engine.directives.second_reading import SecondReading
from engine.directives.switch_model import SwitchModel
from engine.directives.synthesised_blocking import SynthesisedBlocking
from engine.directives.verified_items import VerifiedItems
from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.plan.plan import Plan

DIRECTIVES: tuple[AnyDirective, ...] = (
    DocumentChunking(),
    MetadataBeforeSplit(),
    HeaderLineage(),
    ChunkFiltering(),
    Flattening(),
    MultiLevelAggregation(),
    GleaningMap(),
    GleaningReduce(),
    DuplicateKeyResolution(),
    Chaining(),
    Isolating(),
    PreAggregation(),
    PreJoining(),
    SecondReading(),
    VerifiedItems(),
    HeldTypes(),
    LocatedItems(),
    SynthesisedBlocking(),
    BatchedFolding(),
    ClarifyInstructions(),
    SwitchModel(),
)
"""Those of the paper by their equation, then those that came after it."""


def directive(name: str) -> AnyDirective:
    """Find a directive by its name, as reports write it; raises UsageError listing the names there are."""
    by_name = {one.name: one for one in DIRECTIVES}
    if name not in by_name:
        raise UsageError(f"there is no directive {name!r}", advice=did_you_mean(name, list(by_name)))
    return by_name[name]


def matching(plan: Plan, place: Place, facts: Facts) -> list[tuple[AnyDirective, Site]]:
    """Return the directives that rewrite the operator at a place, with the site of each."""
    matches = ((one, one.matches(plan, place, facts)) for one in DIRECTIVES)
    return [(one, site) for one, site in matches if not isinstance(site, Blocked)]
