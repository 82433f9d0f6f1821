/* SPDX-License-Identifier: Apache-2.0 */

/* A bounded store of log lines. Java's housekeeping thread empties it a few times a second. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "binding.h"

#define LINES 128
#define WIDTH 512

struct line {
    int32_t level;
    char text[WIDTH];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line lines[LINES];
static unsigned first, count, dropped;

void hd_jni_log(void *arg, enum hd_log_level level, const char *text)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    if (count < LINES) {
        struct line *line = &lines[(first + count++) % LINES];
        line->level = (int32_t)level;
        snprintf(line->text, sizeof(line->text), "%s", text);
    } else {
        dropped++;
    }
    pthread_mutex_unlock(&lock);
}

/* Writes the level (32 bits) and the text. @return its length with the level, 0 if there is no line. */
jint hd_jni_log_take(char *to, size_t size)
{
    struct line line = {.level = HD_LOG_WARN};
    pthread_mutex_lock(&lock);
    bool any = count || dropped;
    if (count) {
        line = lines[first];
        first = (first + 1) % LINES;
        count--;
    } else if (dropped) {
        snprintf(line.text, sizeof(line.text), "%u lines of the engine's log came too fast and are lost", dropped);
        dropped = 0;
    }
    pthread_mutex_unlock(&lock);
    size_t length = strlen(line.text);
    if (!any || size < sizeof(line.level) + length)
        return 0;
    memcpy(to, &line.level, sizeof(line.level));
    memcpy(to + sizeof(line.level), line.text, length);
    return (jint)(sizeof(line.level) + length);
}
