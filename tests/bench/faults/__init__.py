"""Files follow the catalog, through faults that last: killed workers, lost answers, rivals."""
