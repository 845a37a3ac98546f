#!/usr/bin/env python3
"""Packs scikit-learn's bundled handwritten digits into one archive, as a data set is kept in project space.

    prepare.py PATH/digits.tar

The archive holds 1,797 small images in digits/{train,valid,test}/LABEL/NUMBER.pgm: 60, 20 and 20 of a hundred,
drawn with a fixed seed. The file appears whole or not at all.
"""
import io
import os
import pathlib
import sys
import tarfile

import numpy
from sklearn.datasets import load_digits


def main() -> None:
    target = pathlib.Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    order = numpy.random.default_rng(2024).permutation(len(digits.target))
    bounds = {"train": 0.6, "valid": 0.8, "test": 1.0}

    unfinished = target.with_suffix(".tar.unfinished")
    with tarfile.open(unfinished, "w") as archive:
        for position, number in enumerate(order):
            split = next(name for name, bound in bounds.items() if position < bound * len(order))
            image = b"P5 8 8 16\n" + digits.images[number].astype(numpy.uint8).tobytes()
            member = tarfile.TarInfo(f"digits/{split}/{digits.target[number]}/{number:04}.pgm")
            member.size = len(image)
            archive.addfile(member, io.BytesIO(image))
    os.replace(unfinished, target)
    print(f"{target}: {len(order)} images in one archive of {target.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
