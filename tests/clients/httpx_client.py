"""httpx, as its manual uses it."""
import sys

import httpx

answer = httpx.get(sys.argv[1], timeout=20)
print(answer.text)
print(answer.status_code)
