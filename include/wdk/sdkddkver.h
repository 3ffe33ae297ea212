/*
 * Versions of Windows that a source is written for: _WIN32_WINNT, WINVER, NTDDI_VERSION.
 *
 * Place   include/wdk. A source, or -D of its build, may choose; without that it is the newest, as
 *         Microsoft's builds have it.
 * Source  The pages NTDDI_VERSION and "Using the Windows Headers".
 */
#ifndef WDK_SDKDDKVER_H
#define WDK_SDKDDKVER_H

#define _WIN32_WINNT_NT4          0x0400
#define _WIN32_WINNT_WIN2K        0x0500
#define _WIN32_WINNT_WINXP        0x0501
#define _WIN32_WINNT_WS03         0x0502
#define _WIN32_WINNT_WIN6         0x0600
#define _WIN32_WINNT_VISTA        0x0600
#define _WIN32_WINNT_WS08         0x0600
#define _WIN32_WINNT_LONGHORN     0x0600
#define _WIN32_WINNT_WIN7         0x0601
#define _WIN32_WINNT_WIN8         0x0602
#define _WIN32_WINNT_WINBLUE      0x0603
#define _WIN32_WINNT_WINTHRESHOLD 0x0A00
#define _WIN32_WINNT_WIN10        0x0A00

#define NTDDI_WIN2K        0x05000000
#define NTDDI_WIN2KSP1     0x05000100
#define NTDDI_WIN2KSP2     0x05000200
#define NTDDI_WIN2KSP3     0x05000300
#define NTDDI_WIN2KSP4     0x05000400
#define NTDDI_WINXP        0x05010000
#define NTDDI_WINXPSP1     0x05010100
#define NTDDI_WINXPSP2     0x05010200
#define NTDDI_WINXPSP3     0x05010300
#define NTDDI_WINXPSP4     0x05010400
#define NTDDI_WS03         0x05020000
#define NTDDI_WS03SP1      0x05020100
#define NTDDI_WS03SP2      0x05020200
#define NTDDI_WS03SP3      0x05020300
#define NTDDI_WS03SP4      0x05020400
#define NTDDI_WIN6         0x06000000
#define NTDDI_WIN6SP1      0x06000100
#define NTDDI_WIN6SP2      0x06000200
#define NTDDI_WIN6SP3      0x06000300
#define NTDDI_WIN6SP4      0x06000400
#define NTDDI_VISTA        NTDDI_WIN6
#define NTDDI_VISTASP1     NTDDI_WIN6SP1
#define NTDDI_VISTASP2     NTDDI_WIN6SP2
#define NTDDI_VISTASP3     NTDDI_WIN6SP3
#define NTDDI_VISTASP4     NTDDI_WIN6SP4
#define NTDDI_LONGHORN     NTDDI_VISTA
#define NTDDI_WS08         NTDDI_WIN6SP1
#define NTDDI_WS08SP2      NTDDI_WIN6SP2
#define NTDDI_WS08SP3      NTDDI_WIN6SP3
#define NTDDI_WS08SP4      NTDDI_WIN6SP4
#define NTDDI_WIN7         0x06010000
#define NTDDI_WIN8         0x06020000
#define NTDDI_WINBLUE      0x06030000
#define NTDDI_WINTHRESHOLD 0x0A000000
#define NTDDI_WIN10        0x0A000000
#define NTDDI_WIN10_TH2    0x0A000001
#define NTDDI_WIN10_RS1    0x0A000002
#define NTDDI_WIN10_RS2    0x0A000003
#define NTDDI_WIN10_RS3    0x0A000004
#define NTDDI_WIN10_RS4    0x0A000005
#define NTDDI_WIN10_RS5    0x0A000006
#define NTDDI_WIN10_19H1   0x0A000007
#define NTDDI_WIN10_VB     0x0A000008
#define NTDDI_WIN10_MN     0x0A000009
#define NTDDI_WIN10_FE     0x0A00000A
#define NTDDI_WIN10_CO     0x0A00000B
#define NTDDI_WIN10_NI     0x0A00000C
#define NTDDI_WIN10_CU     0x0A00000D
#define NTDDI_WIN11_ZN     0x0A00000E
#define NTDDI_WIN11_GA     0x0A00000F
#define NTDDI_WIN11_GE     0x0A000010

/* An NTDDI_ number is _WIN32_WINNT's, a service pack and a part of that. */
#define OSVERSION_MASK                0xFFFF0000u
#define SPVERSION_MASK                0x0000FF00
#define SUBVERSION_MASK               0x000000FF
#define OSVER(version)                ((version)&OSVERSION_MASK)
#define SPVER(version)                (((version)&SPVERSION_MASK) >> 8)
#define SUBVER(version)               ((version)&SUBVERSION_MASK)
#define WDK_NTDDI_OF_WINNT_2(version) version##0000
#define WDK_NTDDI_OF_WINNT(version)   WDK_NTDDI_OF_WINNT_2(version)

#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#ifndef WINVER
#define WINVER _WIN32_WINNT
#endif
#ifndef NTDDI_VERSION
#if _WIN32_WINNT >= _WIN32_WINNT_WIN10
#define NTDDI_VERSION NTDDI_WIN11_GE
#else
#define NTDDI_VERSION WDK_NTDDI_OF_WINNT(_WIN32_WINNT)
#endif
#endif

#endif
