"""Read files into documents: pages, numbered lines with boxes, tables, outline."""
