"""Tests that files follow the catalog through long-running faults: killed workers, lost replies, concurrent calls."""
