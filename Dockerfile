# pacegate as one static binary on an empty base.
#
#   docker build -t pacegate .
#   docker run -p 127.0.0.1:3128:3128 -p 127.0.0.1:3129:3129 -v pacegate-ca:/data pacegate
#
# glibc has looked names up without loading anything since 2.34 (its `files` and `dns` services are
# built in), so a static binary of Debian 12's resolves on an empty base. `.ci/image` checks the image
# with bases made on the spot, which is why the builder is an argument.
ARG BUILDER=rust:1.95-bookworm

FROM ${BUILDER} AS build
WORKDIR /src
COPY . .
# With --target the flags are for the binary only: procedural macros can't be static.
ENV RUSTFLAGS="-C target-feature=+crt-static"
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    host=$(rustc -vV | sed -n 's/^host: //p') && \
    cargo build --release --locked --target "$host" --bin pacegate && \
    install -D -m 0755 "target/$host/release/pacegate" /out/pacegate && \
    install -d -m 0700 /out/volumes/data

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="pacegate" \
      org.opencontainers.image.description="A forward proxy that paces: a struggling site makes a crawl slow, not failed" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY LICENSE-MIT LICENSE-APACHE /licenses/
COPY --from=build /out/pacegate /pacegate
# The CA's key lives in /data, 0600, made at the first start. The folder is the user's below, 0700: a
# folder copied by its parent's name keeps its mode.
COPY --from=build --chown=65532:65532 /out/volumes/ /
VOLUME /data

# Inside a container loopback reaches nobody: the proxy listens to private networks, the admin port
# shows metrics and health to everybody who reaches it and the rest to loopback.
ENV PACEGATE_LISTEN=0.0.0.0:3128 \
    PACEGATE_CLIENTS__ALLOW=private \
    PACEGATE_ADMIN__LISTEN=0.0.0.0:3129 \
    PACEGATE_ADMIN__PUBLIC="[metrics, health]" \
    PACEGATE_CERTS=/data
EXPOSE 3128 3129

# By number, so that runAsNonRoot can check it.
USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/pacegate", "health"]
ENTRYPOINT ["/pacegate"]
CMD ["serve"]
