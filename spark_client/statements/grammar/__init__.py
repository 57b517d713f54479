"""From the text of a statement to a frozen dataclass. Pure."""
