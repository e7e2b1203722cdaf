"""Resources of a session: files, repositories, skills, credentials and outputs."""

import anthropic
from loose import Loose
from refused import refused
from stage import TOOLSET, Talk, environment, message, one

NEW = not anthropic.__version__.startswith("0.")
SKILL = b"---\nname: greet\ndescription: Greets.\n---\nSay hello.\n"


def flow(client: Loose, agent: str, repository: str, token: str) -> None:
    sessions, files = client.beta.sessions, client.beta.files
    uploaded = files.upload(file=("in.txt", b"from the client\n"))
    skill = client.beta.skills.create(files=[("greet/SKILL.md", SKILL)])
    made = client.beta.agents.create(
        name="Worker",
        model="mock-small",
        tools=[TOOLSET],
        skills=[{"type": "custom", "skill_id": skill.id}],
        metadata={"everyagent.agent": agent},
    )
    session = sessions.create(
        agent=made.id,
        environment_id=environment(client),
        vault_ids=[vault(client)],
        resources=[
            {"type": "file", "file_id": uploaded.id, "mount_path": "/workspace/in.txt"},
            {"type": "github_repository", "url": repository, "authorization_token": token},
        ],
    )
    assert [each.type for each in session.resources] == ["file", "github_repository"]
    assert token not in session.to_json()
    assert session.resources[1].mount_path == "/workspace/project"
    talk = Talk(client, session.id)
    assert run(talk, "cat workspace/in.txt workspace/project/README.md") == "from the client\nsecond\n"
    assert "Greets." in run(talk, "cat .claude/skills/greet/SKILL.md")
    if NEW:
        assert run(talk, "echo $SERVICE_KEY | tr a-z A-Z") == "HUSH-HUSH\n"
    resources(client, session.id, uploaded.id, token)
    assert run(talk, "cat workspace/project/.git/config").count(token) == 0
    run(talk, "mkdir mnt/session/outputs/deep; echo result > mnt/session/outputs/deep/result.txt; echo done")
    (output,) = [each for each in files.list(scope_id=session.id) if str(each.filename) == "result.txt"]
    assert (output.scope.type, output.scope.id) == ("session", session.id)
    assert files.download(output.id).read() == b"result\n"
    talk.close()
    sessions.delete(session.id)
    assert [each.id for each in files.list(scope_id=session.id)] == []
    assert files.retrieve_metadata(uploaded.id).id == uploaded.id


def resources(client: Loose, session_id: Loose, file_id: Loose, token: str) -> None:
    given = client.beta.sessions.resources
    added = given.add(session_id, type="file", file_id=file_id, mount_path="/workspace/more.txt")
    assert added.file_id != file_id, "a session has copies of its own"
    file, repository, last = given.list(session_id)
    assert last.id == added.id
    assert given.retrieve(repository.id, session_id=session_id).url == repository.url
    assert given.update(repository.id, session_id=session_id, authorization_token="another").id == repository.id
    refused(anthropic.BadRequestError, lambda: given.update(file.id, session_id=session_id, authorization_token=token))
    taken = given.delete(added.id, session_id=session_id)
    assert (taken.id, taken.type) == (added.id, "session_resource_deleted")
    refused(anthropic.NotFoundError, lambda: given.retrieve(added.id, session_id=session_id))
    refused(anthropic.NotFoundError, lambda: given.list("sesn_nobody"))


def vault(client: Loose) -> str:
    made = client.beta.vaults.create(display_name="Worker's")
    if NEW:
        auth = {"type": "environment_variable", "secret_name": "SERVICE_KEY", "secret_value": "hush-hush"}
        client.beta.vaults.credentials.create(made.id, auth=auth | {"networking": {"type": "unrestricted"}})
    return str(made.id)


def run(talk: Talk, command: str) -> str:
    result = one(talk.say(message(f'[tool command="{command}"]')), "agent.tool_result")
    return str(result.content[0].text)
