/* lv_loss(p: float64[4], y0: float64[2], data: float64[k,2], dt: float64[]) -> (value: float64[], gp: float64[4], gy0: float64[2], gdata: float64[k,2], gdt: float64[])
 *
 * Arrays are contiguous with the last axis running fastest, and results overlap nothing. It may run in any number of
 * threads at once, each with a work of its own.
 * Sizes: 0 <= k.
 */
#ifndef LV_LOSS_H
#define LV_LOSS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or a number that lv_loss_error explains: then the results mean nothing. */
int32_t lv_loss(const double *p, const double *y0, const double *data, const double *dt, double *value, double *gp, double *gy0, double *gdata, double *gdt, int64_t k, void *work);

const char *lv_loss_error(int32_t status);

/* Bytes of work for these sizes; any alignment will do. */
int64_t lv_loss_workspace(int64_t k);

/* Where loops of unknown length get memory, given back before lv_loss returns. Call this before the first call, if
 * ever: without it, it is the system's own mmap. aligned_alloc and free of <stdlib.h> have these types. */
void lv_loss_allocator(void *(*allocate)(size_t align, size_t bytes), void (*release)(void *));

#ifdef __cplusplus
}
#endif

#endif
