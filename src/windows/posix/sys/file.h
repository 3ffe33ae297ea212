/* Locks of files: there are none, and each is given (../folders.c). */
#ifndef DRYDOCK_POSIX_SYS_FILE_H
#define DRYDOCK_POSIX_SYS_FILE_H

#define LOCK_EX 2
#define LOCK_NB 4
int flock(int file, int operation);

#endif
