#include "internal.h"
void peet__signals_begin(void) {}
void peet__signals_deliver(void) {}
void peet__signals_end(void) {}
