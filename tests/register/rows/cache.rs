//! Rows 112 to 121: a shared cache. There is none yet; the rows say what it will have to do.

rows! {
    row_112 "RFC 9211 §2" "Cache-Status on answers from or through the cache, not on local errors"
        not_built("cache") [];
    row_113 "RFC 9111 §4.1" "a cache's key is scheme, authority, path, query and Vary"
        not_built("cache") [];
    row_114 "RFC 9111 §3.5" "answers to Authorization are stored only where they say so"
        not_built("cache") [];
    row_115 "RFC 9111 §5.2.2" "private, no-store and Set-Cookie are not stored"
        not_built("cache") [];
    row_116 "RFC 9111 §4.4" "unsafe methods write through and invalidate"
        not_built("cache") [];
    row_117 "RFC 9111 §4.2" "Age is generated; no heuristics where lifetimes are explicit"
        not_built("cache") [];
    row_118 "RFC 9111 §4.2.4" "nothing stale unless permitted"
        not_built("cache") [];
    row_119 "RFC 9111 §3.3" "a 304 updates what is stored; incomplete answers are never complete"
        not_built("cache") [];
    row_120 "RFC 9111 §2" "an authority in doubt or a certificate unverified is not cached"
        not_built("cache") [];
    row_121 "RFC 9111 §7.1" "entries are an account's own unless public"
        not_built("cache") [];
}
