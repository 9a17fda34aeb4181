"""Signs and verifies agent cards with the official Python SDK.

    cards.py sign FOLDER ALG      signs each CASE.json as CASE.theirs.json
    cards.py verify FOLDER ALG    verifies each CASE.signed.json

The folder is made by `interop-cards make`. Verifying prints one line of JSON per case:
`{"operation": …, "ok": true|false, "detail": …}`.
"""

import copy
import json
import sys
from pathlib import Path

import jwt
from google.protobuf.json_format import MessageToDict
from jwt import PyJWK

from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import (
    SignatureVerificationError,
    create_agent_card_signer,
    create_signature_verifier,
)

KEY = 'interop-2026'


def read(path):
    return json.loads(path.read_text())


def cases(folder):
    """The names of the cases, and the cards in them."""
    for path in sorted(folder.glob('*.json')):
        if path.suffixes == ['.json'] and path.stem != 'jwks':
            yield path.stem


def sign(folder, algorithm):
    def signer(pem, name, key_id):
        header = {'alg': name, 'kid': key_id, 'typ': 'JOSE'}
        return create_agent_card_signer(pem, header)

    ours = signer((folder / 'key.pem').read_text(), algorithm, KEY)
    other = signer((folder / 'other.pem').read_text(), 'ES256', 'interop-gone')
    for case in cases(folder):
        document = read(folder / f'{case}.json')
        card = parse_agent_card(copy.deepcopy(document))
        if case == 'card-rotation':
            card = other(card)
        card = ours(card)
        document['signatures'] = [MessageToDict(one) for one in card.signatures]
        (folder / f'{case}.theirs.json').write_text(json.dumps(document))


def check(document, key, algorithm):
    def provide(key_id, url):
        if key_id != KEY:
            raise jwt.exceptions.InvalidKeyError(f'unknown key {key_id}')
        return key

    verify = create_signature_verifier(provide, [algorithm])
    verify(parse_agent_card(copy.deepcopy(document)))
    # What a good signature is worth shows in what a bad one is told.
    for change in (
        lambda card: card.update(name='B'),
        lambda card: card['supportedInterfaces'][0].update(url='https://evil.example'),
        lambda card: card.update(capabilities={}),
    ):
        tampered = copy.deepcopy(document)
        change(tampered)
        try:
            verify(parse_agent_card(tampered))
        except SignatureVerificationError:
            continue
        raise AssertionError('verified though it was tampered with')


def verify(folder, algorithm):
    key = PyJWK.from_dict(read(folder / 'jwks.json')['keys'][0])
    for case in cases(folder):
        try:
            check(read(folder / f'{case}.signed.json'), key, algorithm)
        except Exception as error:
            line = {'operation': case, 'ok': False, 'detail': repr(error)}
        else:
            line = {'operation': case, 'ok': True, 'detail': ''}
        print(json.dumps(line), flush=True)


if __name__ == '__main__':
    verb, folder, algorithm = sys.argv[1:]
    {'sign': sign, 'verify': verify}[verb](Path(folder), algorithm)
