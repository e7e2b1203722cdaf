"""Finds callbacks in the source: methods that other code calls, and at which a fault can strike.

A callback of an adapter is a method that is passed to other code as a value, or that a protocol or base class of all
agents names. In the classes of runners, every public method is one, too.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from everyagent import agents
from everyagent.agents.adapter import Conversation
from everyagent.agents.shared_conversation import SharedConversation
from everyagent.agents.shared_server import ServerSession, SharedServer
from everyagent.agents.shared_servers import PooledConversation

_AGENTS = Path(inspect.getfile(agents)).parent
_INTERFACES = (Conversation, PooledConversation, ServerSession, SharedConversation, SharedServer)


def callbacks(agent: str) -> set[str]:
    """`Class.method` of each callback in the folder of one agent."""
    trees = [ast.parse(path.read_text()) for path in sorted((_AGENTS / agent).rglob("*.py")) if _is_adapter(path)]
    named = {name for interface in _INTERFACES for name in vars(interface)}
    passed = {name for tree in trees for name in _passed(tree, own=False)}
    return {
        f"{owner.name}.{method.name}"
        for tree in trees
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef) and _waits(owner)
        for method in owner.body
        if _is_method(method)
        and method.name in {*_passed(owner, own=True), *(() if owner.name.endswith("Adapter") else named | passed)}
    }


def callbacks_of(owner: type) -> set[str]:
    """`Class.method` of each callback of one class."""
    (tree,) = ast.parse(inspect.getsource(owner)).body
    assert isinstance(tree, ast.ClassDef)
    passed = {*_passed(tree, own=True)}
    methods = [each for each in tree.body if _is_method(each)]
    return {f"{owner.__name__}.{each.name}" for each in methods if not each.name.startswith("_") or each.name in passed}


def _is_adapter(path: Path) -> bool:
    return path.parent.name != "program"  # the mock agent itself, which is another process


def _waits(owner: ast.ClassDef) -> bool:
    """Whether it takes part in I/O. A fault in any other class is one of the decoder, which costs one frame."""
    protocol = any(isinstance(base, ast.Name) and base.id == "Protocol" for base in owner.bases)
    return not protocol and any(isinstance(each, ast.AsyncFunctionDef) for each in owner.body)


def _is_method(node: ast.stmt) -> "TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]":
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("__"):
        return False
    return not any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def _passed(tree: ast.AST, *, own: bool) -> Iterator[str]:
    """Names of attributes that are read but not called on the spot: of `self` itself, or of what it holds."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in called:
            held = node.value.value if isinstance(node.value, ast.Attribute) and not own else node.value
            if isinstance(held, ast.Name) and held.id == "self" and (own or held is not node.value):
                yield node.attr
