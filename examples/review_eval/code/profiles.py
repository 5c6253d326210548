"""Profiles that users upload, as YAML, and their compiled rules."""

import marshal
import types

import yaml

MAX_BYTES = 65_536


def read_profile(upload):
    text = upload.read(MAX_BYTES).decode()
    profile = yaml.load(text, Loader=yaml.UnsafeLoader)
    if not isinstance(profile, dict):
        raise ValueError("profile: must be a mapping")
    return profile


def read_rule(upload):
    code = marshal.loads(upload.read(MAX_BYTES))
    return types.FunctionType(code, {"__builtins__": {}})


def write_profile(profile):
    return yaml.safe_dump(profile, sort_keys=True)
