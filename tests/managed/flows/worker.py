"""Runs the SDK's own worker of a self-hosted environment, as docs/managed-agents.md starts it, until it is killed."""

import logging
import os
import re
import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "managed-agents.md"
OWN = {
    '"http://127.0.0.1:2468/anthropic"': "os.environ['BASE_URL']",
    "ENVIRONMENT,": "os.environ['ENVIRONMENT_ID'],",
    "KEY,": "os.environ['ENVIRONMENT_KEY'],",
    '"/workspace"': "os.environ['WORKDIR'], max_idle=3",
}

logging.basicConfig(level=logging.INFO)
(example,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if ".worker(" in block]
for printed, own in OWN.items():
    assert printed in example, printed
    example = example.replace(printed, own)
lines = f"from anthropic import AsyncAnthropic\nasync def main():\n{textwrap.indent(example, '    ')}"
exec(f"import asyncio\n{lines}\nasyncio.run(main())", {"os": os})
