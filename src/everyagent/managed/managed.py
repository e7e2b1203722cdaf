"""Everything behind `/anthropic`, one object a concept. The routes call these."""

from collections.abc import Sequence

from everyagent.managed.agent import SkillParams
from everyagent.managed.agents import Agents
from everyagent.managed.credentials import Credentials
from everyagent.managed.environments import Environments
from everyagent.managed.file import FileList, FilePage
from everyagent.managed.files import Files
from everyagent.managed.vaults import Vaults
from everyagent.sessions import Sessions


class Managed:
    def __init__(self, sessions: Sessions) -> None:
        ground = sessions.ground
        self.sessions = sessions
        self.agents = Agents(ground.records, _unpinned)
        self.environments = Environments(ground.records)
        self.files = Files(ground.records, ground.clock)
        self.vaults = Vaults(ground.records)
        self.credentials = Credentials(ground.records, self.vaults, ground.vault, ground.clock)

    async def list_files(self, asked: FileList) -> FilePage:
        return await self.files.list(asked)


async def _unpinned(skills: Sequence[SkillParams]) -> list[SkillParams]:
    return [*skills]
