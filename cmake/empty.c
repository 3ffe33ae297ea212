/* A library of archives alone needs a source. */
typedef int empty;
