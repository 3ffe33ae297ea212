/* Characters that are wide or not by _UNICODE. */
#ifndef DRYDOCK_CRT_TCHAR_H
#define DRYDOCK_CRT_TCHAR_H

#ifdef _UNICODE
#define _T(literal) L##literal
#else
#define _T(literal) literal
#endif
#define TEXT(literal)  _T(literal)
#define _TEXT(literal) _T(literal)

#endif
