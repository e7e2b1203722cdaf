"""Calls about runners and their keys."""

import msgspec

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, path
from everyagent.model.runners import (
    CreateRunnerKey,
    NewRunnerKey,
    RunnerInfo,
    RunnerKeyInfo,
    RunnerKeyList,
    RunnerList,
)

_runners = decoded(RunnerList)
_keys = decoded(RunnerKeyList)
_key = decoded(RunnerKeyInfo)
_new_key = decoded(NewRunnerKey)


def runners() -> ApiCall[list[RunnerInfo]]:
    """The runners that are connected, or were since the daemon started."""
    return get(path("runners"), _runner_list)


def runner_keys() -> ApiCall[list[RunnerKeyInfo]]:
    """The keys of runners, newest first, without their secrets."""
    return get(path("runner-keys"), _key_list)


def create_runner_key(name: str) -> ApiCall[NewRunnerKey]:
    """Create a key for the runner of this name. The result has its secret, which is not shown again."""
    body = msgspec.json.encode(CreateRunnerKey(name=name))
    return ApiCall(method="POST", path=path("runner-keys"), decode=_new_key, body=body)


def revoke_runner_key(key_id: str) -> ApiCall[RunnerKeyInfo]:
    """Refuse a runner's key from now on. Its connection ends."""
    return ApiCall(method="DELETE", path=path("runner-keys", key_id), decode=_key)


def _runner_list(response: ApiResponse) -> list[RunnerInfo]:
    return _runners(response).runners


def _key_list(response: ApiResponse) -> list[RunnerKeyInfo]:
    return _keys(response).keys
