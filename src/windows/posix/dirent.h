/* What dirent.h of mingw-w64 lacks (../folders.c). */
#ifndef DRYDOCK_POSIX_DIRENT_H
#define DRYDOCK_POSIX_DIRENT_H

#include_next <dirent.h>

DIR *fdopendir(int folder);

#endif
