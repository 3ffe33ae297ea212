#!/usr/bin/python3
"""OpenCV's images on an OpenCL device, there and back, whole and parts of them:

    cl_opencv.py [MIB]      how much stays there at one time (24)

Prints how many were wrong. What OpenCV computes by kernels is asked for and not looked at: the model runs none.
"""
import sys

import cv2
import numpy


def random_image(generator, height, width, channels):
    return generator.integers(0, 255, (height, width, channels), dtype=numpy.uint8)


def main():
    kept_mib = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    generator = numpy.random.default_rng(1)
    wrong = 0
    cv2.ocl.setUseOpenCL(True)
    if not cv2.ocl.useOpenCL():
        sys.exit("OpenCV has found no OpenCL device")
    for number in range(12):
        image = random_image(generator, 700 + number * 37, 900 + number * 11, 3)
        there = cv2.UMat(image)
        part = cv2.UMat(there, (16, 200), (32, 400))
        wrong += not numpy.array_equal(image, there.get())
        wrong += not numpy.array_equal(image[16:200, 32:400], part.get())
    kept = [random_image(generator, 1024, 1024, 1) for _ in range(kept_mib)]
    there = [cv2.UMat(image) for image in kept]
    cv2.GaussianBlur(there[0], (5, 5), 0).get()
    for image, copy in zip(kept, there):
        wrong += not numpy.array_equal(image[:, :, 0], copy.get())
    print(f"{len(kept) + 24} images, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
