#!/usr/bin/env python3
"""Makes pubchem.tsv: the records of PubChem that the source of the Python package chemfp carries.

    python3 examples/data/make_pubchem.py            # writes the file beside this script
    python3 examples/data/make_pubchem.py --check    # compares with the file that is there

Needs only Python 3 with pip; the source of the package goes into a temporary folder. The bytes are
the same on every run.
"""

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

NAME, VERSION = "chemfp", "1.6.1"
RECORDS = f"{NAME}-{VERSION}/tests/pubchem.sdf"
TARGET = Path(__file__).resolve().parent / "pubchem.tsv"
KEYS = 881  # PubChem's substructure keys

COLUMNS = {
    "cid": "PUBCHEM_COMPOUND_CID",
    "formula": "PUBCHEM_MOLECULAR_FORMULA",
    "name": "PUBCHEM_IUPAC_NAME",
    "smiles": "PUBCHEM_OPENEYE_ISO_SMILES",
}


def fetch_records(folder):
    """Fetches the package's source into `folder` and returns the text of its PubChem records."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", ":all:", "--dest", folder, f"{NAME}=={VERSION}"]
    subprocess.run(command, check=True)
    with tarfile.open(Path(folder) / f"{NAME}-{VERSION}.tar.gz") as package:
        return package.extractfile(RECORDS).read().decode("ascii")


def to_fields(record):
    """The data items of one record of an SD file: `> <TAG>`, lines, an empty line."""
    fields, lines = {}, iter(record.splitlines())
    for line in lines:
        if line.startswith("> <"):
            fields[line[3 : line.index(">", 3)]] = next(lines)
    return fields


def to_bits(subskeys):
    """PubChem's text of the keys as hexadecimal digits: a count of 32 bits, then the first key
    in the highest bit of the first byte."""
    data = base64.b64decode(subskeys, validate=True)
    count, bits = int.from_bytes(data[:4], "big"), data[4:]
    if count != KEYS or len(bits) != (KEYS + 7) // 8 or bits[-1] & 0x7F:
        sys.exit(f"{subskeys}: no fingerprint of {KEYS} bits")
    return bits.hex()


def to_table(text):
    lines = ["\t".join([*COLUMNS, f"keys{KEYS}"])]
    for record in text.split("$$$$\n")[:-1]:
        fields = to_fields(record)
        row = [fields[tag] for tag in COLUMNS.values()]
        lines.append("\t".join([*row, to_bits(fields["PUBCHEM_CACTVS_SUBSKEYS"])]))
    return ("\n".join(lines) + "\n").encode("ascii")


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = to_table(fetch_records(folder))
    count = data.count(b"\n") - 1
    if "--check" in sys.argv[1:]:
        if TARGET.read_bytes() != data:
            sys.exit(f"{TARGET}: differs from {NAME} {VERSION}: run this script without --check")
        print(f"{TARGET.name}: {count} records, as in {NAME} {VERSION}")
        return
    TARGET.write_bytes(data)
    print(f"{TARGET.name}: {count} records, {len(data)} bytes")
    print(f"sha256   {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
