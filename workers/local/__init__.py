"""Everything sessions need on one machine: servers, workers, Flower, the local model."""
