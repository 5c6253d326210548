"""From text to the document model."""
