"""Requests that two parsers may read differently, as (name, bytes).

Payload number i asks for /n<i>. What a confused parser might take for a request of its own asks for
/s<i>; it stands inside a body. Every payload ends with an innocent request for /e<i> that closes the
connection, so a client knows when all has been said. Both are pipelined behind the first.
"""

import re

# What a tunnel takes for HTTP: a token, a space, a target.
HTTP = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [/*]")

# Where `chunked` is said, or nearly.
CODINGS = {
    "plain": "Transfer-Encoding: chunked",
    "upper": "TRANSFER-ENCODING: CHUNKED",
    "tight": "Transfer-Encoding:chunked",
    "tab": "Transfer-Encoding:\tchunked",
    "wide": "Transfer-Encoding:   chunked   ",
    "space before colon": "Transfer-Encoding : chunked",
    "tab before colon": "Transfer-Encoding\t: chunked",
    "space before name": " Transfer-Encoding: chunked",
    "vertical tab before": "Transfer-Encoding: \x0bchunked",
    "vertical tab after": "Transfer-Encoding: chunked\x0b",
    "form feed": "Transfer-Encoding:\x0cchunked",
    "nbsp": "Transfer-Encoding: \xa0chunked",
    "nul after": "Transfer-Encoding: chunked\0",
    "nul in name": "Transfer-Encoding\0: chunked",
    "prefix": "Transfer-Encoding: xchunked",
    "suffix": "Transfer-Encoding: chunkedx",
    "quoted": 'Transfer-Encoding: "chunked"',
    "apostrophes": "Transfer-Encoding: 'chunked'",
    "parameter": "Transfer-Encoding: chunked;a=b",
    "semicolon": "Transfer-Encoding: chunked;",
    "identity": "Transfer-Encoding: identity",
    "identity first": "Transfer-Encoding: identity, chunked",
    "identity last": "Transfer-Encoding: chunked, identity",
    "gzip first": "Transfer-Encoding: gzip, chunked",
    "gzip last": "Transfer-Encoding: chunked, gzip",
    "twice in a list": "Transfer-Encoding: chunked, chunked",
    "comma first": "Transfer-Encoding: , chunked",
    "comma last": "Transfer-Encoding: chunked,",
    "empty": "Transfer-Encoding:",
    "two lines": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "two lines, identity last": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "two lines, identity first": "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "two lines, junk first": "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked",
    "two lines, empty first": "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
    "folded": "Transfer-Encoding:\r\n chunked",
    "folded by tab": "Transfer-Encoding:\r\n\tchunked",
    "folded by LF": "Transfer-Encoding:\n chunked",
    "fold of another": "X: y\r\n Transfer-Encoding: chunked",
    "behind LF": "X: y\nTransfer-Encoding: chunked",
    "behind CR": "X: y\rTransfer-Encoding: chunked",
    "behind CR CR LF": "X: y\r\r\nTransfer-Encoding: chunked",
    "CR at the end": "Transfer-Encoding: chunked\r",
    "split name": "Transfer-\r\nEncoding: chunked",
    "underscore": "Transfer_Encoding: chunked",
    "colon first": ":Transfer-Encoding: chunked",
    "two colons": "Transfer-Encoding:: chunked",
    "no colon": "Transfer-Encoding chunked",
    "high bit": "Transfer-Encoding\x80: chunked",
    "named by Connection": "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked",
}

# A length, right (n) or not.
LENGTHS = {
    "right": "Content-Length: {n}",
    "zero": "Content-Length: 0",
    "four": "Content-Length: 4",
    "plus": "Content-Length: +{n}",
    "minus": "Content-Length: -{n}",
    "padded": "Content-Length: 00{n}",
    "list of equals": "Content-Length: {n}, {n}",
    "list of others": "Content-Length: {n}, 0",
    "two equal lines": "Content-Length: {n}\r\nContent-Length: {n}",
    "two lines, zero first": "Content-Length: 0\r\nContent-Length: {n}",
    "two lines, zero last": "Content-Length: {n}\r\nContent-Length: 0",
    "hex": "Content-Length: 0x{n}",
    "dot": "Content-Length: {n}.0",
    "exponent": "Content-Length: {n}e0",
    "underscore in it": "Content-Length: {n}_0",
    "inner space": "Content-Length: {n} 0",
    "wide": "Content-Length:   {n}   ",
    "tab": "Content-Length:\t{n}",
    "vertical tab": "Content-Length: \x0b{n}",
    "nul": "Content-Length: {n}\0",
    "empty": "Content-Length:",
    "word": "Content-Length: abc",
    "comma last": "Content-Length: {n},",
    "semicolon": "Content-Length: {n};",
    "quoted": 'Content-Length: "{n}"',
    "over 64 bits": "Content-Length: 1844674407370955161{n}",
    "2^64 + n": "Content-Length: 184467440737095516{n}",
    "space before colon": "Content-Length : {n}",
    "underscore": "Content_Length: {n}",
    "folded": "Content-Length:\r\n {n}",
    "folded on": "Content-Length: {n}\r\n 0",
    "behind LF": "X: y\nContent-Length: {n}",
    "behind CR": "X: y\rContent-Length: {n}",
    "space before name": " Content-Length: {n}",
    "named by Connection": "Connection: Content-Length\r\nContent-Length: {n}",
    "in a nameless line": ": Content-Length: {n}",
}

# Those lengths that are crossed with every coding.
CROSSED = [
    "right", "zero", "four", "plus", "padded", "list of equals", "list of others",
    "two lines, zero first", "space before colon", "folded", "behind CR", "vertical tab",
]

# Bodies said to be in chunks. What is meant is one chunk `abcde` and the end.
CHUNKS = {
    "plain": "5\r\nabcde\r\n0\r\n\r\n",
    "upper hex": "A\r\nabcdefghij\r\n0\r\n\r\n",
    "padded": "0000000000000005\r\nabcde\r\n0\r\n\r\n",
    "much padded": "0" * 300 + "5\r\nabcde\r\n0\r\n\r\n",
    "0x": "0x5\r\nabcde\r\n0\r\n\r\n",
    "plus": "+5\r\nabcde\r\n0\r\n\r\n",
    "minus": "-5\r\nabcde\r\n0\r\n\r\n",
    "underscore": "0_5\r\nabcde\r\n0\r\n\r\n",
    "space before": " 5\r\nabcde\r\n0\r\n\r\n",
    "space after": "5 \r\nabcde\r\n0\r\n\r\n",
    "tab after": "5\t\r\nabcde\r\n0\r\n\r\n",
    "vertical tab": "5\x0b\r\nabcde\r\n0\r\n\r\n",
    "nul": "5\0\r\nabcde\r\n0\r\n\r\n",
    "inner space": "5 5\r\nabcde\r\n0\r\n\r\n",
    "letter after": "5g\r\nabcde\r\n0\r\n\r\n",
    "no hex": "g\r\nabcde\r\n0\r\n\r\n",
    "empty size": "\r\nabcde\r\n0\r\n\r\n",
    "over 32 bits": "100000005\r\nabcde\r\n0\r\n\r\n",
    "over 64 bits": "10000000000000005\r\nabcde\r\n0\r\n\r\n",
    "64 bits of one": "ffffffffffffffff\r\nabcde\r\n0\r\n\r\n",
    "sign bit": "8000000000000000\r\nabcde\r\n0\r\n\r\n",
    "dot": "5.0\r\nabcde\r\n0\r\n\r\n",
    "LF after size": "5\nabcde\r\n0\r\n\r\n",
    "CR after size": "5\rabcde\r\n0\r\n\r\n",
    "CR CR LF after size": "5\r\r\nabcde\r\n0\r\n\r\n",
    "LF after data": "5\r\nabcde\n0\r\n\r\n",
    "CR after data": "5\r\nabcde\r0\r\n\r\n",
    "nothing after data": "5\r\nabcde0\r\n\r\n",
    "two junk bytes after data": "5\r\nabcdeXX0\r\n\r\n",
    "surplus data": "5\r\nabcdefg\r\n0\r\n\r\n",
    "short data": "5\r\nabc\r\n0\r\n\r\n",
    "LF only": "5\nabcde\n0\n\n",
    "LF at the end": "5\r\nabcde\r\n0\r\n\n",
    "LF behind zero": "5\r\nabcde\r\n0\n\r\n",
    "zeros": "5\r\nabcde\r\n000\r\n\r\n",
    "zero with a sign": "5\r\nabcde\r\n-0\r\n\r\n",
    "extension": "5;a=b\r\nabcde\r\n0\r\n\r\n",
    "quoted extension": '5;a="b;c"\r\nabcde\r\n0\r\n\r\n',
    "open quote": '5;a="b\r\nabcde\r\n0\r\n\r\n',
    "quoted CRLF": '5;a="\r\nabcde\r\n0\r\n\r\n"\r\nabcde\r\n0\r\n\r\n',
    "bare semicolon": "5;\r\nabcde\r\n0\r\n\r\n",
    "space, extension": "5 ; a = b\r\nabcde\r\n0\r\n\r\n",
    "LF in extension": "5;a\nabcde\r\n0\r\n\r\n",
    "LF in extension, more": "5;\nxx\r\nabcde\r\n0\r\n\r\n",
    "CR in extension": "5;a\rb\r\nabcde\r\n0\r\n\r\n",
    "nul in extension": "5;a\0\r\nabcde\r\n0\r\n\r\n",
    "high bit in extension": "5;a\xff\r\nabcde\r\n0\r\n\r\n",
    "long extension": "5;" + "a" * 3000 + "\r\nabcde\r\n0\r\n\r\n",
    "very long extension": "5;" + "a" * 20000 + "\r\nabcde\r\n0\r\n\r\n",
    "extension at the end": "5\r\nabcde\r\n0;a=b\r\n\r\n",
    "LF in the end's extension": "5\r\nabcde\r\n0;a\n\r\n",
    "extension without size": ";a=b\r\nabcde\r\n0\r\n\r\n",
    "comma": "5,5\r\nabcde\r\n0\r\n\r\n",
    "trailer": "5\r\nabcde\r\n0\r\nX-End: 1\r\n\r\n",
    "trailer length": "5\r\nabcde\r\n0\r\nContent-Length: 50\r\n\r\n",
    "trailer coding": "5\r\nabcde\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "trailer host": "5\r\nabcde\r\n0\r\nHost: other\r\n\r\n",
    "trailer credentials": "5\r\nabcde\r\n0\r\nAuthorization: Basic eDp5\r\n\r\n",
    "trailer without colon": "5\r\nabcde\r\n0\r\nX\r\n\r\n",
    "trailer, space before colon": "5\r\nabcde\r\n0\r\nX : y\r\n\r\n",
    "trailer folded": "5\r\nabcde\r\n0\r\nX: y\r\n z\r\n\r\n",
    "trailer by LF": "5\r\nabcde\r\n0\r\nX: y\n\r\n",
    "trailer with CR": "5\r\nabcde\r\n0\r\nX: y\rz\r\n\r\n",
    "trailer with nul": "5\r\nabcde\r\n0\r\nX: \0\r\n\r\n",
    "many trailers": "5\r\nabcde\r\n0\r\n" + "X: y\r\n" * 150 + "\r\n",
    "trailer is a request": "5\r\nabcde\r\n0\r\nGET /s{i} HTTP/1.1\r\nHost: {authority}\r\n\r\n",
}

# Lines between the request line and the end of a head that has a body of three bytes.
LINES = {
    "nothing": "",
    "folded": "X: a\r\n b",
    "folded by tab": "X: a\r\n\tb",
    "folded at once": "X:\r\n a",
    "folded empty": "X: a\r\n \r\nY: b",
    "LF": "X: a\nY: b",
    "LF LF": "X: a\n\nGET /s{i} HTTP/1.1\nHost: {authority}\n\n",
    "LF CR LF": "X: a\n\r\nGET /s{i} HTTP/1.1\r\nHost: {authority}\r\n\r\n",
    "CR LF LF": "X: a\r\n\nGET /s{i} HTTP/1.1\r\nHost: {authority}\r\n\r\n",
    "CR CR": "X: a\r\rGET /s{i} HTTP/1.1\r\rHost: {authority}",
    "CR": "X: a\rY: b",
    "CR in front": "\rX: a",
    "CR CR LF": "X: a\r\r\nY: b",
    "nul": "X: a\0b",
    "nul in the name": "X\0Y: a",
    "escape": "X: \x1b[31m",
    "delete": "X: \x7f",
    "high bits": "X: \xff\xfe",
    "no colon": "X",
    "only a colon": ":",
    "no name": ": x",
    "space in the name": "X Y: a",
    "space before the colon": "X : a",
    "tab before the colon": "X\t: a",
    "space before the name": " X: a",
    "high bit in the name": "X\xe9: a",
    "brackets in the name": "(X): a",
    "a second host": "Host: other",
    "the same host twice": "Host: {authority}",
    "a folded host": "Host:\r\n other",
    "a host with a space": "Host : other",
    "a host behind CR": "X: y\rHost: other",
    "a host behind LF": "X: y\nHost: other",
    "x-forwarded-host": "X-Forwarded-Host: other",
    "connection names host": "Connection: Host",
    "connection names length": "Connection: Content-Length, close",
    "connection names cookie": "Connection: Cookie\r\nCookie: a=b",
    "connection is odd": "Connection: \x22x\x22, ;",
    "upgrade": "Connection: Upgrade\r\nUpgrade: websocket",
    "upgrade to h2c": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    "upgrade to two": "Connection: Upgrade\r\nUpgrade: websocket, h2c",
    "expect": "Expect: 100-continue",
    "expect in odd case": "Expect: 100-Continue",
    "expect folded": "Expect:\r\n 100-continue",
    "expect another": "Expect: 200-ok",
    "expect twice": "Expect: 100-continue\r\nExpect: 100-continue",
    "te": "TE: trailers, chunked",
    "trailer names length": "Trailer: Content-Length",
    "override": "X-HTTP-Method-Override: GET",
    "max forwards": "Max-Forwards: 0",
    "pseudo": ":path: /s{i}",
    "keep alive": "Keep-Alive: timeout=1, max=0",
    "proxy connection": "Proxy-Connection: close",
    "many": "\r\n".join(f"X-{n}: y" for n in range(150)),
    "too many": "\r\n".join(f"X-{n}: y" for n in range(400)),
    "large": "X: " + "a" * 30000,
    "too large": "X: " + "a" * 90000,
}

# Request lines; {at} is http://authority on the proxy's port, and nothing inside a tunnel.
STARTS = {
    "two spaces": "POST  {at}/n{i} HTTP/1.1",
    "two spaces behind": "POST {at}/n{i}  HTTP/1.1",
    "tabs": "POST\t{at}/n{i}\tHTTP/1.1",
    "space first": " POST {at}/n{i} HTTP/1.1",
    "space last": "POST {at}/n{i} HTTP/1.1 ",
    "empty line first": "\r\nPOST {at}/n{i} HTTP/1.1",
    "LF first": "\nPOST {at}/n{i} HTTP/1.1",
    "CR first": "\rPOST {at}/n{i} HTTP/1.1",
    "many empty lines first": "\r\n\r\n\r\nPOST {at}/n{i} HTTP/1.1",
    "CR inside": "POST\r{at}/n{i} HTTP/1.1",
    "vertical tab": "POST {at}/n{i}\x0bHTTP/1.1",
    "nul": "POST {at}/n{i}\0 HTTP/1.1",
    "space in the target": "POST {at}/n{i} x HTTP/1.1",
    "a request in the target": "POST {at}/n{i} HTTP/1.1 HTTP/1.1",
    "escaped CRLF": "POST {at}/n{i}%0d%0aGET%20/s{i} HTTP/1.1",
    "high bits": "POST {at}/n{i}\xff HTTP/1.1",
    "brackets": "POST {at}/n{i}<> HTTP/1.1",
    "backslash": "POST {at}\\n{i} HTTP/1.1",
    "fragment": "POST {at}/n{i}#x HTTP/1.1",
    "dots": "POST {at}/x/../n{i} HTTP/1.1",
    "slashes": "POST {at}//n{i} HTTP/1.1",
    "percent": "POST {at}/n{i}% HTTP/1.1",
    "query only": "POST {at}?x=y HTTP/1.1",
    "1.0": "POST {at}/n{i} HTTP/1.0",
    "1.2": "POST {at}/n{i} HTTP/1.2",
    "1.10": "POST {at}/n{i} HTTP/1.10",
    "01.1": "POST {at}/n{i} HTTP/01.1",
    "0.9": "POST {at}/n{i} HTTP/0.9",
    "2.0": "POST {at}/n{i} HTTP/2.0",
    "no version": "POST {at}/n{i}",
    "lower-case version": "POST {at}/n{i} http/1.1",
    "other name": "POST {at}/n{i} ICAP/1.1",
    "lower-case method": "post {at}/n{i} HTTP/1.1",
    "odd method": "PO!ST {at}/n{i} HTTP/1.1",
    "bad method": "PO(ST {at}/n{i} HTTP/1.1",
    "high method": "P\xd6ST {at}/n{i} HTTP/1.1",
    "HTTP/2": "PRI * HTTP/2.0",
    "LF at the end": "POST {at}/n{i} HTTP/1.1\nX: y",
    "CR at the end": "POST {at}/n{i} HTTP/1.1\rX: y",
}

METHODS = ["GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH", "BREW"]


def payloads(authority, tunnel):
    """(name, bytes) of every payload; `tunnel` is the form inside a CONNECT.

    There what does not begin like HTTP is somebody else's protocol and passes unread, on purpose: such
    payloads are empty.
    """
    found = []

    def add(name, start, lines, body):
        i = len(found)
        at = "" if tunnel else f"http://{authority}"
        fill = {"i": i, "at": at, "authority": authority}
        body = put(body, fill)
        fill["n"] = len(body)
        head = [put(start, fill), f"Host: {authority}", *(put(line, fill) for line in lines)]
        end = f"GET {at}/e{i} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
        text = "\r\n".join(line for line in head if line) + "\r\n\r\n" + body + end
        text = text.encode("latin-1")
        found.append((name, b"" if tunnel and not HTTP.match(text) else text))

    post = "POST {at}/n{i} HTTP/1.1"
    inner = "GET /s{i} HTTP/1.1\r\nHost: {authority}\r\n\r\n"
    bodies = {"closed": "0\r\n\r\n" + inner, "whole": "{c:x}\r\n" + inner + "\r\n0\r\n\r\n"}
    for coding, line in CODINGS.items():
        for kind, body in bodies.items():
            add(f"coding {coding}, {kind}", post, [line], body)
            for length in CROSSED:
                if coding in ("plain", "tab", "vertical tab before", "two lines") or kind == "closed":
                    add(f"length {length}, coding {coding}, {kind}", post, [LENGTHS[length], line], body)
                if kind == "closed":
                    add(f"coding {coding}, length {length}, {kind}", post, [line, LENGTHS[length]], body)
    for length, line in LENGTHS.items():
        add(f"length {length}", post, [line], inner)
        add(f"length {length}, GET", "GET {at}/n{i} HTTP/1.1", [line], inner)
        add(f"length {length}, short", post, [line], "abc")
    for chunks, body in CHUNKS.items():
        add(f"chunks {chunks}", post, [CODINGS["plain"]], body)
        add(f"chunks {chunks}, then more", post, [CODINGS["plain"]], body + inner)
    for name, line in LINES.items():
        add(f"line {name}", post, [line, "Content-Length: 3"], "abc")
        add(f"line {name}, last", post, ["Content-Length: 3", line], "abc")
        add(f"line {name}, chunks", post, [line, CODINGS["plain"]], CHUNKS["plain"])
    for name, start in STARTS.items():
        add(f"start {name}", start, ["Content-Length: 3"], "abc")
        add(f"start {name}, chunks", start, [CODINGS["plain"]], CHUNKS["plain"])
    for method in METHODS:
        start = method + " {at}/n{i} HTTP/1.1"
        add(f"method {method}, no body", start, [], "")
        add(f"method {method}, body", start, [LENGTHS["right"]], inner)
        add(f"method {method}, chunks", start, [CODINGS["plain"]], bodies["whole"])
        add(f"method {method}, two framings", start, [LENGTHS["right"], CODINGS["plain"]], bodies["closed"])
        add(f"method {method}, 1.0 with chunks", start.replace("1.1", "1.0"), [CODINGS["plain"]], bodies["closed"])
        add(f"method {method}, 1.0 kept", start.replace("1.1", "1.0"), ["Connection: keep-alive"], "")
    return found


def put(text, fill):
    """`text` with its places filled; other braces are none of ours."""
    inner = f"GET /s{fill['i']} HTTP/1.1\r\nHost: {fill['authority']}\r\n\r\n"
    text = text.replace("{c:x}", f"{len(inner):x}")
    for name, value in fill.items():
        text = text.replace("{" + name + "}", str(value))
    return text
