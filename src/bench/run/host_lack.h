/*
 * Host lack: what this system could not do for a run that needed it.
 *
 * Place      bench. The run is refused then, whatever it seemed to find. Under Linux there is
 *            nothing of the kind (host_lack.c); Windows shows no scattered pages in one piece.
 */
#ifndef DRYDOCK_BENCH_HOST_LACK_H
#define DRYDOCK_BENCH_HOST_LACK_H

/* A sentence about what was lacking since the last call; NULL: nothing. */
const char *host_lack(void);

#endif
