"""The known names that are nearest to an unknown one, and the fields of the model in which pydantic met one.

An error of pydantic has the name of the outermost model and the path of the field. The models on this path are found
through their annotations, only when there is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, RootModel

#: Names that are listed if none is near.
_LISTED = 10


def nearest_names(name: str, candidates: Collection[str]) -> str:
    """Return up to three names that are near, else the first known ones; empty if none is known."""
    names = sorted(candidates)
    return ", ".join(
        get_close_matches(name, names, n=3) or [*names[:_LISTED], *(["..."] if names[_LISTED:] else [])]
    )


def did_you_mean(name: str, candidates: Collection[str], *, most: int = 1) -> str:
    """Return `, did you mean turn_timeout_s?` with the nearest names, at most `most`; empty if none is near."""
    near = get_close_matches(name, sorted(candidates), n=most)
    return f", did you mean {' or '.join(near)}?" if near else ""


Models = list[type[BaseModel]]


def known_fields(title: str, path: Sequence[int | str]) -> list[str]:
    """Return the names of the fields beside an unknown one.

    Args:
        title: Name of the outermost model.
        path: Path of the unknown field.
    """
    models = _without_roots(model for model in _subclasses(BaseModel) if model.__name__ == title)
    for part in path[:-1]:
        inner = [submodel for model in models for submodel in _models_of(model, part)]
        # An index, the key of a table, or the tag of a union, which pydantic adds.
        models = _without_roots(inner) or [model for model in models if part in _tags(model)] or models
    return sorted({field.alias or name for model in models for name, field in model.model_fields.items()})


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for subclass in model.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _without_roots(models: Iterable[type[BaseModel]]) -> Models:
    """Return the models, and in the place of a table or list those of its values."""
    unwrapped: Models = []
    for model in models:
        unwrapped += (
            _models_in(model.model_fields["root"].annotation) if issubclass(model, RootModel) else [model]
        )
    return unwrapped


def _models_of(model: type[BaseModel], part: int | str) -> Iterator[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if part in (name, field.alias):
            yield from _models_in(field.annotation)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _tags(model: type[BaseModel]) -> set[object]:
    kind = model.model_fields.get("kind")
    return {model.__name__, *(get_args(kind.annotation) if kind is not None else ())}
