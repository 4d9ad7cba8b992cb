"""Images: ``tracejit.image``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.image.adjust import adjust_contrast as adjust_contrast
from tracejit.image.colors import adjust_brightness as adjust_brightness
from tracejit.image.colors import adjust_gamma as adjust_gamma
from tracejit.image.colors import adjust_hue as adjust_hue
from tracejit.image.colors import adjust_saturation as adjust_saturation
from tracejit.image.colors import convert_image_dtype as convert_image_dtype
from tracejit.image.colors import grayscale_to_rgb as grayscale_to_rgb
from tracejit.image.colors import hsv_to_rgb as hsv_to_rgb
from tracejit.image.colors import per_image_standardization as per_image_standardization
from tracejit.image.colors import rgb_to_grayscale as rgb_to_grayscale
from tracejit.image.colors import rgb_to_hsv as rgb_to_hsv
from tracejit.image.colors import rgb_to_yiq as rgb_to_yiq
from tracejit.image.colors import rgb_to_yuv as rgb_to_yuv
from tracejit.image.colors import yiq_to_rgb as yiq_to_rgb
from tracejit.image.colors import yuv_to_rgb as yuv_to_rgb
from tracejit.image.measures import extract_patches as extract_patches
from tracejit.image.measures import image_gradients as image_gradients
from tracejit.image.measures import psnr as psnr
from tracejit.image.measures import sobel_edges as sobel_edges
from tracejit.image.measures import ssim as ssim
from tracejit.image.measures import total_variation as total_variation
from tracejit.image.sizes import ResizeMethod as ResizeMethod
from tracejit.image.sizes import central_crop as central_crop
from tracejit.image.sizes import crop_to_bounding_box as crop_to_bounding_box
from tracejit.image.sizes import flip_left_right as flip_left_right
from tracejit.image.sizes import flip_up_down as flip_up_down
from tracejit.image.sizes import pad_to_bounding_box as pad_to_bounding_box
from tracejit.image.sizes import random_flip_left_right as random_flip_left_right
from tracejit.image.sizes import random_flip_up_down as random_flip_up_down
from tracejit.image.sizes import resize as resize
from tracejit.image.sizes import resize_with_crop_or_pad as resize_with_crop_or_pad
from tracejit.image.sizes import resize_with_pad as resize_with_pad
from tracejit.image.sizes import rot90 as rot90
from tracejit.image.sizes import transpose as transpose
