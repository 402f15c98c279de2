/* Stands in for NVIDIA's library: two GPUs with a link to each other and one to a switch, and a
 * third that refuses everything but its address. Structures are those of NVML's documentation. */
#include <string.h>

typedef struct { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char text[32]; } pci;
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned char cluster[16]; int status; unsigned clique; unsigned char state; } fabric;

static int gpus[3] = {0, 1, 2};
static int started;

int nvmlInit_v2(void) { started++; return 0; }
int nvmlShutdown(void) { started--; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 3; return started == 1 ? 0 : 1; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu) { *gpu = &gpus[index]; return 0; }

int nvmlDeviceGetPciInfo_v3(void *gpu, pci *out) {
    out->domain = 0;
    out->bus = *(int *)gpu == 0 ? 0x18 : *(int *)gpu == 1 ? 0x2a : 0x3b;
    out->device = 0;
    strcpy(out->text, "ignored");
    return 0;
}

int nvmlDeviceGetUUID(void *gpu, char *out, unsigned length) {
    if (*(int *)gpu == 2 || length < 42) return 3;
    strcpy(out, "GPU-00000000-0000-0000-0000-000000000000");
    out[39] = '0' + *(int *)gpu;
    return 0;
}

int nvmlDeviceGetName(void *gpu, char *out, unsigned length) {
    if (*(int *)gpu == 2) return 3;
    strncpy(out, "NVIDIA H100 80GB HBM3", length);
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *gpu, memory *out) {
    if (*(int *)gpu == 2) return 3;
    out->total = 85520809984ull;
    return 0;
}

int nvmlDeviceGetNvLinkState(void *gpu, unsigned link, unsigned *active) {
    if (*(int *)gpu == 2 || link > 2) return 2;
    *active = link != 1;
    return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *gpu, unsigned link, unsigned *kind) {
    *kind = link == 0 ? 0 : 2;
    return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *gpu, unsigned link, pci *out) {
    out->bus = *(int *)gpu == 0 ? 0x2a : 0x18;
    return 0;
}

int nvmlDeviceGetGpuFabricInfo(void *gpu, fabric *out) {
    if (*(int *)gpu != 0) return 3;
    for (int i = 0; i < 16; i++) out->cluster[i] = 0x10 + i;
    out->clique = 7;
    out->state = 3;
    return 0;
}
