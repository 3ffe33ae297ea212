/*
 * Driver errors: a rule of the contract that the driver has broken, told to the embedder.
 *
 * Place      vidmm. Uses nothing; used by every file that reads answers of the driver.
 */
#ifndef VIDMM_DRIVER_ERROR_H
#define VIDMM_DRIVER_ERROR_H

struct vidmm;

/* rule: its id ("PB-012"); the rest is a sentence with the numbers, as printf() takes it. */
void vidmm_driver_error(struct vidmm *vidmm, const char *rule, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/*
 * The manager refuses what its client asks for (vidmm_events.refused); with vidmm_refuse_answer()
 * because of a broken rule, which is told as a driver error, too.
 */
void vidmm_refuse(struct vidmm *vidmm, const char *rule, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
void vidmm_refuse_answer(struct vidmm *vidmm, const char *rule, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#endif
