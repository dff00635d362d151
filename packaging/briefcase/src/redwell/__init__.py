"""Redwell as an application that Briefcase packs."""
