// What the memory of a device gives at most.

extern "C" __global__ void copy(const double2* from, double2* to, long long count) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step)
        to[k] = from[k];
}

// Every entry brings the row that its coordinate names, and nothing is done with it but a sum: no
// loop over rows, no searches, no results.
extern "C" __global__ void gather(const int* crd, const double* rows, double* sums,
                                  long long count, int columns) {
    long long step = (long long)gridDim.x * blockDim.x;
    long long id = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int shift = 31 - __clz(columns);
    double sum = 0;
#pragma unroll 4
    for (long long k = id; k < count << shift; k += step)
        sum += rows[((long long)crd[k >> shift] << shift) + (k & (columns - 1))];
    sums[id] = sum;
}
