"""Tests of Standard Webhooks signatures: against published values, and with every part altered."""

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from everyagent.errors import SignatureInvalid
from everyagent.signatures import (
    decoded_secret,
    derived_secret,
    encoded_secret,
    new_secret,
    sign,
    signed_headers,
    verify,
)

SECRET = decoded_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
ID, TIME, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'


def verified(secrets: list[bytes], id: str, timestamp: str, signature: str, body: bytes, *, now: float = TIME) -> bool:
    try:
        verify(secrets, id, timestamp, signature, body, now=now)
    except SignatureInvalid:
        return False
    return True


def test_a_signature_is_the_published_one():
    assert sign(SECRET, ID, TIME, BODY) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_one_of_several_secrets_and_signatures_is_enough():
    signature = sign(SECRET, ID, TIME, BODY)
    assert verified([b"x" * 32, SECRET], ID, str(TIME), f"v2,abc v1,def {signature}", BODY)
    assert not verified([], ID, str(TIME), signature, BODY)


@given(
    part=st.sampled_from(["secret", "id", "timestamp", "signature", "body"]),
    position=st.integers(min_value=0),
    bit=st.integers(min_value=0, max_value=7),
)
def test_one_altered_bit_anywhere_is_refused(part: str, position: int, bit: int):
    headers = signed_headers(SECRET, ID, TIME, BODY)
    values = {
        "secret": SECRET,
        "id": headers["webhook-id"].encode(),
        "timestamp": headers["webhook-timestamp"].encode(),
        "signature": headers["webhook-signature"].encode(),
        "body": BODY,
    }
    altered = bytearray(values[part])
    altered[position % len(altered)] ^= 1 << bit
    values[part] = bytes(altered)
    texts = {name: values[name].decode("latin-1") for name in ("id", "timestamp", "signature")}
    assert not verified([values["secret"]], texts["id"], texts["timestamp"], texts["signature"], values["body"])


@pytest.mark.parametrize(("age", "accepted"), [(300, True), (-300, True), (301, False), (-301, False)])
def test_an_old_or_future_signature_is_refused(age: int, accepted: bool):
    assert verified([SECRET], ID, str(TIME), sign(SECRET, ID, TIME, BODY), BODY, now=TIME + age) is accepted


@pytest.mark.parametrize("timestamp", ["", "-1614265330", "1614265330.0", "٠", "1e9", "9" * 5000, " 1614265330"])
def test_a_timestamp_that_is_not_a_number_is_refused(timestamp: str):
    assert not verified([SECRET], ID, timestamp, sign(SECRET, ID, TIME, BODY), BODY)


@pytest.mark.parametrize("signature", ["", "v1,", "v1", "v1a,x", "v1,\xff", " "])
def test_a_missing_or_malformed_signature_is_refused(signature: str):
    assert not verified([SECRET], ID, str(TIME), signature, BODY)


def test_parts_cannot_move_between_the_id_and_the_time():
    assert not verified([SECRET], f"{ID}.{TIME}", "16", sign(SECRET, ID, TIME, b"16." + BODY), BODY, now=16)


def test_secrets_have_a_form_and_a_least_length():
    secret = new_secret()
    assert secret.startswith("whsec_")
    assert encoded_secret(decoded_secret(secret)) == secret
    for wrong in ("whsec_", "whsec_????", "whsec_c2hvcnQ="):
        with pytest.raises(ValueError, match="secret"):
            decoded_secret(wrong)


def test_derived_secrets_are_those_of_hkdf():
    expected = HKDF(SHA256(), 32, b"salt", b"session.1").derive(SECRET)
    assert derived_secret(SECRET, salt=b"salt", info=b"session.1") == expected
