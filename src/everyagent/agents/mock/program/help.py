"""The text of `[help]`."""

HELP = """\
I do what the directives in your message say, in order; other text I repeat.
[hello] a greeting
[text words=200 delay=0] words, one by one
[reasoning] a thought, then text
[tool name=bash command="ls"] runs the command; any other name gives a made-up result
[ask command="echo permitted"] a command that needs permission
[question] two questions, one of them multi-select
[approve plan="1. Read the code"] a plan that waits for approval
[diff path=mock.txt line="A line of the mock."] adds a line to a file; needs permission in default mode
[image] a picture
[mcp name=search server=docs query=anything] a made-up call of an MCP tool
[custom name=get_weather input={"city":"Oslo"}] calls a tool of this session
[subagent command=pwd] a sub-agent that looks around by this command; with stumbles=true it fails first, and tries again
[plan] a todo list and its progress
[compact] the conversation so far is shortened
[slow seconds=30 delay=0.05] talks until it is interrupted
[retry times=2 delay_ms=20] fails and tries again by itself
[error code=overloaded message="..."] the turn ends in an error
[crash code=3 lines=3] dies in the middle of a message
[exit] dies before it says anything, once in a session; put it first
[hang] is silent until interrupted; with deaf=true the turn hears no interrupts, with stubborn=true only SIGKILL ends it
[unparsed] a line that is no JSON, and one of an unknown type
[flood events=100000 size=200] deltas as fast as it can; rate=1000 makes so many a second, stamp=true dates each
[whoami] model, variant, modes, directory, turn, names of the environment, system prompt
[help] this
Tool directives next to each other (tool, ask, diff, mcp, custom, subagent) are called in one message and run at the
same time."""
