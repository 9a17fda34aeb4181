"""Writes pyjwt.json: tokens by PyJWT, as clients of agents present them.

    pip install -r requirements.txt && python pyjwt.py
"""

import json
import pathlib

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt import algorithms

CLAIMS = {"iss": "https://issuer.example", "aud": "agent", "sub": "ann", "exp": 4102444800, "scope": "read"}

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())
P521 = ec.generate_private_key(ec.SECP521R1())
ED25519 = ed25519.Ed25519PrivateKey.generate()

KEYS = {
    **{name: ("rsa", RSA) for name in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")},
    "ES256": ("p256", P256),
    "ES384": ("p384", P384),
    "EdDSA": ("ed25519", ED25519),
}


def jwk(kid, key):
    kinds = {"rsa": algorithms.RSAAlgorithm, "ed25519": algorithms.OKPAlgorithm}
    public = json.loads(kinds.get(kid, algorithms.ECAlgorithm).to_jwk(key.public_key()))
    return {name: public[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in public} | {"kid": kid}


keys = [jwk(kid, key) for kid, key in dict(KEYS.values()).items()]
accepted, rejected = [], []
for algorithm, (kid, key) in KEYS.items():
    for named in (True, False):
        headers = {"kid": kid} if named else {}
        token = jwt.encode(CLAIMS, key, algorithm, headers)
        accepted.append({"alg": algorithm, "kid": kid if named else None, "token": token})
for kid in ("rsa", None):
    headers = {"kid": kid} if kid else {}
    secret = keys[0]["n"].encode()
    rejected.append({"alg": "none", "token": jwt.encode(CLAIMS, None, "none", headers)})
    for algorithm in ("HS256", "HS384", "HS512"):
        rejected.append({"alg": algorithm, "token": jwt.encode(CLAIMS, secret, algorithm, headers)})
rejected.append({"alg": "ES512", "token": jwt.encode(CLAIMS, P521, "ES512")})
rejected.append({"alg": "ES256", "token": jwt.encode(CLAIMS, P256, "ES256", {"kid": "p384"})})
rejected.append({"alg": "PS256", "token": jwt.encode(CLAIMS, RSA, "PS256", {"kid": "p256"})})
other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
rejected.append({"alg": "PS256", "token": jwt.encode(CLAIMS, other, "PS256", {"kid": "rsa"})})
rejected.append({"alg": "RS512", "token": jwt.encode(CLAIMS, other, "RS512")})

document = {"producer": f"PyJWT {jwt.__version__}", "jwks": {"keys": keys}, "accepted": accepted, "rejected": rejected}
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
