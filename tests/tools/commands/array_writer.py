"""Writes arrays as other programs do: .npy, .npz, safetensors and IDX, with nothing but Python's own library."""

import json
import os
import struct
import zipfile

# struct's letter: NumPy's, safetensors' and IDX's name of the type.
TYPES = {"f": ("<f4", "F32", 0x0D), "d": ("<f8", "F64", 0x0E), "i": ("<i4", "I32", 0x0C), "q": ("<i8", "I64", None),
         "B": ("|u1", "U8", 0x08)}


def npy(letter, shape, values, descr=None, order="False", version=1):
    """The bytes of a .npy file."""
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (
        descr or TYPES[letter][0], order, "".join(f"{size}, " for size in shape))
    before = 10 if version == 1 else 12
    header += " " * (-(before + len(header) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return (b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() +
            struct.pack(f"<{len(values)}{letter}", *values))


def npz(path, arrays, compression=zipfile.ZIP_DEFLATED):
    """`arrays`: a name for each and what `npy` takes."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", npy(*array))


def folder(path, arrays):
    """The same as files NAME.npy."""
    for name, array in arrays.items():
        file = os.path.join(path, name + ".npy")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as out:
            out.write(npy(*array))


def safetensors(path, arrays):
    header, data = {}, b""
    for name, (letter, shape, values) in arrays.items():
        raw = struct.pack(f"<{len(values)}{letter}", *values)
        header[name] = {"dtype": TYPES[letter][1], "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def idx(path, letter, shape, values):
    with open(path, "wb") as file:
        file.write(bytes([0, 0, TYPES[letter][2], len(shape)]) + struct.pack(f">{len(shape)}I", *shape) +
                   struct.pack(f">{len(values)}{letter}", *values))
