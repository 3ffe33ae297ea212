/* How wide the terminal is (../process.c). */
#ifndef DRYDOCK_POSIX_SYS_IOCTL_H
#define DRYDOCK_POSIX_SYS_IOCTL_H

#define TIOCGWINSZ 0x5413
struct winsize {
    unsigned short ws_row, ws_col;
};
int ioctl(int file, unsigned long request, struct winsize *out);

#endif
