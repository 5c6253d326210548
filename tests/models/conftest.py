from mplp_fixture import mplp  # noqa: F401 - a fixture
