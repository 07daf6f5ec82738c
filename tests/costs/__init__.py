"""What a refresh is expected to take, and which technique is chosen by it. No Spark."""
