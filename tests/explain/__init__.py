"""What is said about a model before it is refreshed, and the pages that are printed from the code. No Spark."""
