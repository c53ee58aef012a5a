/* LMDB writes pages that lie side by side with one call, of up to IOV_MAX of them. Linux from 6.16 on
 * keeps what one call wrote to a file of ext4 in one block of its cache, and goes through the whole
 * block whenever one page of it is written again (docs/adr/0091-pages-are-written-one-by-one.md).
 * This header stands before that of the system (.cargo/config.toml) and makes LMDB write each page by
 * itself. */
#include <limits.h>
#include_next <sys/uio.h>
#undef IOV_MAX
#define IOV_MAX 1
