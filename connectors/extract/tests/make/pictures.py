"""Makes small.tiff, small.webp and small.heic of the cases in image/, with Pillow and pillow-heif."""

import pathlib
import sys

import pillow_heif
from PIL import Image

out = pathlib.Path(sys.argv[1])
pillow_heif.register_heif_opener()
colour = (10, 20, 30)
for name in ("small.tiff", "small.webp"):
    Image.new("RGB", (3, 2), colour).save(out / name)
Image.new("RGB", (64, 64), colour).save(out / "small.heic")
