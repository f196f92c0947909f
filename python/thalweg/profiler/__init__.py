"""Profiles in PyTorch's terms: what ran, when, on which thread, under which module; eager ops and static programs."""

from thalweg.profiler.events import EventAverage, EventList, ProfileEvent
from thalweg.profiler.profile import ProfilerAction, ProfilerActivity, profile, record_function, schedule

__all__ = [
    "EventAverage",
    "EventList",
    "ProfileEvent",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
]
