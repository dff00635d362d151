"""A small folder of records, a pipeline over it and a scripted model, as the tests of the command line have them."""

from tests.unit.engine.cli.conftest import models, pipeline, redwell  # noqa: F401
