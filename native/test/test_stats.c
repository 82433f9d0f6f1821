/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ticks.h"
#include "stats/stats.h"
#include "support.h"

static void the_file_describes_itself(void **state)
{
    (void)state;
    struct hd_stats stats;
    char why[200];
    assert_ok(hd_stats_open(&stats, "/tmp", "engine", 3, why, sizeof(why)));
    assert_string_equal(why, "");
    hd_count(&stats, links_opened, 5);
    struct hd_peer_counters *a = hd_stats_peer(&stats, "a"), *b = hd_stats_peer(&stats, "b");
    assert_ptr_equal(hd_stats_peer(&stats, "a"), a);
    struct hd_peer_counters *others = hd_stats_peer(&stats, "c");
    assert_ptr_equal(hd_stats_peer(&stats, "d"), others); /* three slots: a, b, the rest */
    assert_ptr_not_equal(a, b);
    hd_peer_count(b, bytes_sent, 7);

    int fd = open(stats.path, O_RDONLY);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    const char *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    const struct hd_stats_header *h = (const void *)map;
    assert_true(h->magic == HD_STATS_MAGIC);
    assert_int_equal(h->pid, getpid());
    assert_int_equal(h->peer_slots, 3);
    bool found = false;
    for (uint32_t i = 0; i < h->counters; i++)
        if (strcmp(map + h->names_offset + i * HD_STATS_NAME, "links.opened") == 0)
            found = ((const uint64_t *)(const void *)(map + h->values_offset))[i] == 5;
    assert_true(found);
    const char *slot = map + h->peers_offset + h->peer_stride;
    assert_string_equal(slot, "b");
    assert_int_equal(((const uint64_t *)(const void *)(slot + HD_STATS_PEER))[1], 7);
    munmap((void *)(uintptr_t)map, (size_t)st.st_size);
    close(fd);

    uint64_t value;
    assert_ok(hd_stats_read(&stats, "links.opened", &value));
    assert_int_equal(value, 5);
    assert_int_equal(hd_stats_read(&stats, "nonsense", &value), -ENOENT);
    char path[320];
    strcpy(path, stats.path);
    hd_stats_close(&stats);
    assert_int_equal(access(path, F_OK), -1);
}

static void links_have_slots_while_they_are_up(void **state)
{
    (void)state;
    struct hd_stats stats;
    char why[200];
    assert_ok(hd_stats_open(&stats, "", "engine", 2, why, sizeof(why)));
    struct hd_link_counters *a = hd_stats_link(&stats, "a", "shm"), *b = hd_stats_link(&stats, "b", "verbs");
    assert_string_equal(b->peer, "b");
    assert_string_equal(b->transport, "verbs");
    assert_int_equal(a->number, 1);
    assert_int_equal(b->number, 2);
    hd_peer_count(a, bytes_sent, 5);
    assert_null(hd_stats_link(&stats, "c", "shm"));
    hd_stats_link_end(a);
    hd_stats_link_end(NULL);
    struct hd_link_counters *c = hd_stats_link(&stats, "c", "self");
    assert_ptr_equal(c, a);
    assert_string_equal(c->peer, "c");
    assert_int_equal(c->number, 3);
    assert_int_equal(c->bytes_sent, 0);
    hd_stats_close(&stats);
}

static void times_are_shown_as_a_histogram(void **state)
{
    (void)state;
    struct hd_stats stats;
    char why[200];
    assert_ok(hd_stats_open(&stats, "", "engine", 1, why, sizeof(why)));
    struct hd_link_counters *link = hd_stats_link(&stats, "a", "shm");
    struct hd_times times = {.counts = {[0] = 5, [HD_TIMES - 1] = 7}};
    hd_stats_show_times(link, offsetof(struct hd_link_counters, answers), &times);
    assert_int_equal(link->answers, 5);
    assert_int_equal(link->answers_longer, 7);
    assert_int_equal(link->blocks, 0);
    hd_stats_show_times(link, offsetof(struct hd_link_counters, blocks), &times);
    assert_int_equal(link->blocks_longer, 7);
    hd_stats_close(&stats);
}

