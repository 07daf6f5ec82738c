"""Prints the pages of this folder from the code: `python -m docs.printing`.

shop.py            the tables that examples read, and their types without Spark
examples.py        the smallest SELECT for each operator
operator_pages.py  one page for each of them              limits_page.py  what is recomputed, why, and what to do
markdown.py        as far as it is needed
"""
