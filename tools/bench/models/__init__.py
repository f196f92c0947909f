"""The models of the training steps, each written once for thalweg and torch."""
