#!/usr/bin/python3
"""Buffers, shared virtual memory and images by pyopencl: what a program of NumPy's kind does.

Usage: cl_python.py THREADS SEED. Each thread has a context of its own, does what it draws, and compares every byte
with arrays of its own. Copies on the device are kernels of the driver's unless the environment has
NEOReadDebugKeys=1 PreferCopyEngineForCopyBufferToBuffer=1. Exit status: 0 when all content is right.
"""
import sys
import threading

import numpy as np
import pyopencl as cl

MOST = 2 << 20  # bytes of an object


def noise(rng, shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


class Worker:
    def __init__(self, device, seed):
        self.rng = np.random.default_rng(seed)
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.buffers = []  # each with its content
        self.wrong = 0

    def number(self, low, high):
        return int(self.rng.integers(low, high))

    def check(self, found, expected):
        self.wrong += int((found != expected).any())

    def read(self, buffer, content):
        found = np.empty_like(content)
        cl.enqueue_copy(self.queue, found, buffer)
        self.check(found, content)

    def new_buffer(self):
        content = noise(self.rng, self.number(1, MOST))
        flags = cl.mem_flags
        kind = self.number(0, 4)
        if kind == 0:
            buffer = cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=content)
        elif kind == 1:
            buffer = cl.Buffer(self.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=content.copy())
        else:
            place = flags.ALLOC_HOST_PTR if kind == 2 else 0
            buffer = cl.Buffer(self.context, flags.READ_WRITE | place, content.size)
            cl.enqueue_copy(self.queue, buffer, content, is_blocking=bool(self.number(0, 2)))
        self.queue.finish()
        self.buffers.append((buffer, content.copy()))

    def old_buffer(self):
        return self.buffers[self.number(0, len(self.buffers))]

    def write_part(self):
        buffer, content = self.old_buffer()
        start = self.number(0, content.size)
        part = noise(self.rng, self.number(1, content.size - start + 1))
        cl.enqueue_copy(self.queue, buffer, part, dst_offset=start)
        content[start : start + part.size] = part

    def write_sub_buffer(self):
        buffer, content = self.old_buffer()
        if content.size < 3 * 4096:
            return
        start = 4096 * self.number(0, content.size // 4096 - 1)
        sub = buffer.get_sub_region(start, 4096)
        part = noise(self.rng, 4096)
        cl.enqueue_copy(self.queue, sub, part)
        self.queue.finish()
        content[start : start + 4096] = part
        self.read(buffer, content)

    def copy_buffer(self):
        (source, from_content), (target, to_content) = self.old_buffer(), self.old_buffer()
        count = min(from_content.size, to_content.size)
        if source is target:
            return
        cl.enqueue_copy(self.queue, target, source, byte_count=count)
        self.queue.finish()
        to_content[:count] = from_content[:count]

    def map_buffer(self):
        buffer, content = self.old_buffer()
        flags = cl.map_flags.READ | cl.map_flags.WRITE
        mapped, _ = cl.enqueue_map_buffer(self.queue, buffer, flags, 0, content.shape, np.uint8)
        self.check(mapped, content)
        place = self.number(0, content.size)
        mapped[place] ^= 255
        content[place] ^= 255
        mapped.base.release(self.queue)
        self.queue.finish()

    def read_rectangle(self):
        width, height = self.number(16, 900), self.number(16, 500)
        content = noise(self.rng, (height, width))
        buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, content.size)
        cl.enqueue_copy(self.queue, buffer, content)
        x, y = self.number(0, width), self.number(0, height)
        columns, rows = self.number(1, width - x + 1), self.number(1, height - y + 1)
        found = np.zeros((rows, columns), np.uint8)
        cl.enqueue_copy(self.queue, found, buffer, buffer_origin=(x, y), host_origin=(0, 0), region=(columns, rows),
                        buffer_pitches=(width,), host_pitches=(columns,))
        self.check(found, content[y : y + rows, x : x + columns])

    def share_memory(self):
        size = self.number(1, MOST)
        content = noise(self.rng, size)
        memory = [cl.SVM(cl.csvm_empty(self.context, size, np.uint8)) for _ in range(2)]
        with memory[0].map_rw(self.queue) as mapped:
            mapped[:] = content
        cl.enqueue_copy(self.queue, memory[1], memory[0])
        self.queue.finish()
        with memory[1].map_ro(self.queue) as mapped:
            self.check(mapped, content)

    def use_volume(self):
        shape = (self.number(1, 12), self.number(1, 200), self.number(1, 200), 4)
        region, origin = shape[2::-1], (0, 0, 0)
        content, found = noise(self.rng, shape), np.zeros(shape, np.uint8)
        texel = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
        image = cl.Image(self.context, cl.mem_flags.READ_WRITE, texel, shape=region)
        cl.enqueue_copy(self.queue, image, content, origin=origin, region=region)
        cl.enqueue_copy(self.queue, found, image, origin=origin, region=region)
        self.check(found, content)

    def run(self, steps):
        rare = [self.write_sub_buffer, self.read_rectangle, self.share_memory, self.use_volume]
        often = [self.write_part, self.copy_buffer, self.map_buffer, lambda: self.read(*self.old_buffer())]
        for _ in range(steps):
            if len(self.buffers) < 4 or self.number(0, 8) == 0:
                self.new_buffer()
            elif len(self.buffers) > 12:
                self.buffers.pop(self.number(0, len(self.buffers)))[0].release()
            else:
                actions = rare if self.number(0, 5) == 0 else often
                actions[self.number(0, len(actions))]()
        for buffer, content in self.buffers:
            self.read(buffer, content)


def main():
    threads, seed = int(sys.argv[1]), int(sys.argv[2])
    device = cl.get_platforms()[0].get_devices()[0]
    workers = [Worker(device, seed + i) for i in range(threads)]
    running = [threading.Thread(target=worker.run, args=(200,)) for worker in workers]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    wrong = sum(worker.wrong for worker in workers)
    print(f"cl_python: {threads} threads, {wrong} wrong")
    return wrong != 0


sys.exit(main())
