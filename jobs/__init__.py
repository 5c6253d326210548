"""Jobs (Python handles of live and archived sessions), and session files."""
