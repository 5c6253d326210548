"""From the document model to text."""