static void ticks_are_told_by_doublings_of_a_quarter(void **state)
{
    (void)state;
    const uint64_t scale = (uint64_t)1 << 32; /* a tick is a quarter of a microsecond */
    static const struct {
        uint64_t ticks;
        unsigned doublings;
    } cases[] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {7, 3}, {8, 4}, {65535, 16}, {65536, 17}, {INT64_MAX, 26}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(hd_ticks_doublings(cases[i].ticks, scale, HD_TIMES - 1), cases[i].doublings);
    assert_int_equal(hd_ticks_doublings((uint64_t)-5, scale, HD_TIMES - 1), 0); /* another processor's is behind */
    hd_ticks_start();
    uint64_t before = hd_ticks();
    usleep(20000);
    assert_in_range(hd_ticks_doublings(hd_ticks() - before, hd_ticks_scale(), 64), 17, 64); /* 16.4 ms and more */
}

/* In another PID namespace the owner's number is nobody's, or somebody else's. */
static void the_file_of_another_pid_namespace_stays(void **state)
{
    (void)state;
    char dir[] = "/tmp/howdah-test-XXXXXX", why[200], theirs[400];
    assert_non_null(mkdtemp(dir));
    struct hd_stats other, ours;
    assert_ok(hd_stats_open(&other, dir, "other", 1, why, sizeof(why)));
    ((struct hd_stats_header *)other.map)->start_time += 1;
    int number;
    assert_int_equal(sscanf(other.path + strlen(dir), "/howdah-%*d-%d.stats", &number), 1);
    snprintf(theirs, sizeof(theirs), "%s/howdah-%d-%d.stats", dir, (int)getpid(), number + 1);
    int fd = open(theirs, O_CREAT | O_EXCL | O_WRONLY, 0644); /* a name that we would take next */
    assert_true(fd >= 0);
    close(fd);

    assert_ok(hd_stats_open(&ours, dir, "ours", 1, why, sizeof(why)));
    assert_string_equal(why, "");
    assert_int_equal(access(other.path, F_OK), 0);
    assert_int_equal(access(theirs, F_OK), 0);
    assert_int_equal(access(ours.path, F_OK), 0);
    assert_string_not_equal(ours.path, other.path);
    hd_stats_close(&ours);
    hd_stats_close(&other);
    assert_int_equal(unlink(theirs), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void without_a_place_counting_goes_on(void **state)
{
    (void)state;
    struct hd_stats stats;
    char why[200];
    assert_ok(hd_stats_open(&stats, "/nonexistent", "engine", 1, why, sizeof(why)));
    assert_non_null(strstr(why, "/nonexistent"));
    assert_string_equal(stats.path, "");
    hd_count(&stats, fetches, 1);
    hd_stats_close(&stats);
}

static void counters_can_be_listed(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    const char *name;
    uint64_t value, by_name;
    size_t count = 0;
    bool found = false;
    while (hd_stats_at(engine, count, &name, &value) == 0) {
        assert_ok(hd_stats_get(engine, name, &by_name));
        found = found || strcmp(name, "links.opened") == 0;
        count++;
    }
    assert_true(found && count > 20);
    assert_int_equal(hd_stats_at(engine, count, NULL, NULL), -ENOENT);
    assert_ok(hd_stats_at(engine, count - 1, NULL, NULL));
    hd_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_describes_itself),
        cmocka_unit_test(links_have_slots_while_they_are_up),
        cmocka_unit_test(times_are_shown_as_a_histogram),
        cmocka_unit_test(ticks_are_told_by_doublings_of_a_quarter),
        cmocka_unit_test(the_file_of_another_pid_namespace_stays),
        cmocka_unit_test(without_a_place_counting_goes_on),
        cmocka_unit_test(counters_can_be_listed),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
