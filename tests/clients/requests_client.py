"""requests, as its manual uses it."""
import sys

import requests

answer = requests.get(sys.argv[1], timeout=20)
print(answer.text)
print(answer.status_code)
