#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small safetensors files of every kind into the folder named: seeds for fuzz_safetensors."""
import json
import pathlib
import struct
import sys

BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
    "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}


def make(tensors, metadata=None, ascii=False, pad=8):
    """The bytes of a file with zero data; `tensors` are (name, dtype, shape)."""
    header = {} if metadata is None else {"__metadata__": metadata}
    offset = 0
    for name, dtype, shape in tensors:
        bits = BITS[dtype]
        for extent in shape:
            bits *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + bits // 8]}
        offset += bits // 8
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=ascii).encode()
    text += b" " * (-len(text) % pad)
    return struct.pack("<Q", len(text)) + text + bytes(offset)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = {"no-tensors": make([]), "metadata": make([], {"format": "pt", "": "\u00e9\0"})}
    for dtype in BITS:
        seeds[dtype] = make([("a", dtype, [4, 2])])
    for rank in range(5):
        seeds[f"rank-{rank}"] = make([("a", "F32", [1] * rank), ("b", "U8", [2] * rank)], pad=1)
    seeds["empty-tensors"] = make([("a", "F32", [0]), ("b", "F32", [2]), ("c", "F4", [3, 0]), ("d", "I64", [])])
    names = ["quote \" \\", "\u00e4\u6771\U0001f98b", "\n\t\0", ""]
    for ascii in False, True:
        seeds[f"names-{ascii}"] = make([(name, "U8", [1]) for name in names], {"k": "v"}, ascii)
    seeds["nvfp4"] = make([("w.weight_scale_2", "F32", []), ("w.weight_scale", "F8_E4M3", [2, 1]),
                           ("w.weight", "U8", [2, 8])], {"format": "pt"})
    for name, data in seeds.items():
        (folder / f"{name}.safetensors").write_bytes(data)


if __name__ == "__main__":
    main()
