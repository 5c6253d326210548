"""Extension of griffe, which reads the docstrings: lists the options of `submit` in its signature, as `help()` does."""

from __future__ import annotations

from griffe import Extension, Module, Parameter, ParameterKind, Parameters


class ListOptions(Extension):
    """Replaces `**options: Unpack[HowToRun]` by the options."""

    def on_package(self, *, pkg: Module, **_: object) -> None:
        """Change the signature when the package has been read."""
        submit = pkg["client.sessions.SessionMethods.submit"]
        listed = (pkg["models.sessions.how_to_run.HowToRun"], pkg["models.memory.learned.MemoryChoices"])
        options = [
            Parameter(name, annotation=attribute.annotation, kind=ParameterKind.keyword_only, default="None")
            for table in listed
            for name, attribute in table.attributes.items()
        ]
        own = [
            parameter for parameter in submit.parameters if parameter.kind is not ParameterKind.var_keyword
        ]
        submit.parameters = Parameters(*own, *options)
