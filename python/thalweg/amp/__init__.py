"""Mixed precision."""

from thalweg.amp.grad_scaler import GradScaler

__all__ = ["GradScaler"]
