/* A part of wdm.h that some drivers include by its own name. */
#ifndef _PROCGRP_
#define _PROCGRP_

#include "wdm.h"

#endif
