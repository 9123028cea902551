"""Prints the checksums that resize_test.cpp expects, computed by Pillow as DeepSeek-OCR's own code calls it."""
from PIL import Image, ImageOps

MASK = 2**64 - 1


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def synthetic(seed, width, height):
    start = fnv1a(f"image-{seed}-{width}x{height}".encode())
    data = bytearray()
    for i in range(width * height * 3):
        z = (start + (i + 1) * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        data.append((z ^ z >> 31) >> 56)
    return Image.frombytes("RGB", (width, height), bytes(data))


def show(words, image):
    print(f"{words}: 0x{fnv1a(image.tobytes()):016X}")


for width, height, to_width, to_height in [(37, 23, 64, 64), (200, 150, 31, 17), (100, 50, 100, 20), (50, 100, 20, 100),
                                           (1, 1, 7, 5), (301, 7, 3, 40), (64, 64, 65, 63)]:
    show(f"resize {width}x{height} to {to_width}x{to_height}",
         synthetic(1, width, height).resize((to_width, to_height)))
for width, height, side in [(90, 60, 64), (61, 90, 64), (33, 33, 50), (300, 3, 64), (64, 64, 64), (129, 64, 64), (64, 67, 65)]:
    show(f"pad {width}x{height} to {side}",
         ImageOps.pad(synthetic(2, width, height), (side, side), color=(127, 127, 127)))
page = synthetic(3, 700, 500)
show("tiny", page.resize((512, 512)))
show("base", ImageOps.pad(page, (1024, 1024), color=(127, 127, 127)))
sheet = page.resize((640 * 3, 640 * 2))
for tile in range(6):
    left, top = tile % 3 * 640, tile // 3 * 640
    show(f"gundam {tile}", sheet.crop((left, top, left + 640, top + 640)))


def find_closest_aspect_ratio(aspect_ratio, target_ratios, width, height, image_size):
    best_ratio_diff = float("inf")
    best_ratio = (1, 1)
    area = width * height
    for ratio in target_ratios:
        ratio_diff = abs(aspect_ratio - ratio[0] / ratio[1])
        if ratio_diff < best_ratio_diff:
            best_ratio_diff, best_ratio = ratio_diff, ratio
        elif ratio_diff == best_ratio_diff and area > 0.5 * image_size * image_size * ratio[0] * ratio[1]:
            best_ratio = ratio
    return best_ratio


ratios = sorted({(i, j) for n in range(2, 10) for i in range(1, n + 1) for j in range(1, n + 1) if 2 <= i * j <= 9},
                key=lambda x: x[0] * x[1])
chosen = bytearray()
for width in range(1, 4000, 37):
    for height in range(1, 4000, 41):
        chosen += bytes(find_closest_aspect_ratio(width / height, ratios, width, height, 640))
print(f"grids: 0x{fnv1a(chosen):016X}")
for width, height in [(700, 500), (641, 640), (2000, 2000), (900, 900), (1000, 4000), (5000, 100)]:
    print(width, height, find_closest_aspect_ratio(width / height, ratios, width, height, 640))
