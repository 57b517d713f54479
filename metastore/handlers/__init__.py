"""The shape of the wire: each method's arguments and its many forms, brought to one service call."""
