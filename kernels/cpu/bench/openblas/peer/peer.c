// peer answers each line "m n k threads calls" with the seconds that so many products y = x*transpose(w) of
// OpenBLAS took, x [m, k] and w [n, k] row-major: processor seconds for one thread, else seconds on the wall.
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern void openblas_set_num_threads(int);
extern char *openblas_get_config(void);
extern char *openblas_get_corename(void);

static float *fill(size_t n) {
	float *p = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);
	for (size_t i = 0; i < n; i++) {
		p[i] = (float)rand() / RAND_MAX - 0.5f;
	}
	return p;
}

int main(void) {
	const size_t most = 2048 * 2048;
	float *x = fill(most), *w = fill(most), *y = fill(most);
	int m, n, k, threads, calls;
	printf("%s %s\n", openblas_get_config(), openblas_get_corename());
	fflush(stdout);
	while (scanf("%d %d %d %d %d", &m, &n, &k, &threads, &calls) == 5) {
		struct timespec a, b;
		clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
		openblas_set_num_threads(threads);
		clock_gettime(clock, &a);
		for (int i = 0; i < calls; i++) {
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, w, k, 0, y, n);
		}
		clock_gettime(clock, &b);
		printf("%.9f\n", (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) * 1e-9);
		fflush(stdout);
	}
}
