#pragma pack(push, 4)
