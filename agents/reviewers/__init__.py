"""The built-in reviewers of `symposia.reviews.reviewers`, under the names that agents files use."""
