"""Pipelines over documents: language, plan, operators, evidence, executor. No Qt, no model runtime."""
