"""Sessions as tools of MCP clients: each session file of the setting `jobs` is a tool."""
