"""Composites: functions written with registered ops. Importing the package exports them (see thalweg._registry)."""
