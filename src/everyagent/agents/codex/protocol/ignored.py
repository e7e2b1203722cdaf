"""App-server notifications that become no event. Their frames are kept; used by the decoder."""

#: Known notifications that add nothing to other events, by reason.
_BY_REASON: dict[str, str] = {
    "a login that Codex's own window shows": "account/gatewayOAuth/changed",
    "not about a session": "account/login/completed account/updated",
    "for Codex's own menus": "app/list/updated skills/changed",
    "the review itself is reported": "autoApprovalReview/strictReviewRequired",
    "only of commands we would run ourselves": "command/exec/outputDelta",
    "about requests of ours": "deprecationNotice",
    "only of imports we would ask for": "externalAgentConfig/import/completed externalAgentConfig/import/progress",
    "only of watches we would set": "fs/changed",
    "only of searches we would ask for": "fuzzyFileSearch/sessionCompleted fuzzyFileSearch/sessionUpdated",
    "its end is reported": "hook/started item/autoApprovalReview/started",
    "the item has the whole patch": "item/fileChange/patchUpdated",
    "only of streams we would open": "mcpServer/event/stream/notification",
    "only of logins we would begin": "mcpServer/oauthLogin/completed",
    "for Codex's own window": "model/safetyBuffering/updated model/verification",
    "only of processes we would start": "process/exited process/outputDelta",
    "for Codex's own sidebar": """
        project/changed thread/archived thread/attachment/updated thread/deleted thread/project/updated
        thread/readState/changed thread/unarchived
    """,
    "usage is reported by thread": "rawResponse/completed",
    "remote control is not used": "remoteControl/status/changed",
    "the same as the item `contextCompaction`": "thread/compacted",
    "only with remote environments": "thread/environment/connected thread/environment/disconnected",
    "comes with every resume": "thread/goal/cleared",
    "for Codex's own input line": "thread/prediction/updated",
    "the daemon has a queue of its own": "thread/queue/changed",
    "only in voice conversations": """
        thread/realtime/closed thread/realtime/error thread/realtime/item/completed
        thread/realtime/item/started thread/realtime/item/transcript/delta thread/realtime/itemAdded
        thread/realtime/outputAudio/delta thread/realtime/sdp thread/realtime/started
        thread/realtime/transcript/delta thread/realtime/transcript/done
    """,
    "only if we would revert": "thread/reverted",
    "the same as turns and asks": "thread/status/changed",
    "nothing for users": "turn/moderationMetadata",
    "only with the Windows sandbox": "windows/worldWritableWarning windowsSandbox/setupCompleted",
}
IGNORED: dict[str, str] = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
