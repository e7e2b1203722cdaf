"""OpenCode events that become no event of ours. Their frames are kept; used by the decoder."""

#: Known events that add nothing to other events, by reason.
_BY_REASON: dict[str, str] = {
    "for OpenCode's own menus": """
        catalog.updated integration.connection.updated integration.updated lsp.updated models-dev.refreshed
        reference.updated
    """,
    "only of commands we would run; their effects are reported": "command.executed",
    "every change on disk; the agent's own are reported by its tools": "file.watcher.updated",
    "the end of the process is reported": "global.disposed",
    "the version is pinned": "installation.update-available installation.updated",
    "the next turn has them": "mcp.tools.changed",
    "only if we would revert": "message.part.removed message.removed",
    "only of sessions of OpenCode's second API": """
        permission.v2.asked permission.v2.replied question.v2.asked question.v2.rejected question.v2.replied
        session.next.agent.switched session.next.compaction.delta session.next.compaction.ended
        session.next.compaction.started session.next.context.updated session.next.model.switched
        session.next.moved session.next.prompt.admitted session.next.prompted session.next.reasoning.delta
        session.next.reasoning.ended session.next.reasoning.started session.next.retried
        session.next.revert.cleared session.next.revert.committed session.next.revert.staged
        session.next.shell.ended session.next.shell.started session.next.step.ended session.next.step.failed
        session.next.step.started session.next.synthetic session.next.text.delta session.next.text.ended
        session.next.text.started session.next.tool.called session.next.tool.failed
        session.next.tool.input.delta session.next.tool.input.ended session.next.tool.input.started
        session.next.tool.progress session.next.tool.success
    """,
    "the parts OpenCode is made of": "plugin.added",
    "for OpenCode's own sidebar": "project.directories.updated project.updated",
    "only of terminals we would open": "pty.created pty.deleted pty.exited pty.updated",
    "the stream begins": "server.connected",
    "the stream lives; not even kept": "server.heartbeat",
    "the stream ends, and is opened again": "server.instance.disposed",
    "nobody deletes them": "session.deleted",
    "is empty in this version; the message of the user has the changes": "session.diff",
    "for OpenCode's own window": """
        tui.command.execute tui.prompt.append tui.session.select tui.toast.show vcs.branch.updated
    """,
    "only of workspaces we would make": """
        workspace.failed workspace.ready workspace.status worktree.failed worktree.ready
    """,
}
IGNORED: dict[str, str] = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
