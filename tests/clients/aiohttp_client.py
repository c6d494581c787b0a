"""aiohttp, which obeys the environment only if it is told to."""
import asyncio
import sys

import aiohttp


async def main(url):
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.get(url) as answer:
            print(await answer.text())
            print(answer.status)


asyncio.run(main(sys.argv[1]))
