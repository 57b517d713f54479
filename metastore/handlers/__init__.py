"""The shape of the wire: each method's arguments and its many costumes, brought to one service call."""
