/* A part of string.h's declarations by another name. */
#include "string.h"
