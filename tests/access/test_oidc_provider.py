"""The client of an OpenID provider against a provider that lies: every forged id token or answer is refused."""

import base64
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from everyagent.access.oidc.attempt import SignInAttempt, SignInFailed
from everyagent.access.oidc.provider import OidcProvider
from everyagent.model.oidc import Claims, OidcGrant, OidcSettings

ATTEMPT = SignInAttempt(state="state", nonce="nonce", verifier="verifier")
GRANTS = [OidcGrant(claim="groups", value="design", scopes=["read"])]


class Liar(ThreadingHTTPServer):
    """`answers` are the bodies by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.key, self.other = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key())) | {"kid": "k", "use": "sig"}
        self.answers: dict[str, object] = {}
        self.discovery: dict[str, object] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/user",
        }
        self.answers = {
            "/.well-known/openid-configuration": self.discovery,
            "/keys": {"keys": [public]},
            "/user": {"sub": "alice", "groups": ["design"]},
        }

    def claims(self) -> dict[str, object]:
        now = int(time.time())
        return {
            "iss": self.issuer, "sub": "alice", "aud": "client", "iat": now, "exp": now + 300, "nonce": "nonce"
        }  # fmt: skip

    def give(self, token: str) -> None:
        self.answers["/token"] = {"id_token": token, "access_token": "access"}

    def sign(self, claims: dict[str, object]) -> str:
        return jwt.encode(claims, self.key, "RS256", headers={"kid": "k"})


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = cast("Liar", self.server).answers.get(self.path)
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def liar() -> Iterator[Liar]:
    server = Liar()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def _hs256(claims: dict[str, object], key: bytes) -> str:
    """Signed by hand: the library refuses to use a public key as a secret."""
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "kid": "k"}, claims)]
    signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    mac = base64.urlsafe_b64encode(hmac.digest(key, signed, "sha256")).rstrip(b"=")
    return (signed + b"." + mac).decode()


def client(liar: Liar) -> OidcProvider:
    return OidcProvider(OidcSettings(issuer=liar.issuer, client_id="client", client_secret="secret", grants=GRANTS))


async def test_a_right_token_is_accepted_with_the_claims_of_the_user_info(liar: Liar) -> None:
    liar.give(liar.sign(liar.claims()))
    claims = await client(liar).claims(ATTEMPT, "code", "http://127.0.0.1/ui/oidc/callback")
    assert (claims["sub"], claims["groups"]) == ("alice", ["design"])


async def test_forged_tokens_are_refused(liar: Liar) -> None:
    right = liar.claims()
    public = liar.key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    forged = {
        "unsigned": jwt.encode(right, "", "none", headers={"kid": "k"}),
        "signed with the public key": _hs256(right, public),
        "signed by another": jwt.encode(right, liar.other, "RS256", headers={"kid": "k"}),
        "an unknown key": jwt.encode(right, liar.key, "RS256", headers={"kid": "another"}),
        "another issuer": liar.sign(right | {"iss": "https://elsewhere.example"}),
        "another audience": liar.sign(right | {"aud": "another"}),
        "another client": liar.sign(right | {"aud": ["client", "another"], "azp": "another"}),
        "another sign-in": liar.sign(right | {"nonce": "another"}),
        "no nonce": liar.sign({name: value for name, value in right.items() if name != "nonce"}),
        "expired": liar.sign(right | {"exp": int(time.time()) - 300}),
        "no expiry": liar.sign({name: value for name, value in right.items() if name != "exp"}),
        "another user's info": liar.sign(right | {"sub": "bob"}),
        "no token": "x",
        "changed": liar.sign(right)[:-8] + "AAAAAAAA",
    }
    provider = client(liar)
    accepted: list[str] = []
    for name, token in forged.items():
        liar.give(token)
        try:
            await provider.claims(ATTEMPT, "code", "http://127.0.0.1/ui/oidc/callback")
        except SignInFailed:
            continue
        accepted.append(name)
    assert accepted == []


@pytest.mark.parametrize(
    "answer",
    [None, b"", b"[", b"\xff", b"{}", b'{"issuer": "https://elsewhere.example"}', b" " * (1 << 20) + b"{}"],
    ids=["404", "empty", "torn", "no UTF-8", "no fields", "another issuer", "too long"],
)
async def test_a_broken_discovery_is_refused(liar: Liar, answer: bytes | None) -> None:
    liar.answers["/.well-known/openid-configuration"] = answer
    with pytest.raises(SignInFailed):
        await client(liar).authorization_url(ATTEMPT, "http://127.0.0.1/ui/oidc/callback")


async def test_no_secret_is_sent_over_plain_http_to_another_machine(liar: Liar) -> None:
    liar.discovery["token_endpoint"] = "http://elsewhere.example/token"
    with pytest.raises(SignInFailed, match="not a safe address"):
        await client(liar).claims(ATTEMPT, "code", "http://127.0.0.1/ui/oidc/callback")


def test_grants_match_values_lists_and_patterns_and_only_verified_addresses() -> None:
    by_mail = OidcGrant(claim="email", value="*@example.com", scopes=["read"])
    assert by_mail.covers({"email": "a@example.com", "email_verified": True})
    not_covered: list[Claims] = [
        {"email": "a@example.com"},
        {"email": "a@example.com", "email_verified": "true"},
        {"email": "a@example.com.evil.test", "email_verified": True},
        {"email": 5, "email_verified": True},
        {},
    ]
    assert not [claims for claims in not_covered if by_mail.covers(claims)]
    assert GRANTS[0].covers({"groups": ["sales", "design"]})
    assert GRANTS[0].covers({"groups": "design"})
    assert not GRANTS[0].covers({"groups": [["design"], None]})
