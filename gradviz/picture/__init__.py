"""From a graph to a picture: cards and arrows, layout, SVG, the text twin and the table."""
