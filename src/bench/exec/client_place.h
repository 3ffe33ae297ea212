/*
 * Client place: an address in a client process in words, "copy_buffer+0x1c (libmydriver.so)".
 *
 * Place      bench. Reads /proc/PID/maps and the symbols of the file that is mapped there.
 * Model      The innermost symbol of a function at or in front of the address, of .symtab, else of
 *            .dynsym. Without symbols the module and the offset in it: "libmydriver.so+0x1234".
 * Errors     What is not known is "0x7f0012345678". Files of clients are not trusted: everything in
 *            them is checked against their size, they are never mapped (a client could cut one
 *            meanwhile), and of their symbols so many are looked at and no more.
 */
#ifndef DRYDOCK_BENCH_EXEC_CLIENT_PLACE_H
#define DRYDOCK_BENCH_EXEC_CLIENT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void client_place(pid_t pid, uint64_t address, char *out, size_t size);

/*
 * The function of an ELF file that has the offset in the file: "copy_buffer+0x1c". Takes any file,
 * borrowed. False: none that is known.
 */
bool client_place_symbol(int file, uint64_t offset, char *out, size_t out_size);

#endif
