/* Memory that may not be there (../memory.c). */
#ifndef DRYDOCK_POSIX_SYS_UIO_H
#define DRYDOCK_POSIX_SYS_UIO_H

#include <stddef.h>
#include <sys/types.h>

struct iovec {
    void *iov_base;
    size_t iov_len;
};

/* Of the own process alone, one piece to one piece; the number of bytes, or -1 (EFAULT). */
ssize_t process_vm_readv(pid_t process, const struct iovec *to, unsigned long to_count,
                         const struct iovec *from, unsigned long from_count, unsigned long flags);

#endif
