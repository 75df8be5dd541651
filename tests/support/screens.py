"""Screenshots, looked at: a page that is blank or of the other theme is seen."""

import numpy as np
from matplotlib.image import imread


def check_screen(page, path, *, dark, full_page=False):
    """The ground has the theme's brightness, and enough is written on it, in many shades."""
    page.screenshot(full_page=full_page, path=path)
    pixels = (imread(path)[..., :3] * 255).round().astype(np.int64) @ (1 << 16, 1 << 8, 1)
    colours, counts = np.unique(pixels, return_counts=True)
    ground = int(colours[counts.argmax()])
    brightness = sum((ground >> shift) & 255 for shift in (0, 8, 16)) / 3
    assert brightness < 80 if dark else brightness > 100
    assert 0.01 < 1 - counts.max() / pixels.size < 0.9
    assert len(colours) > 50
