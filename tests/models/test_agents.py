"""The agent of the optimizer on a real small model: what it writes can be used."""

from __future__ import annotations

import asyncio

import pytest
from directive_cases import FACTS, rewritten_cases
from real_model import open_real_model, real_model

from engine.directives.base import Site
from engine.directives.registry import directive
from engine.optimizer.instantiate import GenerationAgent
from models.protocol import Reply, Request

pytestmark = pytest.mark.model

CASES = {case.directive: case for case in rewritten_cases()}
RECORD = "Officer Ana Roe struck a man with a baton. The night was cold.\nOfficer Paul Diaz lied in a report."


class Counting:
    """A model, and how many questions it was asked."""

    def __init__(self, backend) -> None:
        self._backend, self.asked = backend, 0
        self.context_tokens, self.count_tokens = backend.context_tokens, backend.count_tokens

    async def ask(self, request: Request) -> Reply:
        self.asked += 1
        return await self._backend.ask(request)


@pytest.mark.parametrize("name", ["gleaning_map", "clarify_instructions"])
def test_what_a_small_model_proposes_can_be_applied(name: str) -> None:
    one, case = directive(name), CASES[name]
    site = one.matches(case.before, case.place, FACTS)
    assert isinstance(site, Site)

    async def propose():
        model = Counting(open_real_model(path, 4096))
        try:
            proposal = await GenerationAgent(model).propose(one, site, examples=[{"text": RECORD}])
        finally:
            await model._backend.close()
        return proposal, model.asked

    path = real_model()
    proposal, asked = asyncio.run(propose())
    assert one.check_params(site, proposal.params) == []
    assert asked == len(proposal.complaints) + proposal.by_model
    assert asked in (1, 2)
