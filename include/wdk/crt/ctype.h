/*
 * Classes of characters, for images: what the kernel exports under the C library's names.
 *
 * Place   include/wdk/crt, where drydock cc looks after the driver headers.
 */
#ifndef DRYDOCK_CRT_CTYPE_H
#define DRYDOCK_CRT_CTYPE_H

#ifdef __cplusplus
extern "C" {
#endif

int toupper(int character);
int tolower(int character);
int isdigit(int character);
int isspace(int character);
int isupper(int character);
int islower(int character);
int isalpha(int character);
int isalnum(int character);
int isxdigit(int character);
int isprint(int character);

#ifdef __cplusplus
}
#endif

#endif
