/*
 * Memory and strings, for images: what the kernel exports under the C library's names.
 *
 * Place   include/wdk/crt, where drydock cc looks after the driver headers. A native build has its
 *         host's.
 */
#ifndef DRYDOCK_CRT_STRING_H
#define DRYDOCK_CRT_STRING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *destination, const void *source, size_t length);
void *memmove(void *destination, const void *source, size_t length);
void *memset(void *destination, int fill, size_t length);
int memcmp(const void *first, const void *second, size_t length);
void *memchr(const void *memory, int character, size_t length);

size_t strlen(const char *string);
int strcmp(const char *first, const char *second);
int strncmp(const char *first, const char *second, size_t length);
char *strchr(const char *string, int character);
char *strrchr(const char *string, int character);
char *strstr(const char *string, const char *part);
char *strcpy(char *destination, const char *source);
char *strncpy(char *destination, const char *source, size_t length);
char *strcat(char *destination, const char *source);
char *strncat(char *destination, const char *source, size_t length);
size_t strnlen(const char *string, size_t length);
size_t strspn(const char *string, const char *characters);
char *_strupr(char *string);
char *_strlwr(char *string);

/* 0, or an errno_t: what does not fit is not copied. */
int strcpy_s(char *destination, size_t size, const char *source);
int strncpy_s(char *destination, size_t size, const char *source, size_t length);
int strcat_s(char *destination, size_t size, const char *source);
int strncat_s(char *destination, size_t size, const char *source, size_t length);
int memcpy_s(void *destination, size_t size, const void *source, size_t length);
int memmove_s(void *destination, size_t size, const void *source, size_t length);

int _stricmp(const char *first, const char *second);
int _strnicmp(const char *first, const char *second, size_t length);

#if defined(__SIZEOF_WCHAR_T__) && __SIZEOF_WCHAR_T__ == 2
size_t wcslen(const wchar_t *string);
int wcscmp(const wchar_t *first, const wchar_t *second);
int wcsncmp(const wchar_t *first, const wchar_t *second, size_t length);
int _wcsicmp(const wchar_t *first, const wchar_t *second);
int _wcsnicmp(const wchar_t *first, const wchar_t *second, size_t length);
wchar_t *wcschr(const wchar_t *string, wchar_t character);
wchar_t *wcsrchr(const wchar_t *string, wchar_t character);
wchar_t *wcsstr(const wchar_t *string, const wchar_t *part);
wchar_t *wcscpy(wchar_t *destination, const wchar_t *source);
wchar_t *wcsncpy(wchar_t *destination, const wchar_t *source, size_t length);
wchar_t *wcscat(wchar_t *destination, const wchar_t *source);
#endif

#ifdef __cplusplus
}
#endif

#endif
