"""What a prediction set loses on a label."""
