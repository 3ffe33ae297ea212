/* Zoo: the tables, one a file, each ended by an entry without id. */
#ifndef DRYDOCK_ZOO_TABLES_H
#define DRYDOCK_ZOO_TABLES_H

#include "zoo/zoo.h"

extern const struct zoo_defect zoo_buffer_defects[];

#endif
