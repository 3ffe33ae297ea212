#pragma pack(push, 2)
