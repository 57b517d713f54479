"""The revisions. Each stands for itself and imports nothing of ours."""
