"""Label spaces and the prediction sets that lie in them."""
