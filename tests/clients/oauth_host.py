#!/usr/bin/env python3
"""The official Python client against a server that wants an access token, and the issuer of it.

usage: oauth_host.py issuer JWKS
       oauth_host.py host URL

As issuer: writes its public key to the file JWKS, prints its URL, and hands out tokens to whoever
asks (with registration, PKCE and a redirect, as RFC 8414, 7591 and 7636 have it), until its stdin
ends. As host: knows the server's URL alone, finds its way to a token, calls a tool, and prints what
came of it.
"""

import asyncio
import base64
import hashlib
import http.server
import json
import secrets
import sys
import threading
import time
from urllib.parse import parse_qs, urlencode, urlsplit

KEY_ID = "one"


def issuer(path):
    import jwt
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    public = jwt.get_algorithm_by_name("ES256").to_jwk(key.public_key(), as_dict=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"keys": [{**public, "kid": KEY_ID}]}, file)
    # What each code was asked for.
    codes = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, status, value, **headers):
            body = json.dumps(value).encode()
            self.send_response(status)
            for name, text in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            url = urlsplit(self.path)
            if url.path == "/.well-known/oauth-authorization-server":
                return self.answer(
                    200,
                    {
                        "issuer": own,
                        "authorization_endpoint": f"{own}/authorize",
                        "token_endpoint": f"{own}/token",
                        "registration_endpoint": f"{own}/register",
                        "response_types_supported": ["code"],
                        "grant_types_supported": ["authorization_code"],
                        "code_challenge_methods_supported": ["S256"],
                        "token_endpoint_auth_methods_supported": ["none"],
                    },
                )
            if url.path == "/authorize":
                asked = {name: values[0] for name, values in parse_qs(url.query).items()}
                code = secrets.token_urlsafe()
                codes[code] = asked
                back = urlencode({"code": code, "state": asked.get("state", "")})
                return self.answer(302, {}, Location=f"{asked['redirect_uri']}?{back}")
            return self.answer(404, {})

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/register":
                return self.answer(201, {**json.loads(body), "client_id": "host"})
            if self.path != "/token":
                return self.answer(404, {})
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            asked = codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"]
            now = int(time.time())
            claims = {
                "iss": own,
                "aud": form["resource"],
                "sub": "ada",
                "client_id": "host",
                "iat": now,
                "exp": now + 300,
                "scope": asked["scope"],
            }
            token = jwt.encode(claims, key, "ES256", {"kid": KEY_ID, "typ": "at+jwt"})
            granted = {"access_token": token, "token_type": "Bearer", "expires_in": 300}
            return self.answer(200, {**granted, "scope": asked["scope"]})

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    own = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(own, flush=True)
    sys.stdin.read()


async def host(url):
    import httpx2
    from mcp import Client
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import OAuthClientMetadata

    class Storage:
        tokens = client = None

        async def get_tokens(self):
            return self.tokens

        async def set_tokens(self, tokens):
            self.tokens = tokens

        async def get_client_info(self):
            return self.client

        async def set_client_info(self, client):
            self.client = client

    storage = Storage()
    back = {}

    async def redirect(to):
        # The person at the browser agrees at once.
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(to)
            back.update(parse_qs(urlsplit(response.headers["Location"]).query))

    async def callback():
        return AuthorizationCodeResult(code=back["code"][0], state=back["state"][0])

    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="test",
            redirect_uris=["http://127.0.0.1:1/callback"],
            grant_types=["authorization_code"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        ),
        storage=storage,
        redirect_handler=redirect,
        callback_handler=callback,
    )
    async with httpx2.AsyncClient(auth=provider, timeout=30) as web:
        async with Client(streamable_http_client(url, http_client=web)) as client:
            tools = await client.list_tools()
            print(json.dumps({"tools": [tool.name for tool in tools.tools], "scope": storage.tokens.scope}))


if sys.argv[1] == "issuer":
    issuer(sys.argv[2])
else:
    asyncio.run(host(sys.argv[2]))
