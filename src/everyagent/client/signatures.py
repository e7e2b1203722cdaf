"""Signatures of methods that are made from functions, for `help`, editors and `inspect`."""

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature


def method_signature(make: Callable[..., object], *, skipped: int) -> Signature:
    """The signature of a function without its first parameters, with `self` in front.

    What the function returns is the call; the method returns its result.
    """
    parameters = list(inspect.signature(make).parameters.values())[skipped:]
    first = Parameter("self", Parameter.POSITIONAL_ONLY)
    return Signature([first, *parameters])
