"""Python's own client, as its manual uses it."""
import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=20) as answer:
    print(answer.read().decode())
    print(answer.status)
