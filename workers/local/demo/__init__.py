"""`symposia demo`: recorded sessions, one per mode, and the services that run them."""

from .services import WORKERS, start_demo
from .sessions import LOCAL, RECORDED, check_live_model, demo_sessions

__all__ = ["LOCAL", "RECORDED", "WORKERS", "check_live_model", "demo_sessions", "start_demo"]
