#!/usr/bin/env python3
"""Plays the issuer of access tokens, with two libraries that are not ours.

usage: tokens.py JWKS

Writes the public keys to the file JWKS, and to stdout one JSON line for each token: what it is, the
status of the response that it must get, and the token. The issuer is https://login.example.com, the
server https://mcp.example.com/mcp, and the scope that it needs mcp:use.
"""

import base64
import hashlib
import hmac
import json
import sys
import time

import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from joserfc import jwk as joserfc_jwk
from joserfc import jwt as joserfc_jwt

ISSUER = "https://login.example.com"
AUDIENCE = "https://mcp.example.com/mcp"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(value):
    return base64url(json.dumps(value).encode())


def claims(**changes):
    now = int(time.time())
    usual = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": now,
        "exp": now + 600,
        "scope": "openid mcp:use",
    }
    usual.update(changes)
    return {name: value for name, value in usual.items() if value is not None}


def by_hand(header, body, sign):
    signed = f"{compact(header)}.{body if isinstance(body, str) else compact(body)}"
    return f"{signed}.{base64url(sign(signed.encode()))}"


KEYS = {
    "rsa-2048": (rsa.generate_private_key(65537, 2048), "RS256"),
    "rsa-3072": (rsa.generate_private_key(3, 3072), "RS256"),
    "rsa-4096": (rsa.generate_private_key(65537, 4096), "RS256"),
    # Odd sizes are rare, and right.
    "rsa-2056": (rsa.generate_private_key(65537, 2056), "RS256"),
    "p-256": (ec.generate_private_key(ec.SECP256R1()), "ES256"),
    "ed25519": (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
}
REFUSED_KEYS = {
    "rsa-1024": (rsa.generate_private_key(65537, 1024), "RS256"),
    "p-384": (ec.generate_private_key(ec.SECP384R1()), "ES384"),
}
STRANGERS = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
RSA = KEYS["rsa-2048"][0]
P256 = KEYS["p-256"][0]
ED25519 = KEYS["ed25519"][0]


def public_jwk(name, key, algorithm):
    made = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    made.pop("key_ops", None)
    return {**made, "kid": name, "use": "sig"}


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def good():
    for name, (key, algorithm) in KEYS.items():
        yield f"PyJWT {name}", jwt.encode(claims(), key, algorithm, {"kid": name, "typ": "at+jwt"})
        signer = joserfc_jwk.import_key(pem(key), {"RS": "RSA", "ES": "EC", "Ed": "OKP"}[algorithm[:2]])
        header = {"alg": algorithm, "kid": name}
        yield f"joserfc {name}", joserfc_jwt.encode(header, claims(), signer, algorithms=[algorithm])
    header = {"kid": "ed25519"}
    lists = claims(aud=["https://other.example.com", AUDIENCE], scope=None, scp=["mcp:use"])
    yield "lists", jwt.encode(lists, ED25519, "EdDSA", header)
    client = claims(sub=None, client_id="worker", nbf=int(time.time()))
    yield "a client of its own", jwt.encode(client, ED25519, "EdDSA", header)


def narrow():
    header = {"kid": "p-256"}
    yield "no scope", jwt.encode(claims(scope=None), P256, "ES256", header)
    yield "another scope", jwt.encode(claims(scope="mcp:used mcp"), P256, "ES256", header)


def wrong_claims():
    now = int(time.time())
    for what, changes in {
        "expired": {"exp": now - 120},
        "expired long ago": {"exp": 1},
        "never expires": {"exp": None},
        "not yet": {"nbf": now + 600},
        "from the future": {"iat": now + 600},
        "another issuer": {"iss": "https://login.example.com.evil.example"},
        "no issuer": {"iss": None},
        "another server": {"aud": "https://mcp.example.com"},
        "other servers": {"aud": ["https://a.example", "https://b.example"]},
        "no audience": {"aud": None},
        "nobody": {"sub": None},
    }.items():
        yield what, jwt.encode(claims(**changes), ED25519, "EdDSA", {"kid": "ed25519"})
    twice = json.dumps(claims(sub="eve"))[:-1] + ', "sub": "ada"}'
    twice = base64url(twice.encode())
    yield "a claim twice", by_hand({"alg": "EdDSA", "kid": "ed25519"}, twice, ED25519.sign)


def wrong_signatures():
    for algorithm, stranger in STRANGERS.items():
        name = {"RS256": "rsa-2048", "ES256": "p-256", "EdDSA": "ed25519"}[algorithm]
        yield f"a stranger's {algorithm}", jwt.encode(claims(), stranger, algorithm, {"kid": name})
        yield f"a stranger's {algorithm} without an id", jwt.encode(claims(), stranger, algorithm)
    for name, (key, algorithm) in REFUSED_KEYS.items():
        yield f"the key {name}", jwt.encode(claims(), key, algorithm, {"kid": name})
    for algorithm in ("RS384", "RS512", "PS256"):
        yield algorithm, jwt.encode(claims(), RSA, algorithm, {"kid": "rsa-2048"})
    yield "no signature", jwt.encode(claims(), None, "none", {"kid": "rsa-2048"})

    def pkcs1(signed):
        return RSA.sign(signed, padding.PKCS1v15(), hashes.SHA256())

    def der(signed):
        return P256.sign(signed, ec.ECDSA(hashes.SHA256()))

    # What a careless verifier takes for the secret of an HMAC.
    public = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for secret, what in ((public, "the public key"), (public.strip(), "the public key, stripped"), (b"", "nothing")):
        yield f"HS256 with {what}", by_hand(
            {"alg": "HS256", "kid": "rsa-2048"},
            claims(),
            lambda signed, secret=secret: hmac.new(secret, signed, hashlib.sha256).digest(),
        )
    yield "ES256 in DER", by_hand({"alg": "ES256", "kid": "p-256"}, claims(), der)
    yield "RS256 under the id of another key", by_hand({"alg": "RS256", "kid": "rsa-4096"}, claims(), pkcs1)
    yield "RS256 called ES256", by_hand({"alg": "ES256", "kid": "rsa-2048"}, claims(), pkcs1)
    yield "RS256 called PS256", by_hand({"alg": "PS256", "kid": "rsa-2048"}, claims(), pkcs1)
    stranger = STRANGERS["ES256"]
    own = public_jwk("own", stranger, "ES256")
    for header in ({"jwk": own}, {"kid": "own", "jwk": own}, {"jku": "https://evil.example/jwks"}):
        yield f"a key of its own {sorted(header)}", jwt.encode(claims(), stranger, "ES256", header)
    for kid in ("../../dev/null", "' or 1=1 --", "p-256\0", "P-256", ""):
        yield f"the id {kid!r}", jwt.encode(claims(), P256, "ES256", {"kid": kid})
    yield "critical", by_hand({"alg": "RS256", "kid": "rsa-2048", "crit": ["exp"]}, claims(), pkcs1)
    yield "another type", by_hand({"alg": "RS256", "kid": "rsa-2048", "typ": "dpop+jwt"}, claims(), pkcs1)
    token = jwt.encode(claims(), P256, "ES256", {"kid": "p-256"})
    header, body, signature = token.split(".")
    yield "no signature left", f"{header}.{body}."
    yield "half a signature", f"{header}.{body}.{signature[:43]}"
    yield "zeros", f"{header}.{body}.{base64url(bytes(64))}"
    yield "padded", f"{token}=="
    yield "five parts", f"{token}.{body}.{signature}"
    yield "other claims", f"{header}.{compact(claims(sub='eve'))}.{signature}"
    yield "huge", jwt.encode(claims(x="a" * 20000), P256, "ES256", {"kid": "p-256"})


def main():
    jwks = [public_jwk(name, *pair) for name, pair in {**KEYS, **REFUSED_KEYS}.items()]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"keys": jwks}, file)
    for status, tokens in ((200, good()), (403, narrow()), (401, wrong_claims()), (401, wrong_signatures())):
        for what, token in tokens:
            print(json.dumps({"what": what, "status": status, "token": token}))


main()
