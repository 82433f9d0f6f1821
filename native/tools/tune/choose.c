/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a part of the samples lies, between neighbours in proportion. */
static double quantile(const struct tune_samples *s, double part)
{
    double sorted[TUNE_ROUNDS];
    memcpy(sorted, s->value, (size_t)s->count * sizeof(sorted[0]));
    qsort(sorted, (size_t)s->count, sizeof(sorted[0]), by_value);
    double at = part * (s->count - 1);
    int below = (int)at, above = below + 1 < s->count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

double tune_median(const struct tune_samples *s)
{
    return quantile(s, 0.5);
}

double tune_spread(const struct tune_samples *s)
{
    return quantile(s, 0.75) - quantile(s, 0.25);
}

bool tune_better(const struct tune_samples *candidate, const struct tune_samples *holder)
{
    double gain = tune_median(holder) - tune_median(candidate);
    double a = tune_spread(candidate), b = tune_spread(holder);
    return gain > (a > b ? a : b) && gain > tune_median(holder) / 50;
}

int tune_choose(const struct tune_samples *all, int count, int holder)
{
    int best = holder;
    for (int i = 0; i < count; i++)
        if (tune_median(&all[i]) < tune_median(&all[best]))
            best = i;
    return best != holder && tune_better(&all[best], &all[holder]) ? best : holder;
}
