"""What all cases share: servers, workers, runs in alternation, statistics, results."""
