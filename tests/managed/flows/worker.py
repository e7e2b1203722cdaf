"""Runs the SDK's own worker of a self-hosted environment until it is killed."""

import asyncio
import logging
import os

from anthropic import AsyncAnthropic

logging.basicConfig(level=logging.INFO)
client = AsyncAnthropic(base_url=os.environ["BASE_URL"], api_key="unused")
worker = client.beta.environments.work.worker(
    environment_id=os.environ["ENVIRONMENT_ID"],
    environment_key=os.environ["ENVIRONMENT_KEY"],
    workdir=os.environ["WORKDIR"],
    max_idle=3,
)
asyncio.run(worker.run())
