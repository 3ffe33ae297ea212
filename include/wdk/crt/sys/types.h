/* The C library's types of files and times (the C runtime's page of standard types). */
#ifndef DRYDOCK_CRT_SYS_TYPES_H
#define DRYDOCK_CRT_SYS_TYPES_H

typedef unsigned short _ino_t;
typedef unsigned int _dev_t;
typedef long _off_t;
typedef long long __time64_t;

typedef _ino_t ino_t;
typedef _dev_t dev_t;
typedef _off_t off_t;
typedef __time64_t time_t;

#endif
