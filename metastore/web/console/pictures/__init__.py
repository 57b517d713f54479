"""Coordinates of pictures, which templates render as SVG."""
