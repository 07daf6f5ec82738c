"""What a source says of its stream, without Spark."""
