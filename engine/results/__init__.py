"""Results after a run: tables sorted and filtered, reviews, decisions about names, charts, forms of export."""
