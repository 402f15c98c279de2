# syntax=docker/dockerfile:1
# The image of the scheduler, with the node agent in it:
# docker build -t kubenexus/kubenexus-scheduler:0.1.0 .

# The same Debian as the final image, so that the binary finds its C library.
FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /src
COPY . .
# Downloads and compiled dependencies stay in the builder's cache: after a change of the sources
# only our crates are compiled.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --release --locked -p kubenexus -p kubenexus-agent \
    && mkdir /out \
    && cp target/release/kubenexus target/release/kubenexus-agent /out/ \
    && ln -s kubenexus /out/kubenexus-scheduler

FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="kubenexus-scheduler" \
      org.opencontainers.image.description="A Kubernetes scheduler" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/ /usr/local/bin/
USER 65532:65532
EXPOSE 10259
# Under this name the binary is `kubenexus scheduler`.
ENTRYPOINT ["/usr/local/bin/kubenexus-scheduler"]
