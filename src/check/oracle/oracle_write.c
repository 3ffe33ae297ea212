/*
 * Oracle: who wrote which bytes last.
 *
 * A ring of the last writes. Those of one writer that follow each other are one entry, so an
 * operation on consecutive pages is one.
 */
#include "check/oracle/oracle_private.h"

void oracle_wrote(struct oracle *oracle, struct page_store *store, uint64_t address, uint64_t bytes,
                  uint64_t writer)
{
    struct oracle_write *last = &oracle->writes[(oracle->write_count - 1) % ORACLE_WRITES];

    if (oracle->write_count && last->writer == writer && last->store == store &&
        last->end == address) {
        last->end += bytes;
        return;
    }
    oracle->writes[oracle->write_count++ % ORACLE_WRITES] =
        (struct oracle_write){store, address, address + bytes, writer};
}

uint64_t oracle_find_writer(const struct oracle *oracle, const struct page_store *store,
                            uint64_t address)
{
    uint64_t known = min_u64(oracle->write_count, ORACLE_WRITES);

    for (uint64_t back = 1; back <= known; back++) {
        const struct oracle_write *write =
            &oracle->writes[(oracle->write_count - back) % ORACLE_WRITES];

        if (write->store == store && address >= write->start && address < write->end)
            return write->writer;
    }
    return ORACLE_NO_WRITER;
}
